# Tool modules and the embedded servers stay outside go.work and are built with GOWORK=off.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
TOOLS := .tmp/tools

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: generate
generate: $(TOOLS)/proto.stamp $(TOOLS)/buf .proto-deps/.stamp ## generate Go and OpenAPI from the protos; PROTO=<folder> restricts it
	@tools/generate.sh write

$(TOOLS)/proto.stamp: tools/go.mod tools/go.sum
	@echo "building the proto plugins"; mkdir -p $(TOOLS)
	cd tools && GOWORK=off go build -o ../$(TOOLS)/ google.golang.org/protobuf/cmd/protoc-gen-go \
		google.golang.org/grpc/cmd/protoc-gen-go-grpc github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway \
		github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv3
	@touch $@

$(TOOLS)/buf: tools/buf/go.mod tools/buf/go.sum
	@echo "building buf"; mkdir -p $(TOOLS)
	cd tools/buf && GOWORK=off go build -o ../../$@ github.com/bufbuild/buf/cmd/buf
	@touch $@

.proto-deps/.stamp: tools/go.mod tools/go.sum tools/protodeps/main.go
	rm -rf .proto-deps && mkdir -p .proto-deps
	cd tools && GOWORK=off go run ./protodeps ../.proto-deps
	@touch $@
