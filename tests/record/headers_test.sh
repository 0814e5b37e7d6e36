#!/bin/bash
# The public recording header in every dialect it promises: C11, C17, C++11, C++20, with gcc and clang, without a warning;
# with MINDPROF_DISABLE no symbol of the library is left. The programs are run, too. Argument: the build folder.
set -eu
build=$1
source=tests/record/all_macros.inc
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-missing-field-initializers -Werror"
sanitize=$(sed -n 's/^MINDPROF_SANITIZE:[A-Z]*=//p' "$build/CMakeCache.txt" 2>/dev/null || true)
n=0

fail() {
	echo "headers_test: $*" >&2
	exit 1
}

# compiler, language, standard, further options
try() {
	local object=$tmp/$n.o
	n=$((n + 1))
	"$1" -x "$2" -std="$3" $warnings -O"$((n % 3))" -Iinclude ${4:-} -c "$source" -o "$object" ||
		fail "$1 -std=$3 ${4:-} does not compile it"
	case ${4:-} in
	*MINDPROF_DISABLE*)
		if nm -u "$object" | grep -i mindprof; then
			fail "$1 -std=$3 leaves symbols of the library although disabled"
		fi
		"$1" "$object" -o "$tmp/program"
		"$tmp/program" || fail "$1 -std=$3 disabled: exit status $?"
		;;
	*)
		nm -u "$object" | grep -q mindprof_range_begin_ || fail "$1 -std=$3 records nothing"
		# A sanitized library cannot be loaded by a program that is not.
		if [ -z "$sanitize" ]; then
			"$1" "$object" -o "$tmp/program" -L"$build/lib" -lmindprof-record -Wl,-rpath,"$PWD/$build/lib" \
				-Wl,-rpath,"$build/lib"
			mkdir -p "$tmp/out"
			"$tmp/program" "$tmp/out" || fail "$1 -std=$3: exit status $?"
		fi
		;;
	esac
}

for pair in gcc:g++ clang:clang++; do
	c=${pair%:*} cxx=${pair#*:}
	for option in "" -DMINDPROF_DISABLE; do
		if command -v "$c" >/dev/null; then
			try "$c" c c11 "$option"
			try "$c" c c17 "$option"
			try "$c" c gnu11 "$option"
		fi
		if command -v "$cxx" >/dev/null; then
			try "$cxx" c++ c++11 "$option"
			try "$cxx" c++ c++20 "$option"
		fi
	done
done
[ "$n" -ge 10 ] || fail "no compiler found"
echo "$n builds"
