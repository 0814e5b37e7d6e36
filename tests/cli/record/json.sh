. "$SOURCE/tests/cli/record/setup"
mindprof record --json ./tiny >out.json
python3 - <<'PY'
import json, os
result = json.load(open("out.json"))
print(result["status"], len(result["recordings"]), [os.path.isdir(run["path"]) for run in result["recordings"]])
PY
