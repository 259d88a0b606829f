#!/usr/bin/env bash
# images.sh build [program...]: an image of each program, from static binaries, with buildah; no daemon and no network but for Go
# modules. IMAGE_PREFIX and VERSION name them, REVISION is the commit.
# images.sh check [program...]: starts each image: what it says of its version, that it comes up, that it holds nothing but its files,
# and that it runs as nobody.
set -euo pipefail
cd "$(dirname "$0")/../.."
mode=${1:?build or check}
shift
programs=("$@")
((${#programs[@]})) || programs=(dice party dungeon travel expedition gateway wayfarer)
prefix=${IMAGE_PREFIX:-ghcr.io/wayfarer-rpg/wayfarer}
version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo unknown)}
revision=${REVISION:-$(git rev-parse HEAD 2>/dev/null || echo unknown)}
# A folder of our own and no daemon: it works as root of a container as well as without root.
storage=(--root "$PWD/.tmp/images/storage" --runroot "$PWD/.tmp/images/run" --storage-driver vfs)

folder() {
	for dir in services/cmd workflows/cmd gateway/cmd; do
		if [[ -d $dir/$1 ]]; then
			echo "./$dir/$1"
			return
		fi
	done
	echo "images.sh: no program $1" >&2
	exit 2
}

tag() {
	local name=$prefix-$1
	[[ $1 != wayfarer ]] || name=$prefix
	echo "$name:${version//[^A-Za-z0-9_.-]/-}"
}

build() {
	local context=.tmp/images/context
	rm -rf "$context"
	mkdir -p "$context" .tmp/images/run
	local roots
	for roots in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt ''; do
		[[ -z $roots || ! -f $roots ]] || break
	done
	[[ -n $roots ]] || { echo "images.sh: this machine has no root certificates to put in" >&2; exit 1; }
	cp "$roots" "$context/ca-certificates.crt"
	for program in "${programs[@]}"; do
		CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$version" -o "$context/$program" "$(folder "$program")"
		.tmp/tools/cyclonedx-gomod bin -json -std -version "$version" -output "$context/sbom.cdx.json" "$context/$program" 2>/dev/null
		buildah "${storage[@]}" bud -q --isolation chroot --timestamp 0 --build-arg "PROGRAM=$program" --build-arg "VERSION=$version" \
			--build-arg "REVISION=$revision" -t "$(tag "$program")" -f deploy/docker/Dockerfile "$context" >/dev/null
		rm "$context/$program"
		echo "built $(tag "$program")"
	done
}

fail() {
	echo "$1" >&2
	exit 1
}

check() {
	local container said files
	for program in "${programs[@]}"; do
		container=$(buildah "${storage[@]}" from --pull-never "$(tag "$program")")
		[[ $(buildah "${storage[@]}" inspect --format '{{.OCIv1.Config.User}}' "$container") == 65532:65532 ]] || fail "$program runs as somebody"
		files=$(cd "$(buildah "${storage[@]}" mount "$container")" && find . -type f | sort | tr '\n' ' ')
		[[ $files == "./etc/ssl/certs/ca-certificates.crt ./program ./sbom.cdx.json " ]] || fail "$program holds $files"
		grep -q '"bomFormat": "CycloneDX"' "$(buildah "${storage[@]}" mount "$container")/sbom.cdx.json" || fail "$program has no list of what is in it"
		said=$(buildah "${storage[@]}" run --isolation chroot "$container" /program --version) || fail "$program --version: $said"
		[[ $said == *"$version"* ]] || fail "$program --version says $said, not $version"
		if [[ $program != wayfarer ]]; then
			started "$program" "$container"
		fi
		buildah "${storage[@]}" rm "$container" >/dev/null
		echo "checked $program: $said"
	done
}

# started runs a program with settings that need nobody else and asks for its health, until it answers.
started() {
	local program=$1 container=$2 port metrics pid answer=""
	port=$((20000 + RANDOM % 20000)) metrics=$((20000 + RANDOM % 20000))
	mkdir -p ".tmp/images/data-$program"
	chmod 777 ".tmp/images/data-$program"
	buildah "${storage[@]}" run --isolation chroot --volume "$PWD/.tmp/images/data-$program:/data:rw" \
		--env WAYFARER_LISTEN="127.0.0.1:$port" --env WAYFARER_METRICS_LISTEN="127.0.0.1:$metrics" --env WAYFARER_DATA_DIR=/data \
		--env WAYFARER_ISSUER=https://id.example.org --env WAYFARER_JWKS_URL=http://127.0.0.1:1/keys --env WAYFARER_TOKEN_URL=http://127.0.0.1:1/token \
		--env WAYFARER_CLIENT_ID="$program" --env WAYFARER_CLIENT_SECRET=none --env WAYFARER_TEMPORAL_ADDR=127.0.0.1:1 \
		--env WAYFARER_PAYLOAD_KEY="$(head -c 32 /dev/zero | base64)" "$container" /program >".tmp/images/$program.log" 2>&1 &
	pid=$!
	for _ in $(seq 100); do
		answer=$(curl -s -m 1 "http://127.0.0.1:$([[ $program == gateway ]] && echo "$port" || echo "$metrics")/healthz" || true)
		[[ -z $answer ]] || break
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	pkill -TERM -P "$pid" 2>/dev/null || true
	kill "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	[[ $answer == *SERVING* ]] || { cat ".tmp/images/$program.log" >&2; fail "$program did not come up: $answer"; }
}

case $mode in
build) build ;;
check) check ;;
*) fail "images.sh: unknown mode $mode" ;;
esac
