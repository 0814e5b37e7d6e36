cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
mindprof report data --json >out.json
python3 - <<'PY'
import json
for run in json.load(open("out.json"))["runs"]:
    print(run["path"], run["incomplete"], run["findings"])
    for table in run["tables"]:
        print(" ", table["name"], len(table["rows"]), [column["key"] for column in table["columns"]])
PY
