. "$SOURCE/tests/cli/record/setup"
mindprof record --output here/there --worker me --mode ring --memory 1M -- ./tiny >/dev/null
ls here/there | sed 's/[0-9]\+/N/g'
mindprof info here/there --json | python3 -c '
import json, sys
for table in json.load(sys.stdin)["runs"][0]["tables"]:
    for row in table["rows"]:
        if row.get("key") in ("mode", "memory_bytes", "worker"):
            print(row["key"], row["value"])'
