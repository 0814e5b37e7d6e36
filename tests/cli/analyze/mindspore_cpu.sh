cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
mindprof analyze data
cat data/*399_ascend_ms/ASCEND_PROFILER_OUTPUT/operator_types.csv
mindprof check data >check.txt || cat check.txt
