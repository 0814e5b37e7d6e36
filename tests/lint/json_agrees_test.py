#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python's strict json accepts every document of tests/data/json/ok and refuses every one of fail.

The unit test of our own reader takes the same folders as its expectation, so both agree.
"""
import json
import pathlib
import sys


def refuse(word):
    raise ValueError(f"{word} is not JSON")


def strict(data):
    json.loads(data.decode("utf-8"), parse_constant=refuse)


def wrong_documents(folder, valid):
    wrong = []
    paths = sorted(folder.glob("*.json"))
    for path in paths:
        try:
            strict(path.read_bytes())
            accepted = True
        except (ValueError, RecursionError):
            accepted = False
        if accepted != valid:
            wrong.append(path)
    return len(paths), wrong


def main():
    data = pathlib.Path(__file__).resolve().parent.parent / "data" / "json"
    status = 0
    for name, valid in (("ok", True), ("fail", False)):
        n, wrong = wrong_documents(data / name, valid)
        if n < 40:
            print(f"only {n} documents in {name}")
            status = 1
        for path in wrong:
            print(f"{path}: Python says {'invalid' if valid else 'valid'}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
