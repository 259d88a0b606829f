# Wayfarer's one entry point: CI runs `make test`, and nothing that is not here.
#
# Needed: Go, make, git, bash; for `make test` gcc (the race detector) and Node 20 with npm (the TypeScript client). Every other
# tool is a Go module, pinned in a module of its own under tools/ that stays outside go.work, and built once into .tmp/tools,
# or an npm package of package-lock.json. The embedded servers under
# deploy/local are modules of their own as well, since their dependencies do not agree with the house's.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# A recipe is one script: a cd holds to its end.
.ONESHELL:
# Two heavy builds side by side are slower than one after the other, and need twice the memory.
.NOTPARALLEL:

# Programs get their version below; asking git for it again fails where somebody else owns the checkout.
export GOFLAGS ?= -buildvcs=false

TOOLS := .tmp/tools
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)
# What `make breaking` compares with: the commit that the branch left main at, on main itself the one before.
BASE ?=
# A module outside go.work.
OUTSIDE := GOWORK=off
MODULES := . proto
COMMANDS := $(wildcard services/cmd/* workflows/cmd/* gateway/cmd/*)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##### Running

.PHONY: run
run: bin/temporaldev local ## serve everything on this machine until Ctrl-C; state in .wayfarer/
	@exec bin/wayfarer-local

.PHONY: demo
demo: build ## play the main job through REST and print it as a story
	@exec bin/wayfarer demo

.PHONY: local
local:
	@if [[ -d deploy/local ]] && compgen -G 'deploy/local/*.go' >/dev/null; then
		echo "building bin/wayfarer-local"
		go build -ldflags '$(LDFLAGS)' -o bin/wayfarer-local ./deploy/local
	else
		echo "deploy/local does not exist yet" >&2; exit 1
	fi

.PHONY: build
build: temporaldev ## build every program into bin/
	@mkdir -p bin
	for dir in $(COMMANDS); do
		echo "building bin/$${dir##*/}"
		go build -ldflags '$(LDFLAGS)' -o "bin/$${dir##*/}" "./$$dir"
	done
	if compgen -G 'deploy/local/*.go' >/dev/null; then $(MAKE) --no-print-directory local; fi

.PHONY: temporaldev
temporaldev: bin/temporaldev ## build the Temporal server for one machine, if its source changed

