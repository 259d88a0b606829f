// Command protodeps writes the third-party .proto files that proto/ imports into the folder named by its argument.
//
// It prints them from the descriptors compiled into the Go modules that tools/go.mod pins, so that generation needs no
// schema registry and one file holds every version. The printed files lose the comments of the originals; nothing else.
package main

import (
	"fmt"
	"os"

	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	_ "google.golang.org/genproto/googleapis/api/annotations"
	_ "google.golang.org/genproto/googleapis/api/httpbody"
	_ "google.golang.org/genproto/googleapis/api/visibility"
	_ "google.golang.org/genproto/googleapis/rpc/code"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	_ "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/jhump/protoreflect/v2/protoprint"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// wanted lists what may be imported. The files of google/protobuf come with the compiler.
var wanted = []string{
	"buf/validate/validate.proto",
	"google/api/annotations.proto",
	"google/api/client.proto",
	"google/api/field_behavior.proto",
	"google/api/field_info.proto",
	"google/api/http.proto",
	"google/api/httpbody.proto",
	"google/api/launch_stage.proto",
	"google/api/resource.proto",
	"google/api/visibility.proto",
	"google/rpc/code.proto",
	"google/rpc/error_details.proto",
	"google/rpc/status.proto",
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "protodeps:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: protodeps FOLDER")
	}
	files := make([]protoreflect.FileDescriptor, 0, len(wanted))
	for _, path := range wanted {
		fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
		if err != nil {
			return fmt.Errorf("find %s: %w", path, err)
		}
		files = append(files, fd)
	}
	printer := &protoprint.Printer{Compact: true}
	if err := printer.PrintProtosToFileSystem(files, args[0]); err != nil {
		return fmt.Errorf("print to %s: %w", args[0], err)
	}
	return nil
}
