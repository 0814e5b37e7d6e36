#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Command-line cases as files: tests/cli/<command>/<case>.sh is run with bash in a scratch folder of
# its own, with `mindprof` on the path, DATA = tests/data, SOURCE and BUILD = the two trees. Beside it:
#   <case>.stdout.exact or .stdout.glob   what must be printed (neither = nothing)
#   <case>.stderr.exact or .stderr.glob   the same for standard error
#   <case>.exit                           the exit code, 0 without the file; 77 = skipped
# A .glob is one bash pattern over the whole text: * also matches line ends.
#
# usage: run_test.sh BUILD [--update] [COMMAND/CASE...]
# --update writes .exact and .exit files anew from what came out; .glob files stay.
set -u
BUILD=$(cd "${1:?usage: run_test.sh BUILD [--update] [COMMAND/CASE...]}" && pwd) || exit 2
shift
cd "$(dirname "$0")" || exit 2
cases_dir=$PWD
update=
if [[ ${1-} == --update ]]; then
	update=1
	shift
fi
SOURCE=$(cd ../.. && pwd)
DATA=$SOURCE/tests/data
export BUILD SOURCE DATA PATH="$BUILD/bin:$PATH" LC_ALL=C TZ=UTC
for name in ${!MINDPROF_*} ${!RANK_*}; do
	unset "$name"
done
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT

if (($#)); then
	cases=("${@/%/.sh}")
else
	cases=(*/*.sh)
fi

# compare CASE stdout|stderr: whether the text is as expected; shows the difference.
compare() {
	local case=$1 stream=$2 got=$scratch/$2 want
	if [[ -e $case.$stream.glob ]]; then
		want=$(cat "$case.$stream.glob")
		# shellcheck disable=SC2053
		[[ $(cat "$got") == $want ]] && return
		diff -u --label "$case.$stream.glob" --label "$stream" "$case.$stream.glob" "$got"
		return 1
	fi
	want=$case.$stream.exact
	if [[ $update ]]; then
		rm -f "$want"
		[[ -s $got ]] && cp "$got" "$want"
		return 0
	fi
	[[ -e $want ]] || want=/dev/null
	diff -u --label "$case.$stream.exact" --label "$stream" "$want" "$got"
}

failed=0
skipped=0
for file in "${cases[@]}"; do
	case=$cases_dir/${file%.sh}
	good=1
	mkdir "$scratch/work" "$scratch/tmp"
	(cd "$scratch/work" && TMPDIR=$scratch/tmp exec bash "$case.sh") >"$scratch/stdout" 2>"$scratch/stderr" </dev/null
	code=$?
	if ((code == 77)); then
		((skipped++))
		rm -rf "$scratch/work" "$scratch/tmp"
		continue
	fi
	want=0
	[[ -e $case.exit ]] && want=$(<"$case.exit")
	if [[ $update ]]; then
		rm -f "$case.exit"
		((code)) && echo "$code" >"$case.exit"
	elif ((code != want)); then
		echo "${file%.sh}: exit code $code, expected $want"
		good=
	fi
	for stream in stdout stderr; do
		compare "$case" $stream || good=
	done
	if [[ -n $(ls -A "$scratch/tmp") ]]; then
		echo "${file%.sh}: temporary files were left behind: $(ls -A "$scratch/tmp")"
		good=
	fi
	if [[ ! $good ]]; then
		echo "FAILED ${file%.sh}"
		((failed++))
	fi
	rm -rf "$scratch/work" "$scratch/tmp"
done
echo "${#cases[@]} cases, $failed failed, $skipped skipped"
((failed == 0))
