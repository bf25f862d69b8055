# The tools of make check, pinned. They are run by go run and are no part of go.mod.
GOFUMPT       := $(GO) run mvdan.cc/gofumpt@v0.12.0
GOLANGCI_LINT := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK   := $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0
