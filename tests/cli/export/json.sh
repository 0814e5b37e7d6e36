cp -r "$DATA"/cpu/cpu-graph-schedule/raw/*399_ascend_ms run
mindprof export run --to chrome -o trace.json --json | python3 -m json.tool