bin/temporaldev: $(wildcard deploy/local/temporaldev/*.go deploy/local/temporaldev/go.*)
	@tools/slow.sh "building bin/temporaldev: a whole Temporal server; the first time takes minutes" \
		env -C deploy/local/temporaldev $(OUTSIDE) go build -ldflags '-s -w' -o ../../../$@ .

.PHONY: ferretdev
ferretdev: bin/ferretdev ## build the MongoDB stand-in, if its source changed

# The flags are those of internal/journal/journaltest/ferret, so that both find the other's work in Go's cache.
bin/ferretdev: $(wildcard deploy/local/ferretdev/*.go deploy/local/ferretdev/go.*)
	@tools/slow.sh "building bin/ferretdev: a stand-in for MongoDB" \
		env -C deploy/local/ferretdev $(OUTSIDE) CGO_ENABLED=0 go build -trimpath -o ../../../$@ .

##### Shipping

.PHONY: images
images: $(TOOLS)/cyclonedx-gomod ## build an image of each program with buildah; IMAGE_PREFIX and VERSION name them
	@deploy/docker/images.sh build

.PHONY: test-images
test-images: images ## start every image
	@deploy/docker/images.sh check

##### Checking

.PHONY: test
test: ## everything that CI runs; the test runner's summary comes last
	@tools/check.sh check-format vet house check-generate lint-proto breaking lint workflowcheck vuln check-licences test-tools test-servers test-deploy test-chaos test-crash -- test-go

.PHONY: check-format
check-format:
	@tools/gofiles.sh | xargs gofmt -l | (! grep .) || { echo 'run "make fmt"' >&2; exit 1; }

.PHONY: vet
vet:
	@for dir in $(MODULES); do go -C "$$dir" vet ./...; done
	for dir in tools deploy/local/ferretdev deploy/local/temporaldev deploy/check clients/go-bot; do $(OUTSIDE) go -C "$$dir" vet ./...; done

.PHONY: house
house:
	@go test -count=1 ./internal/house/...

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## golangci-lint on the house's modules
	@for dir in $(MODULES); do (cd "$$dir" && '$(CURDIR)/$<' run --config '$(CURDIR)/.golangci.yml' ./...); done

.PHONY: workflowcheck
workflowcheck: $(TOOLS)/workflowcheck
	@if [[ -d workflows ]]; then $< ./workflows/...; else echo "no workflows yet"; fi

# The two programs that hold the code of all, with their symbols, so that what is linked in is known by its functions. The database
# comes as a module, so that nothing is asked of the network.
.PHONY: vuln
vuln: $(TOOLS)/govulncheck .tmp/vulndb/.stamp ## known vulnerabilities in what the programs are built of
	@mkdir -p .tmp/vuln
	for dir in deploy/local gateway/cmd/wayfarer; do
		go build -o .tmp/vuln/program "./$$dir"
		$< -db file://'$(CURDIR)'/.tmp/vulndb -mode binary -format json .tmp/vuln/program >.tmp/vuln/found.json
		$(OUTSIDE) go -C tools run ./vulns <.tmp/vuln/found.json
	done

.tmp/vulndb/.stamp: $(TOOLS)/indexdb
	@rm -rf .tmp/vulndb
	$< -out .tmp/vulndb -vulns "$$($(OUTSIDE) go -C tools/vuln list -m -f '{{.Dir}}' golang.org/x/vulndb)/data/osv"
	touch $@

.PHONY: licences
licences: ## list the licences of dependencies in docs/licences.md
	@$(OUTSIDE) go -C tools run ./licences .. >.tmp/licences.md
	mv .tmp/licences.md docs/licences.md

.PHONY: check-licences
check-licences:
	@$(OUTSIDE) go -C tools run ./licences .. | diff docs/licences.md - || { echo 'run "make licences" and commit what it writes' >&2; exit 1; }

# The modules of their own read files outside of them, of which Go's cache of results knows nothing: -count=1.
.PHONY: test-tools
test-tools:
	@cd tools && $(OUTSIDE) go test -count=1 ./...

.PHONY: test-servers
test-servers:
	@$(OUTSIDE) CGO_ENABLED=0 go -C deploy/local/ferretdev test -trimpath ./...
	$(OUTSIDE) go -C deploy/local/temporaldev test ./...

.PHONY: test-deploy
test-deploy:
	@$(OUTSIDE) go -C deploy/check test -count=1 ./...

# TESTFLAGS adds to `go test`, PACKAGES restricts it.
PACKAGES ?= ./... github.com/wayfarer-rpg/wayfarer/proto/...
.PHONY: test-go
test-go: $(TOOLS)/gotestsum bin/temporaldev node ## the tests alone; PACKAGES=./rules/... restricts them
	@$(TOOLS)/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg -- -race -timeout 60m $(TESTFLAGS) $(PACKAGES)

# CHAOS_MODE, CHAOS_TIME, CHAOS_SEED, CHAOS_EXPEDITIONS, CHAOS_KILL_EVERY and STORE choose the run, see chaos/main.go.
.PHONY: chaos
chaos: build $(if $(filter mongodb,$(STORE)),bin/ferretdev) ## play while programs are killed and connections cut, then compare the journals with what clients were told
	@go run ./chaos

.PHONY: test-chaos
test-chaos: build
	@CHAOS_TIME=2m CHAOS_EXPEDITIONS=8 go run ./chaos
	CHAOS_MODE=rolling CHAOS_TIME=30s CHAOS_EXPEDITIONS=4 go run ./chaos

# CRASHFLAGS="-seed 1000 -seeds 5000" chooses others and more.
.PHONY: test-crash
test-crash: ## expeditions in one process, whose programs die at every point where they can be seen to have done something
	@go test -count=1 -timeout 60m ./chaos/crash $(CRASHFLAGS)

# BENCH chooses sections (calls, history, throughput, idle, dice, odds, simulation), IDLE how many expeditions are open at
# once; docs/bench.md has what came of them.
.PHONY: bench
bench: bin/temporaldev bin/ferretdev ## the figures, as ratios within one run; the table comes last
	@go run ./bench

# Its sections are edge, fanout, programs and soak; SOAK is how long that takes.
.PHONY: bench-load
bench-load: build $(TOOLS)/ghz ## figures under load: edge, watchers, memory, and a soak of 10 minutes
	@BENCH="$${BENCH:-edge,fanout,programs,soak}" go run ./bench

.PHONY: bench-all
bench-all: ## the benchmarks of the packages; BENCHFLAGS adds to `go test`
	@go test -run '^$$' -bench . -benchmem $(BENCHFLAGS) ./...

.PHONY: fmt
fmt: $(TOOLS)/buf .proto-deps/.stamp ## format Go and protos
	@tools/gofiles.sh | xargs gofmt -w
	$(TOOLS)/buf format -w proto

.PHONY: clean
clean: ## remove what was built; keeps .wayfarer/
	rm -rf bin .tmp .proto-deps

##### The contract

PROTO_TOOLS := $(TOOLS)/buf $(TOOLS)/plugins.stamp $(TOOLS)/openapi .proto-deps/.stamp node_modules/.stamp

.PHONY: generate
generate: $(PROTO_TOOLS) ## generate Go, OpenAPI and TypeScript from the protos; PROTO=proto/wayfarer/dice restricts it
	@tools/generate.sh write

.PHONY: check-generate
check-generate: $(PROTO_TOOLS) ## fail when `make generate` would change something
	@tools/generate.sh check

.PHONY: lint-proto
lint-proto: $(TOOLS)/buf .proto-deps/.stamp ## lint and format check of the protos
	@$(TOOLS)/buf lint
	$(TOOLS)/buf format --diff --exit-code proto

.PHONY: breaking
breaking: $(TOOLS)/buf .proto-deps/.stamp ## fail when stored or spoken messages would break; BASE=<commit>
	@BASE='$(BASE)' tools/breaking.sh

##### Tools

$(TOOLS)/plugins.stamp: tools/go.mod tools/go.sum
	@echo "building the proto plugins"; mkdir -p $(TOOLS)
	cd tools && $(OUTSIDE) go build -o ../$(TOOLS)/ google.golang.org/protobuf/cmd/protoc-gen-go \
		google.golang.org/grpc/cmd/protoc-gen-go-grpc github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway \
		github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv3
	touch ../$@

$(TOOLS)/openapi: tools/go.mod tools/go.sum $(wildcard tools/openapi/*.go)
	@mkdir -p $(TOOLS)
	cd tools && $(OUTSIDE) go build -o ../$@ ./openapi

.proto-deps/.stamp: tools/go.mod tools/go.sum tools/protodeps/main.go
	@rm -rf .proto-deps.new && mkdir .proto-deps.new
	cd tools && $(OUTSIDE) go run ./protodeps ../.proto-deps.new
	touch ../.proto-deps.new/.stamp
	rm -rf ../.proto-deps && mv ../.proto-deps.new ../.proto-deps

.PHONY: node
node: node_modules/.stamp ## install the npm packages of the TypeScript client and of the tests in a browser

node_modules/.stamp: package-lock.json package.json clients/ts/package.json tools/node/package.json
	@command -v npm >/dev/null || { echo "npm is missing: the TypeScript client is made and tested with Node 20 or newer" >&2; exit 1; }
	npm ci --silent
	touch $@

# Binaries under the name of their go.sum: a second working tree, or a way back in history, finds what was built before.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/wayfarer/tools
define tool
$(TOOLS)/$(1): tools/$(2)/go.mod tools/$(2)/go.sum
	@mkdir -p $(TOOLS) '$(CACHE)'
	built="$(CACHE)/$(1)-$$$$(go env GOVERSION)-$$$$(cat tools/$(2)/go.mod tools/$(2)/go.sum | git hash-object --stdin)"
	if [[ ! -x $$$$built ]]; then
		tools/slow.sh "building $(1)$(4)" env -C tools/$(2) $(OUTSIDE) go build -o "$$$$built.$$$$$$$$" $(3)
		mv "$$$$built.$$$$$$$$" "$$$$built"
	fi
	ln -sfn "$$$$built" $$@
	touch -h $$@
endef
$(eval $(call tool,buf,buf,github.com/bufbuild/buf/cmd/buf,))
$(eval $(call tool,golangci-lint,lint,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,: the first time takes minutes))
$(eval $(call tool,cyclonedx-gomod,sbom,github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod,))
$(eval $(call tool,gotestsum,test,gotest.tools/gotestsum,))
$(eval $(call tool,ghz,load,github.com/bojand/ghz/cmd/ghz,))
$(eval $(call tool,workflowcheck,test,go.temporal.io/sdk/contrib/tools/workflowcheck,))
$(eval $(call tool,govulncheck,vuln,golang.org/x/vuln/cmd/govulncheck,))
$(eval $(call tool,indexdb,vuln,golang.org/x/vulndb/cmd/indexdb,))
