package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// offer is an agent that arbiter init knows how to configure but for one thing that only the person can say: it is written as a comment.
type offer struct {
	name string
	// has is what was found: a program, or a variable with a key.
	has  string
	text string
}

// services are what a key in the environment opens, beside the programs that use the same.
var services = []struct{ name, keyEnv, text string }{
	{"openai", "OPENAI_API_KEY", "api = \"responses\"\n"},
	{"anthropic", "ANTHROPIC_API_KEY", "api = \"claude\"\n"},
	{"google", "GEMINI_API_KEY", "api = \"gemini\"\n"},
	{"deepseek", "DEEPSEEK_API_KEY", "api = \"chat\"\nurl = \"https://api.deepseek.com\"\nschema = \"json_object\"\nvendor = \"deepseek\"\n"},
}

// offers are what is found here and needs a word of the person: models behind an API need a name, programs for any model an address.
func offers(env func(string) string, look func(string) (string, error)) []offer {
	var all []offer
	for _, s := range services {
		if env(s.keyEnv) != "" {
			all = append(all, offer{s.name, "the variable " + s.keyEnv, fmt.Sprintf(
				"[agents.%s]        # reviews and plans; it changes no files\nkind = \"api\"\n%smodel = \"…\"\nkey_env = %q\n", s.name, s.text, s.keyEnv)})
		}
	}
	if path, err := look("ollama"); err == nil {
		all = append(all, offer{"ollama", path, "[agents.ollama]        # reviews and plans with a model of this machine\nkind = \"api\"\napi = \"chat\"\n" +
			"url = \"http://localhost:11434/v1\"\nmodel = \"…\"\ncontext_tokens = 32000\nvendor = \"…\" # whose model it is\n"})
	}
	for _, name := range []string{"opencode", "qwen"} {
		if path, err := look(name); err == nil {
			all = append(all, offer{name, path, fmt.Sprintf("[agents.%s]        # executes with any model that speaks chat completions\nkind = \"acp\"\nprogram = %q\n"+
				"url = \"https://…/v1\"\nmodel = \"…\"\nkey_env = \"…\"\nvendor = \"…\" # whose model it is\n", name, path)})
		}
	}
	return all
}

// discovered are the offers of this machine for a configuration that holds these agents already.
func discovered(agents []found) []offer {
	return slices.DeleteFunc(offers(os.Getenv, exec.LookPath), func(o offer) bool {
		return slices.ContainsFunc(agents, func(f found) bool { return f.name == o.name })
	})
}

// comment is a text as a comment of TOML.
func comment(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("# " + line)
	}
	return b.String()
}
