#!/usr/bin/env bash
# slow.sh "what it does" command...: runs a command that says nothing for minutes, and says every ten seconds that it lives.
set -euo pipefail
what=$1
shift
echo "$what" >&2
SECONDS=0
"$@" &
job=$!
trap 'kill "$job" 2>/dev/null || true' INT TERM
while kill -0 "$job" 2>/dev/null; do
	# Wakes at once when the command ends.
	sleep 10 &
	nap=$!
	wait -n "$job" "$nap" || true
	if kill -0 "$job" 2>/dev/null; then
		echo "  … ${SECONDS} s" >&2
	else
		kill "$nap" 2>/dev/null || true
	fi
done
wait "$job"
echo "  done in ${SECONDS} s" >&2
