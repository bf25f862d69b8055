package main

import (
	"io"
	"log/slog"
	"slices"
)

// observeConfig is how the coordinator is watched.
type observeConfig struct {
	// LogFormat is "text" or "json", LogLevel "debug", "info", "warn" or "error". At debug each entry and each request is a line.
	LogFormat string `toml:"log_format"`
	LogLevel  string `toml:"log_level"`
	// OTLP is where traces of tasks go, as http://127.0.0.1:4318; empty is what OTEL_EXPORTER_OTLP_ENDPOINT says, else nowhere.
	OTLP string `toml:"otlp"`
}

func (o observeConfig) validate(bad func(string, ...any)) {
	if !slices.Contains([]string{"", "text", "json"}, o.LogFormat) {
		bad("observe.log_format is %q, want text or json", o.LogFormat)
	}
	if !slices.Contains([]string{"", "debug", "info", "warn", "error"}, o.LogLevel) {
		bad("observe.log_level is %q, want debug, info, warn or error", o.LogLevel)
	}
}

// logger writes the coordinator's log.
func (o observeConfig) logger(w io.Writer, verbose bool) *slog.Logger {
	level := map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError}[o.LogLevel]
	if verbose {
		level = slog.LevelDebug
	}
	options := &slog.HandlerOptions{Level: level}
	if o.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
