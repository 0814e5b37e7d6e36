cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
chmod -R a-w data
mindprof analyze data/*399_ascend_ms --out results/deep --jobs 1 --pretty
find data -name ASCEND_PROFILER_OUTPUT
head -3 results/deep/*/ASCEND_PROFILER_OUTPUT/.mindprof.json
chmod -R u+w data
