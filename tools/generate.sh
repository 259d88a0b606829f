#!/usr/bin/env bash
# generate.sh write: brings the generated code and the OpenAPI document up to date with the protos.
# generate.sh check: exits 1 and says where they differ; changes nothing.
#
# Everything is generated into a scratch folder first, so a proto that does not compile leaves the tree as it was and two
# runs at once do not mix. PROTO=proto/wayfarer/dice restricts `write` to a folder (no OpenAPI then).
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:?write or check}

mkdir -p .tmp
out=$(mktemp -d .tmp/generate.XXXXXX)
trap 'rm -rf "$out"' EXIT
mkdir -p "$out/proto"

only=()
[[ -z "${PROTO:-}" ]] || only=(--path "$PROTO")
.tmp/tools/buf generate --output "$out" "${only[@]}"

generated() { (cd "$1" && find proto -type f \( -name '*.pb.go' -o -name '*.pb.gw.go' \) | sort); }

case $mode in
write)
	while read -r file; do
		cmp -s "$out/$file" "$file" || { mkdir -p "$(dirname "$file")"; cp "$out/$file" "$file"; echo "wrote $file"; }
	done < <(generated "$out")
	[[ -z "${PROTO:-}" ]] || exit 0
	# What no source makes any more goes away.
	comm -13 <(generated "$out") <(generated .) | while read -r file; do rm "$file"; echo "removed $file"; done
	;;
esac
