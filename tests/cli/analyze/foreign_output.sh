# what MindSpore wrote is left alone; the other recording is analysed
cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
mkdir data/host0_7688_20261130205131399_ascend_ms/ASCEND_PROFILER_OUTPUT
echo foreign >data/host0_7688_20261130205131399_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json
mindprof analyze data | wc -l
status=${PIPESTATUS[0]}
ls -A data/host0_7688_20261130205131399_ascend_ms/ASCEND_PROFILER_OUTPUT
cat data/host0_7688_20261130205131399_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json
exit "$status"
