# what would go, what goes, and that the results stay finished; raw data and links stay
cp -r "$DATA"/cpu/cpu-graph-schedule/raw/*399_ascend_ms run
prof=run/PROF_000001_20250705072000001_ABCDEFGHIJKLMNOP
mkdir -p $prof/mindstudio_profiler_output/inner $prof/host/sqlite $prof/host/data $prof/device_0/data $prof/analyze
echo '[]' >$prof/mindstudio_profiler_output/msprof_20250705.json
echo x >$prof/mindstudio_profiler_output/inner/x
echo raw >$prof/host/data/unaging.slice_0
echo xx >$prof/host/data/all_file.complete
touch $prof/device_0/data/all_file.complete elsewhere
ln -s "$PWD/elsewhere" $prof/host/sqlite/link
mindprof analyze run --dry-run
echo $?
mindprof analyze run --simplify --dry-run
find run -name 'ASCEND_PROFILER_OUTPUT'
mindprof analyze run --simplify --json 2>/dev/null | python3 -c 'import json, sys; print(*json.load(sys.stdin)["runs"][0]["removed"], sep="\n")'
find $prof | sort
ls elsewhere
mindprof analyze run 2>&1 >/dev/null | tail -1
