# root may write anywhere, so a file stands in the way of the directory
cp -r "$DATA"/cpu/cpu-graph-schedule/raw/*399_ascend_ms run
echo x >run/ASCEND_PROFILER_OUTPUT
mindprof analyze run
