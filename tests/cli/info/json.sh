cp -r "$DATA/cpu/cpu-graph-schedule/raw" data
mindprof info data --json >out.json
python3 - <<'PY'
import json
runs = json.load(open("out.json"))["runs"]
for run in runs:
    tables = {table["name"]: table["rows"] for table in run["tables"]}
    facts = {row["key"]: row["value"] for row in tables["facts"]}
    print(run["path"], run["incomplete"], facts["events"], [row["state"] for row in tables["sources"]], tables["notes"])
PY
