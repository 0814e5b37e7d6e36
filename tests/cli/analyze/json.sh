cp -r "$DATA"/cpu/cpu-graph-schedule/raw/*399_ascend_ms run
mkdir run/PROF_000001_20250705072000001_ABCDEFGHIJKLMNOP
mindprof analyze run --json >out.json
status=$?
python3 -m json.tool out.json
exit $status
