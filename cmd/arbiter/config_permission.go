package main

import (
	"slices"

	"arbiter/amp"
	"arbiter/providers"
)

// permissionConfig is one rule about what agents ask. Empty fields match everything.
type permissionConfig struct {
	// Type is run, write, read, fetch or tool. Tool and Command are patterns with * for any text.
	Type    string   `toml:"type"`
	Tool    string   `toml:"tool"`
	Command string   `toml:"command"`
	Risk    []string `toml:"risk"`
	// Ruling is allow, ask, deny or escalate; Reason is what the agent, or of escalate the admin, reads.
	Ruling string `toml:"ruling"`
	Reason string `toml:"reason"`
}

func (p *permissionConfig) validate(i int, bad func(string, ...any)) {
	if p.Type != "" && !slices.Contains(amp.PermissionTypes(), amp.PermissionType(p.Type)) {
		bad("permissions[%d].type is %q, want one of %v", i, p.Type, amp.PermissionTypes())
	}
	if !slices.Contains(amp.Rulings(), amp.Ruling(p.Ruling)) {
		bad("permissions[%d].ruling is %q, want one of %v", i, p.Ruling, amp.Rulings())
	}
	for _, r := range p.Risk {
		if !slices.Contains([]amp.RiskLevel{amp.Low, amp.Medium, amp.High}, amp.RiskLevel(r)) {
			bad("permissions[%d].risk holds %q, want low, medium or high", i, r)
		}
	}
	if p.Type == "" && p.Tool == "" && p.Command == "" && p.Ruling == string(amp.RuleAllow) {
		bad("permissions[%d] allows everything; name a type, a tool or a command", i)
	}
}

func permissionRules(configured []permissionConfig) []amp.PermissionRule {
	var rules []amp.PermissionRule
	for _, p := range configured {
		rule := amp.PermissionRule{
			Type: amp.PermissionType(p.Type), Tool: p.Tool, Command: p.Command, Ruling: amp.Ruling(p.Ruling), Reason: p.Reason,
		}
		for _, r := range p.Risk {
			rule.Risk = append(rule.Risk, amp.RiskLevel(r))
		}
		rules = append(rules, rule)
	}
	return rules
}

// priceConfig is what a million tokens cost, in US dollars. Cached and cache_write without a value cost as input.
type priceConfig struct {
	Input      float64  `toml:"input"`
	Cached     *float64 `toml:"cached"`
	CacheWrite *float64 `toml:"cache_write"`
	Output     float64  `toml:"output"`
}

func prices(configured map[string]priceConfig) map[string]providers.Price {
	out := map[string]providers.Price{}
	for name, p := range configured {
		price := providers.Price{Input: p.Input, Cached: p.Input, CacheWrite: p.Input, Output: p.Output}
		if p.Cached != nil {
			price.Cached = *p.Cached
		}
		if p.CacheWrite != nil {
			price.CacheWrite = *p.CacheWrite
		}
		out[name] = price
	}
	return out
}
