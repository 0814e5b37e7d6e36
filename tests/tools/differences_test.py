#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every named correction of src/current/cur_corrections.c is in the manual page and, with the same texts, in
docs/differences.md; its name is in docs/cli/analyze.md. Argument: the build folder."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENTRY = re.compile(r"\[CUR_FIX_(\w+)\]\s*=\s*\{\s*\"([\w-]+)\"")
PAGE_ENTRY = re.compile(r"^\\fB([\w-]+)\\fR\nMindSpore: (.*)\. MindProf: (.*)\. Shows in: (.*)\.$", re.M)


def read(*path):
    with open(os.path.join(ROOT, *path)) as file:
        return file.read()


def main():
    entries = ENTRY.findall(read("src", "current", "cur_corrections.c"))
    listed = re.findall(r"^\tCUR_FIX_(\w+),", read("src", "current", "cur_corrections.h"), re.M)
    assert [e[0] for e in entries] == listed, set(listed) ^ {e[0] for e in entries}
    names = [name for _, name in entries]
    section = read("docs", "cli", "analyze.md").split("\n## Corrections\n")[1].split("\n## ")[0]
    assert re.findall(r"`([\w-]+)`[,.]", section) == names, "docs/cli/analyze.md lists other corrections"
    page = subprocess.run([os.path.join(sys.argv[1], "bin", "mindprof"), "help", "--man", "analyze"],
                          check=True, capture_output=True, text=True).stdout
    page = page.split("\n.SH CORRECTIONS\n")[1].split("\n.SH ")[0].replace("\\-", "-")
    texts = PAGE_ENTRY.findall(page)
    assert [text[0] for text in texts] == names, "the manual page lists other corrections"
    table = read("docs", "differences.md").split("\n## Named corrections\n")[1].split("\n## ")[0]
    rows = [tuple(row) for row in re.findall(r"^\| `([\w-]+)` \| (.*) \| (.*) \| (.*) \|$", table, re.M)]
    assert rows == texts, f"docs/differences.md: {set(rows) ^ set(texts)}"
    print(f"{len(entries)} corrections, in docs/differences.md, docs/cli/analyze.md and the manual page")


if __name__ == "__main__":
    sys.exit(main())
