#!/usr/bin/env bash
# check.sh step... -- last...: makes each step, shows the output of those that fail and one line for each, and makes the
# last ones with their output. A failure does not stop the others: one run tells everything. Exits 1 when any failed.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p .tmp
log=$(mktemp .tmp/check.XXXXXX)
trap 'rm -f "$log"' EXIT

failed=()
while (($#)) && [[ $1 != -- ]]; do
	SECONDS=0
	if [[ -t 2 ]]; then printf '  …     %s\r' "$1" >&2; fi
	if "${MAKE:-make}" --no-print-directory "$1" >"$log" 2>&1; then
		printf '  ok    %-16s %4d s\n' "$1" "$SECONDS"
	else
		printf '  FAIL  %-16s %4d s\n' "$1" "$SECONDS"
		sed 's/^/        /' "$log"
		failed+=("$1")
	fi
	shift
done
shift || true
while (($#)); do
	"${MAKE:-make}" --no-print-directory "$1" || failed+=("$1")
	shift
done
if ((${#failed[@]})); then
	echo "failed: ${failed[*]}"
	exit 1
fi
