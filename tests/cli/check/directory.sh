# outputs are checked; a JSON file that is no trace is named and left out
mkdir -p data/run/ASCEND_PROFILER_OUTPUT data/run/FRAMEWORK
echo '{"a": 1}' >data/run/ASCEND_PROFILER_OUTPUT/communication.json
echo '[]' >data/run/ASCEND_PROFILER_OUTPUT/trace_view.json
printf 'a,b\n1,2\n' >data/run/ASCEND_PROFILER_OUTPUT/x.csv
printf 'a,b\n1\n' >data/run/FRAMEWORK/raw.csv
mindprof check data
