cp -r "$DATA"/cpu/cpu-graph-schedule/raw/*399_ascend_ms run
mindprof export run --to chrome -o trace.json
mindprof check trace.json
mindprof export run --to chrome | cmp - trace.json
