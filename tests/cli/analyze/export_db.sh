# a database only, and what is no type
cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
run=$(ls -d data/*399_ascend_ms)
mkdir -p "$run/PROF_000001_20250705072000001_ABCDEFGHIJKLMNOP/mindstudio_profiler_output"
echo '[]' >"$run/PROF_000001_20250705072000001_ABCDEFGHIJKLMNOP/mindstudio_profiler_output/msprof_20250705.json"
mindprof analyze --export db "$run" 2>/dev/null
python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("PRAGMA integrity_check").fetchone())' "$run"/ASCEND_PROFILER_OUTPUT/*.db
mindprof analyze --export json "$run"
echo $?
