#!/usr/bin/env bash
# gofiles.sh: every Go file of the tree that people write and git does not ignore, one a line.
set -euo pipefail
cd "$(dirname "$0")/.."
{ git ls-files --cached --others --exclude-standard -- '*.go' | sort -u; } | while read -r file; do
	case $file in
	*.pb.go | *.pb.gw.go) ;;
	*) [[ ! -f $file ]] || printf '%s\n' "$file" ;;
	esac
done
