#!/bin/bash
# Programs recorded from outside (LD_PRELOAD and the environment, as `mindprof record -- CMD` does it), with dlopen, with
# children, with _exit: they run as ever, and their recordings are complete. Argument: the build folder.
set -eu
build=$(realpath "$1")
if [ -n "$(sed -n 's/^MINDPROF_SANITIZE:[A-Z]*=//p' "$build/CMakeCache.txt")" ]; then
	echo "a sanitized library cannot be preloaded"
	exit 0
fi
library=$build/lib/libmindprof-record.so
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cc=${CC:-cc}
"$cc" -D_GNU_SOURCE -x c tests/record/guest.inc -Iinclude -o "$tmp/linked" -L"$build/lib" -lmindprof-record \
	-Wl,-rpath,"$build/lib"
"$cc" -D_GNU_SOURCE -DNOT_LINKED -x c tests/record/guest.inc -Iinclude -o "$tmp/loading" -ldl
out=$tmp/out
status=$tmp/status

fail() {
	echo "preload_test: $*" >&2
	exit 1
}

# Runs a command recorded; it must succeed and print nothing.
recorded() {
	rm -rf "$out" "$status"
	MINDPROF_RECORD=1 MINDPROF_OUTPUT=$out MINDPROF_MEMORY=1M MINDPROF_STATUS_FILE=$status LD_PRELOAD=$library "$@" \
		>"$tmp/printed" 2>&1 || fail "$*: exit status $?"
	[ ! -s "$tmp/printed" ] || fail "$*: printed $(head -1 "$tmp/printed")"
}

# The n-th reported directory.
directory() {
	sed -n "$1s/^[0-9]* //p" "$status"
}

has_end() {
	grep -qa '"reason": "exit"' "$1/MINDPROF/session.mpr"
}

recorded "$tmp/linked" outside
[ "$(wc -l <"$status")" = 1 ] || fail "status file: $(cat "$status")"
[ "$(directory 1)" = "$(echo "$out"/*_ascend_ms)" ] || fail "status file names $(directory 1)"
has_end "$(directory 1)" || fail "no end after a normal exit"
grep -qa '"events": 2000, "dropped": 0, ' "$(directory 1)/MINDPROF/session.mpr" || fail "not 2000 events"
[ ! -e "$(directory 1)/MINDPROF/ring.mpr" ] || fail "the ring file stays after a normal exit"

recorded "$(type -P true)"
has_end "$(directory 1)" || fail "no end of a program that knows nothing of recording"

recorded "$tmp/linked" _exit
if has_end "$(directory 1)"; then fail "an end after _exit"; fi
[ -e "$(directory 1)/MINDPROF/ring.mpr" ] || fail "no ring file after _exit"

MINDPROF_FOLLOW_FORK=1 recorded "$tmp/linked" child
[ "$(wc -l <"$status")" = 2 ] || fail "not two recordings: $(cat "$status")"
has_end "$(directory 1)" || fail "no end of the parent"
has_end "$(directory 2)" || fail "no end of the child"
MINDPROF_FOLLOW_FORK=0 recorded "$tmp/linked" child
[ "$(wc -l <"$status")" = 1 ] || fail "a child that shall not be followed: $(cat "$status")"

for wish in MINDPROF_OUTPUT=/proc/none MINDPROF_MODE=circle MINDPROF_MEMORY=much; do
	rm -rf "$status"
	env MINDPROF_RECORD=1 MINDPROF_OUTPUT="$out" "$wish" MINDPROF_STATUS_FILE="$status" "$tmp/linked" failed ||
		fail "$wish: exit status $?"
	grep -q '^[0-9]* error: .*' "$status" || fail "$wish: status file: $(cat "$status")"
done
MINDPROF_RECORD=0 MINDPROF_STATUS_FILE=$tmp/none "$tmp/linked" failed || fail "off: exit status $?"
[ ! -e "$tmp/none" ] || fail "off, but a status was written"

rm -rf "$out"
"$tmp/loading" "$library" "$out" || fail "dlopen: exit status $?"
has_end "$(echo "$out"/*_ascend_ms)" || fail "no end after dlclose and exit"
grep -qa '"events": 1001, "dropped": 0, ' "$(echo "$out"/*_ascend_ms)/MINDPROF/session.mpr" || fail "dlopen: not 1001 events"

# On a machine whose counter cannot be trusted the clock is clock_gettime; here it is asked for.
MINDPROF_CLOCK=clock_gettime recorded "$tmp/linked" outside
grep -qa '"clock": "clock_gettime", "clock_hz": 1000000000' "$(directory 1)/MINDPROF/session.mpr" || fail "clock_gettime"
echo ok
