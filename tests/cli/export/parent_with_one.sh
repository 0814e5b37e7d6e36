mkdir data
cp -r "$DATA"/cpu/cpu-graph-schedule/raw/*399_ascend_ms data
mindprof export data --to csv --table notes
