# a trace that was exported is read as the same ranges
cp -r "$DATA"/cpu/cpu-graph-schedule/raw/*399_ascend_ms run
mindprof export run --to chrome -o trace.json
for from in run trace.json; do
	mindprof export $from --to csv --table operators | cut -d, -f1,3,4 | sort >"$from.csv"
done
diff run.csv trace.json.csv && wc -l <run.csv
