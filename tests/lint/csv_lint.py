#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strict check of the CSV files that we write, independent of the C code.

Usage: csv_lint.py FILE...        (exit 1 when any file has a fault)

The dialect of analysis-current.md section 2.2: comma, CRLF behind every row, quotes only where a field needs
them, no empty line; UTF-8 without NUL; a header whose titles differ, and rows as long as it. A file is also
written again with Python's csv module and must come out byte for byte.
"""
import csv
import io
import sys

SHOWN = 10

csv.field_size_limit(1 << 30)


def faults_of(data):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return [f"byte {error.start}: not UTF-8"]
    if "\0" in text:
        return [f"character {text.index(chr(0))}: NUL"]
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        return [f"not CSV: {error}"]
    if not rows or not rows[0]:
        return ["no header"]
    header = rows[0]
    faults = [f"title {title!r} occurs twice" for title in sorted(set(header)) if header.count(title) > 1]
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            faults.append(f"row {number}: {len(row)} fields where the header has {len(header)}")
    again = io.StringIO(newline="")
    csv.writer(again, lineterminator="\r\n").writerows(rows)
    if not faults and again.getvalue() != text:
        at = next((i for i, pair in enumerate(zip(text, again.getvalue())) if pair[0] != pair[1]),
                  min(len(text), len(again.getvalue())))
        faults.append(f"character {at}: not in the dialect: {text[at:at + 20]!r} should be "
                      f"{again.getvalue()[at:at + 20]!r}")
    return faults


def main(paths):
    if not paths or paths[0].startswith("-"):
        print(__doc__)
        return 2
    status = 0
    for path in paths:
        with open(path, "rb") as file:
            faults = faults_of(file.read())
        for fault in faults[:SHOWN]:
            print(f"{path}: {fault}")
        if len(faults) > SHOWN:
            print(f"{path}: {len(faults) - SHOWN} more faults")
        status |= bool(faults)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
