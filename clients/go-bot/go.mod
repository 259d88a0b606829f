// The module of somebody else's program: it has a path of its own, so that it can see the contract and nothing inside.
module example.com/tablebot

go 1.26.0

require (
	github.com/wayfarer-rpg/wayfarer/proto v0.0.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b
	google.golang.org/grpc v1.85.0
)

require (
	buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go v1.36.12-20260825204119-511051f7f437.2 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.33.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20261026165753-2ffab32bce7e // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

// Outside this repository there is none of this, and the version above is a real one.
replace github.com/wayfarer-rpg/wayfarer/proto => ../../proto
