#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` leaves: programs that use both libraries build and run against the installed
# tree by pkg-config and by find_package, `mindprof record` finds its library there, and manual pages
# and completion are in place. Argument: the build folder.
set -eu
build=$(cd "${1:?usage: install_test.sh BUILD}" && pwd)
cd "$(dirname "$0")"
here=$PWD
value() {
	sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}
# A sanitized library needs its run-time library in every program.
[[ $(value MINDPROF_SANITIZE) ]] && exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "install_test: $*"
	exit 1
}

cmake --install "$build" --prefix "$work/moved" >"$work/log" || { cat "$work/log"; fail "installation failed"; }
# An installation may be moved.
mv "$work/moved" "$work/prefix"
prefix=$work/prefix
for name in bin/mindprof include/mindprof/{mindprof,record,trace,types}.h share/man/man1/mindprof.1 \
	share/man/man1/mindprof-report.1 share/bash-completion/completions/mindprof; do
	[[ -s $prefix/$name ]] || fail "$name is missing"
done
bash -n "$prefix/share/bash-completion/completions/mindprof"
libdir=$(dirname "$(find "$prefix" -name libmindprof.so)")

# by pkg-config
export PKG_CONFIG_PATH=$libdir/pkgconfig
# shellcheck disable=SC2046
cc -std=c11 -Wall -Werror -o "$work/uses_both" "$here/uses_both.c" \
	$(pkg-config --cflags --libs mindprof mindprof-record) -Wl,-rpath,"$libdir"
[[ $(pkg-config --modversion mindprof) == "$("$prefix/bin/mindprof" --version | cut -d' ' -f2)" ]] ||
	fail "versions of pkg-config and program differ"
"$work/uses_both" "$work/data"

# by find_package
mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(mindprof 0.1 REQUIRED)
add_executable(user "$here/uses_both.c")
target_link_libraries(user PRIVATE mindprof::mindprof mindprof::mindprof-record)
CMAKE
cmake -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 &&
	cmake --build "$work/user/build" >>"$work/log" 2>&1 || { cat "$work/log"; fail "find_package failed"; }
"$work/user/build/user" "$work/data"

# the installed program finds its library
run=$("$prefix/bin/mindprof" record --output "$work/data" -- true) || fail "record failed"
[[ -d $run/MINDPROF ]] || fail "record left nothing"
echo "install_test: passed"
