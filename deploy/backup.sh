#!/usr/bin/env bash
# Backs the journals up, restores them, and rehearses a restore. Which stores is said as to the services: STORE, MONGODB_URI,
# WAYFARER_MONGODB_PREFIX, WAYFARER_DATA_DIR. What it runs is $WAYFARER (default: wayfarer).
#
#   backup.sh backup DIR     writes DIR/wayfarer-<time>.ndjson.gz, also while the programs run, reads it again, prints its name;
#                            with KEEP=n only the newest n backups stay
#   backup.sh restore FILE   adds the journals of a backup to the stores, and verifies the stores; the programs are stopped
#   backup.sh rehearse FILE  restores a backup into a directory of its own, compares it with the backup, and removes it
#
# A backup holds seeds and secrets of the game; it is made for its owner alone.
set -euo pipefail
umask 077
wayfarer=${WAYFARER:-wayfarer}

usage() {
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

backup() {
	local dir=$1 file status=0
	mkdir -p "$dir"
	file=$dir/wayfarer-$(date -u +%Y%m%dT%H%M%SZ).ndjson.gz
	# What is not sound is written and told with status 1: such a backup is better than none.
	"$wayfarer" admin export --out "$file" >&2 || status=$?
	[[ -f $file ]] || exit "$status"
	"$wayfarer" admin verify "$file" >/dev/null || status=$?
	if [[ -n ${KEEP:-} && $status == 0 ]]; then
		[[ $KEEP =~ ^[1-9][0-9]*$ ]] || { echo "KEEP: '$KEEP' is not a number above 0" >&2; exit 2; }
		# Names sort by time.
		find "$dir" -maxdepth 1 -name 'wayfarer-*.ndjson.gz' | sort -r | tail -n +$((KEEP + 1)) | while read -r old; do rm -- "$old"; done
	fi
	echo "$file"
	return "$status"
}

restore() {
	"$wayfarer" admin import "$1"
	"$wayfarer" admin verify
}

# plain prints the records of a backup, in an order of their own: streams may be listed in another one.
plain() {
	gzip -dcf -- "$1" | sed '1d;$d' | LC_ALL=C sort
}

rehearse() {
	local dir status=0
	dir=$(mktemp -d)
	(
		export STORE=sqlite WAYFARER_DATA_DIR=$dir/data
		restore "$1"
		"$wayfarer" admin export --out "$dir/again.ndjson" >&2
		cmp <(plain "$1") <(plain "$dir/again.ndjson")
		echo "restored: $(plain "$1" | wc -l) records, each as in the backup"
	) || status=$?
	rm -r -- "$dir"
	return "$status"
}

[[ $# == 2 ]] || usage
case $1 in
backup | restore | rehearse) "$1" "$2" ;;
*) usage ;;
esac
