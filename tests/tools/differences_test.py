#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every named correction of src/current/cur_corrections.c has a row in docs/differences.md, with the same texts."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENTRY = re.compile(r"\[CUR_FIX_(\w+)\]\s*=\s*\{\s*\"([\w-]+)\"")


def main():
    with open(os.path.join(ROOT, "src", "current", "cur_corrections.c")) as file:
        entries = ENTRY.findall(file.read())
    with open(os.path.join(ROOT, "src", "current", "cur_corrections.h")) as file:
        listed = [n for n in re.findall(r"^\tCUR_FIX_(\w+),", file.read(), re.M)]
    with open(os.path.join(ROOT, "docs", "differences.md")) as file:
        rows = re.findall(r"^\| `([\w-]+)` \|", file.read(), re.M)
    assert [e[0] for e in entries] == listed, set(listed) ^ {e[0] for e in entries}
    missing = [name for _, name in entries if name not in rows]
    assert not missing, f"docs/differences.md has no row for {missing}"
    print(f"{len(entries)} corrections, all in docs/differences.md")


if __name__ == "__main__":
    sys.exit(main())
