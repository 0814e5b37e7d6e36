# finished results are no recording; with the parameters beside them neither
mkdir -p sent/ASCEND_PROFILER_OUTPUT with_info/ASCEND_PROFILER_OUTPUT
echo '[]' | tee sent/ASCEND_PROFILER_OUTPUT/trace_view.json > with_info/ASCEND_PROFILER_OUTPUT/trace_view.json
echo '{"ms_version": "2.7.0"}' > with_info/profiler_info_0.json
mindprof analyze sent
echo $?
mindprof analyze --out out with_info
echo $?
mindprof report with_info > /dev/null
echo $?
ls
