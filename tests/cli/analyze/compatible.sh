# the byte forms of the original: a bare array, times as text
cp -r "$DATA"/cpu/cpu-graph-schedule/raw/*399_ascend_ms run
mindprof analyze run --flavour compatible >/dev/null
python3 - <<'PY'
import json
events = json.load(open("run/ASCEND_PROFILER_OUTPUT/trace_view.json"))
slices = [event for event in events if event["ph"] == "X"]
print(type(events).__name__, len(slices), {type(event["ts"]).__name__ for event in slices})
PY
