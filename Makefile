# Arbiter. make build, make demo and make test need Go, git and make; make check also fetches the pinned tools of tools.mk.

GO ?= go
BIN := bin/arbiter

include tools.mk

.PHONY: all
all: build

.PHONY: build
build: ## the program, in bin/arbiter
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN) ./cmd/arbiter

.PHONY: demo
demo: build ## real tasks on a throw-away repository, no keys and no network
	./$(BIN) demo

.PHONY: test
test: ## every test
	$(GO) test -timeout 30m ./...

.PHONY: race
race: ## every test under the race detector, which needs a C compiler
	$(GO) test -race -timeout 60m ./...

.PHONY: check
check: format-check vet fix-check lint race ## what a change has to pass

.PHONY: format
format: ## lay the code out
	$(GOFUMPT) -w .

.PHONY: format-check
format-check:
	@out=$$($(GOFUMPT) -l .) || exit 1; test -z "$$out" || { echo "not laid out, run make format:"; echo "$$out"; exit 1; }

.PHONY: vet
vet:
	$(GO) vet ./...

.PHONY: fix-check
fix-check:
	@out=$$($(GO) fix -diff ./... 2>&1) || { echo "$$out"; echo "run go fix ./..."; exit 1; }; test -z "$$out" || { echo "$$out"; echo "run go fix ./..."; exit 1; }

.PHONY: lint
lint:
	$(GOLANGCI_LINT) run

.PHONY: docs
docs: ## the drawings and pictures in the documents, anew from the code and the golden frames
	$(GO) test -run TestDocs . -update
	$(GO) test -run TestDocs_openapi ./cmd/arbiter -update

.PHONY: vulncheck
vulncheck: ## known holes in what is linked; needs the network
	$(GOVULNCHECK) ./...

# Where the real programs go; about 2 GB. npm ci would refuse the lock: it names packages for other systems that nobody published.
AGENTS_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/arbiter-agents-test

.PHONY: agents-test
agents-test: ## the real programs, in pinned versions from npm, against a scripted model; needs Node and the network once
	@command -v npm >/dev/null || { echo "npm is not installed: the real programs cannot be fetched, NOTHING WAS TESTED"; exit 1; }
	mkdir -p $(AGENTS_DIR)
	@if ! cmp -s providers/agenttest/programs/package-lock.json $(AGENTS_DIR)/installed.json; then \
		cp providers/agenttest/programs/package.json providers/agenttest/programs/package-lock.json $(AGENTS_DIR)/ && \
		(cd $(AGENTS_DIR) && npm install --ignore-scripts --no-audit --no-fund) && \
		ln -sf ../opencode-linux-x64/bin/opencode $(AGENTS_DIR)/node_modules/.bin/opencode && \
		cp providers/agenttest/programs/package-lock.json $(AGENTS_DIR)/installed.json; \
	fi
	ARBITER_REAL_AGENTS=$(AGENTS_DIR)/node_modules $(GO) test -count=1 -timeout 30m -parallel 4 -run 'TestReal|TestScripts/(programs|speakers)' \
		./providers/... ./cmd/arbiter

FUZZTIME ?= 20s

.PHONY: fuzz
fuzz: ## every decoder for FUZZTIME each
	@for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		for f in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | cut -c6-); do \
			echo "$$dir $$f"; $(GO) test $$dir -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; \
		done; \
	done

# How often each crash test runs before a release, over that many states, kills and damages; docs/crash-tests.md says what they do.
CRASH := ARBITER_STORE_KILLS=2000 ARBITER_STORE_STATES=50000 ARBITER_STORE_FAULTS=400 ARBITER_STORE_DEATHS=400 \
	ARBITER_STORE_FLIPS=10000 ARBITER_KILLS=200 ARBITER_POSTGRES_RESTARTS=50 ARBITER_POSTGRES_KILLS=300 ARBITER_POSTGRES_JOBS=3000 \
	ARBITER_SIM_SEEDS=1000000

.PHONY: crash
crash: ## the crash tests of the journal as before a release; hours, and strace for power cuts
	@command -v strace >/dev/null || { echo "strace is not installed: power cuts cannot be replayed"; exit 1; }
	$(CRASH) $(GO) test -count=1 -timeout 12h -v -run 'TestKill|TestDie|TestFaults|TestPowerCut|TestSync|TestDamage|TestFull|TestFailedWrite|TestVisitor|TestCorpus|TestRestart|TestCut|TestLeases|TestSimulation' . ./ssot/sqlite ./ssot/postgres ./coordinator

# The numbers of a release: connections and messages at once, kills in the middle of a flood. It needs a limit of 20,000 open files.
LOAD := ARBITER_LOAD_CONNECTIONS=9500 ARBITER_LOAD_MESSAGES=100000 ARBITER_LOAD_KILLS=20

.PHONY: load
load: ## connections and messages by the thousand against the program, as before a release
	$(LOAD) $(GO) test -count=1 -timeout 2h -v -run 'TestLoad' ./cmd/arbiter

# The journal takes a gigabyte of the temporary folder, and is kept there for the next time.
BENCH_ENTRIES ?= 1000000
BENCH := $(GO) test -run '^$$' -timeout 2h
RIVER := $(CURDIR)/bin/river

.PHONY: bench
bench: bench-journal ## speed and memory, each against a limit measured in the same run
	$(BENCH) -bench . -benchmem $$($(GO) list ./... | grep -v /ssot/)

.PHONY: bench-journal
bench-journal: ## the journal alone, with a million entries, and in PostgreSQL where that is installed
	ARBITER_BENCH_ENTRIES=$(BENCH_ENTRIES) $(BENCH) ./ssot/sqlite -bench 'Append$$|Growth|Ready' -benchtime 20x
	ARBITER_BENCH_ENTRIES=$(BENCH_ENTRIES) $(BENCH) ./ssot/sqlite -bench 'Screen|Search' -benchtime 200x
	ARBITER_BENCH_ENTRIES=$(BENCH_ENTRIES) $(BENCH) ./ssot/sqlite -bench 'Verify|Size' -benchtime 3x
	$(BENCH) ./ssot/sqlite -bench 'Open|Fold|Index|Backup|Export' -benchtime 3x
	@$(GO) build -C ssot/postgres/testdata/river -o $(RIVER) . || echo "River cannot be built without the network: tasks are NOT compared with it"
	ARBITER_BENCH_RIVER=$$(test -x $(RIVER) && echo $(RIVER)) $(BENCH) ./ssot/postgres -bench 'Append|Task' -benchtime 10x
	$(BENCH) ./ssot/postgres -bench Search -benchtime 1x

.PHONY: bench-tui
bench-tui: ## speed of the screens; docs/benchmarks.md has the figures
	$(GO) test ./tui ./tui/ui -run '^$$' -bench 'Frame|Batch|Diff' -benchmem
	$(GO) test ./tui -run '^$$' -bench KeyToWrite -benchtime 200x

.PHONY: clean
clean:
	rm -rf bin dist

.PHONY: help
help:
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort
