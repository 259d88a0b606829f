#!/usr/bin/env bash
# generate.sh write: brings the generated code, the OpenAPI document and the TypeScript client up to date with the protos.
# generate.sh check: exits 1 and says where they differ or git does not know them; changes nothing.
#
# Everything is generated into a scratch folder first, so a proto that does not compile leaves the tree as it was and two
# runs at once do not mix. PROTO=proto/wayfarer/dice restricts `write` to a folder and leaves alone what is made of all.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:?write or check}

out=$(mktemp -d .tmp/generate.XXXXXX)
trap 'rm -rf "$out"' EXIT
typescript=clients/ts/src/api.gen.ts
mkdir -p "$out/proto/openapi" "$out/${typescript%/*}"

only=()
[[ -z ${PROTO:-} ]] || only=(--path "$PROTO")
.tmp/tools/buf generate --output "$out" "${only[@]}"
if [[ -z ${PROTO:-} ]]; then
	.tmp/tools/buf build proto --output "$out/image.binpb"
	.tmp/tools/openapi "$out/openapi" "$out/image.binpb" >"$out/proto/openapi/wayfarer.json"
	tools/node/node_modules/.bin/openapi-typescript "$out/proto/openapi/wayfarer.json" --output "$out/$typescript" >/dev/null
fi

generated() {
	(cd "$1" && find proto clients/ts/src -type f \( -name '*.pb.go' -o -name '*.pb.gw.go' -o -path 'proto/openapi/*.json' -o -name '*.gen.ts' \) | sort)
}

case $mode in
write)
	generated "$out" | while read -r file; do
		cmp -s "$out/$file" "$file" || { mkdir -p "$(dirname "$file")"; cp "$out/$file" "$file"; echo "wrote $file"; }
	done
	[[ -z ${PROTO:-} ]] || exit 0
	# What no source makes any more goes away.
	comm -13 <(generated "$out") <(generated .) | while read -r file; do rm "$file"; echo "removed $file"; done
	;;
check)
	stale=$(
		generated "$out" | while read -r file; do cmp -s "$out/$file" "$file" || echo "$file is out of date"; done
		comm -13 <(generated "$out") <(generated .) | sed 's/$/ has no source any more/'
		if git rev-parse --git-dir >/dev/null 2>&1; then
			git ls-files --others --exclude-standard 'proto/openapi/*.json' 'proto/*.pb.go' 'proto/*.pb.gw.go' 'clients/*.gen.ts' | sed 's/$/ is not in git/'
		fi
	)
	if [[ -n $stale ]]; then
		printf '%s\nrun "make generate" and commit what it writes\n' "$stale" >&2
		exit 1
	fi
	;;
*)
	echo "generate.sh: unknown mode $mode" >&2
	exit 2
	;;
esac
