# the same order and files whatever the number of threads; two at a time in little memory
mkdir data
for run in "$DATA"/cpu/cpu-graph-schedule/raw/*_ascend_ms; do
	for i in 1 2 3 4; do
		cp -r "$run" "data/$i$(basename "$run")"
	done
done
mkdir "data/5broken_ascend_ms" "data/5broken_ascend_ms/FRAMEWORK"
echo x >data/5broken_ascend_ms/FRAMEWORK/mindspore.op_range
for options in "--jobs 1" "--jobs 7" "--jobs 2 --memory 1"; do
	mindprof analyze $options --again data >"text $options" 2>"errors $options"
	echo $?
	mindprof analyze $options --again --json data >"json $options" 2>/dev/null
	cmp "text --jobs 1" "text $options"
	cmp "errors --jobs 1" "errors $options"
	cmp "json --jobs 1" "json $options"
done
grep -c . "text --jobs 1"
grep -o '"status": "success"' "json --jobs 1" | wc -l
cat "errors --jobs 1"
