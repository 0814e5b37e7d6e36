cp -r "$DATA"/cpu/cpu-graph-schedule/raw/*399_ascend_ms run
echo mine >trace.json
mindprof export run --to chrome -o trace.json
cat trace.json
mindprof export run --to chrome -o trace.json --overwrite
mindprof check trace.json
mindprof export run --to chrome -o trace.json
