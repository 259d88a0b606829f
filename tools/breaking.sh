#!/usr/bin/env bash
# breaking.sh: compares the protos with those of $BASE; fails when a stored or spoken message would no longer be read.
#
# Without BASE that is the commit at which the branch left main, and on main itself the one before the newest. It passes
# where there is nothing to compare with: no such commit (a shallow clone), or no protos in it.
set -euo pipefail
cd "$(dirname "$0")/.."

base=${BASE:-}
if [[ -n $base ]]; then
	git rev-parse --verify --quiet "$base^{commit}" >/dev/null || { echo "breaking: no commit $base" >&2; exit 2; }
else
	head=$(git rev-parse --verify --quiet HEAD || true)
	for main in origin/main main; do
		found=$(git merge-base HEAD "$main" 2>/dev/null || true)
		# A dirty tree on main is compared with its own newest commit.
		if [[ -n $found && ($found != "$head" || -n $(git status --porcelain -- 'proto/*.proto')) ]]; then
			base=$found
			break
		fi
	done
	[[ -n $base ]] || base=$(git rev-parse --verify --quiet HEAD~ || true)
fi
if [[ -z $base || -z $(git ls-tree -r --name-only "$base" -- proto | grep '\.proto$' || true) ]]; then
	echo "no earlier protos to compare with"
	exit 0
fi

old=$(mktemp -d .tmp/breaking.XXXXXX)
trap 'rm -rf "$old"' EXIT
git archive "$base" proto | tar -x -C "$old"
cp buf.yaml "$old"
cp -r .proto-deps "$old"
.tmp/tools/buf build "$old/proto" --output "$old/base.binpb" || {
	# Only a base that never compiled is no promise to anybody.
	echo "the protos of $base do not compile; nothing to compare with"
	exit 0
}
.tmp/tools/buf breaking proto --against "$old/base.binpb"
echo "compared with $(git rev-parse --short "$base")"
