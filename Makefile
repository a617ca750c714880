# Parkade's commands; `make` lists them.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BUILD := CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)'

# Packages share the two cores of a small machine: more at once only makes brokers time out. Those that start whole
# programs, and kill them, have it to themselves, one after the other.
TEST := go test -race -shuffle=on -timeout 25m
WHOLE := ./pipeline/... ./cmd/pipeline/... ./test/...

.PHONY: help
help: ## List the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | column -t -s $$'\t'

.PHONY: build
build: ## Build static binaries into bin/
	$(BUILD) -o bin/ ./cmd/...

.PHONY: generate
generate: tools/bin/templ ## Turn the templ files into Go
	tools/bin/templ fmt views
	tools/bin/templ generate -path views

.PHONY: lint
lint: tools/bin/golangci-lint tools/bin/templ ## Run the linters, change nothing
	tools/bin/templ fmt -fail views
	dev/generated
	go vet ./...
	tools/bin/golangci-lint run ./...
	go mod tidy -diff

.PHONY: test
test: ## Run every test that can run here (in CI all of them)
	@if [[ -n "$${CI:-}" ]]; then dev/install; fi
	@[[ -n "$$(type -P chromium chromium-browser google-chrome)" ]] || echo "left out: what needs a browser; dev/install brings Chromium" >&2
	dev/with-brokers $(MAKE) --no-print-directory packages

.PHONY: packages
packages:
	@status=0; $(TEST) -p 2 $$(go list ./... | grep -v -e '^parkade/pipeline' -e '^parkade/cmd/pipeline' -e '^parkade/test/') || status=1; \
	$(TEST) -p 1 $(WHOLE) || status=1; exit $$status

.PHONY: soak
soak: ## Run every crash point on every version and queue type, for hours
	PARKADE_SOAK=1 dev/with-brokers $(TEST) -p 1 -timeout 6h -count 1 ./test/...

.PHONY: bench
bench: ## Measure the budgets that docs/benchmarks.md lists
	PARKADE_BENCH=$${PARKADE_BENCH:-1} dev/with-brokers go test -timeout 2h -count 1 -run '^Test.*Budget' -v ./test/bench/...

.PHONY: demo
demo: ## Start a broker, the reference pipeline with faults, and the dashboard
	dev/demo

.PHONY: docker
docker: ## Build the images of the dashboard and of the pipeline
	docker build --build-arg VERSION=$(VERSION) --target dashboard -t parkade:$(VERSION) .
	docker build --build-arg VERSION=$(VERSION) --target pipeline -t parkade-pipeline:$(VERSION) .

.PHONY: clean
clean: ## Delete what the commands above built
	rm -rf bin tools/bin

# The tools are built once for each version in tools/go.mod; linking the linter takes a while.
tools/bin/golangci-lint: tools/go.mod tools/go.sum
	cd tools && go build -o bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

tools/bin/templ: tools/go.mod tools/go.sum
	cd tools && go build -o bin/templ github.com/a-h/templ/cmd/templ
