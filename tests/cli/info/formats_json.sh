mindprof info --formats --json | python3 -c '
import json, sys
lists = json.load(sys.stdin)
print({key: [item["name"] for item in value] for key, value in lists.items()})'
