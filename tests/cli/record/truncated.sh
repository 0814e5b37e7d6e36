# a file that is cut: what is whole is reported, the cut is named with file and byte
. "$SOURCE/tests/cli/record/setup"
mindprof record ./tiny >/dev/null || exit 2
truncate -s -40 data/*/MINDPROF/events.mpr
mindprof report data >report 2>errors
status=$?
sed -n '/^\* /p; /^What was lost/,$p' report | sed 's|data/[^/]*/||'
sed 's|data/[^/]*_ascend_ms|RUN|' errors
exit $status
