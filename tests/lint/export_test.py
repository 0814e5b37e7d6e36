#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chrome traces of other tools through `mindprof export`: what comes out is a clean trace with every event.

Counts what stands in each input with Python's json, exports it as portable trace, and compares; the output must
pass trace_lint.py and `mindprof check`, and a second export of it must hold the same events. Inputs: tests/data/chrome
and, where they are, the samples of the shared data.

Usage: export_test.py BUILD-FOLDER
"""
import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OWN = HERE.parent / "data" / "chrome"
SHARED = ROOT.parent / "shared" / "data" / "samples"
LARGEST = 300_000  # bytes of a packed input: beyond, Python takes too long
KIND = {"X": "range", "B": "range", "b": "range", "S": "range", "C": "counter"}
KIND.update(dict.fromkeys("iIRnTp", "mark"))


def load(path):
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(data.decode("utf-8", "replace"), strict=False)


def events_of(document):
    events = document["traceEvents"] if isinstance(document, dict) else document
    return [event for event in events if isinstance(event, dict)]


def is_series(value):
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return False
    try:
        return float(value) == float(value)
    except ValueError:
        return False


def count_foreign(document):
    """How many ranges, marks, counter values and steps a reader should find."""
    n = collections.Counter()
    for event in events_of(document):
        phase = str(event.get("ph", ""))[:1]
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        if phase == "M" or "ts" not in event:
            continue
        if phase == "C":
            n["counter"] += sum(is_series(value) for value in args.values())
        elif phase in KIND:
            n[KIND[phase]] += 1
        name = str(event.get("name"))
        if phase == "X" and name.startswith("ProfilerStep#") and event.get("cat") != "gpu_user_annotation":
            n["step"] += 1
        if name == "[memory]" and phase in "iI" and "Total Allocated" in args:
            n["counter"] += 1
    return n


def count_own(document):
    n = collections.Counter()
    for event in events_of(document):
        if event["ph"] == "X":
            n["step" if event["cat"] == "step" else "range"] += 1
        elif event["ph"] in KIND:
            n[KIND[event["ph"]]] += 1
        elif event["ph"] in "stf":
            n["flow"] += 1
    return n


def plain(counter):
    return {key: value for key, value in counter.items() if value}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).strip()


def names_of(document):
    return collections.Counter(e["name"] for e in events_of(document) if e["ph"] == "X" and e["cat"] != "step")


def check(mindprof, path, work):
    """Sentences on what is wrong."""
    first, second = work / "first.json", work / "second.json"
    status, text = run(mindprof, "export", path, "--to", "chrome", "--overwrite", "-o", first)
    if status not in (0, 3):
        return [f"export ends with {status}: {text}"]
    wrong = []
    for command in ((sys.executable, HERE / "trace_lint.py", first), (mindprof, "check", first)):
        status, text = run(*command)
        if status:
            wrong.append(f"{pathlib.Path(command[1]).name} ends with {status}: {text[:2000]}")
    out = load(first)
    found = count_own(out)
    flows = found.pop("flow", 0)
    try:
        wanted = plain(count_foreign(load(path)))
    except json.JSONDecodeError:
        wanted = None  # broken on purpose: no oracle
    if wanted is not None and wanted != plain(found):
        wrong.append(f"{wanted} in the input, {plain(found)} in the export")
    status, text = run(mindprof, "export", first, "--to", "chrome", "--overwrite", "-o", second)
    if status:
        return wrong + [f"export of our own trace ends with {status}: {text}"]
    again = load(second)
    found["flow"] = flows
    if plain(count_own(again)) != plain(found) or names_of(again) != names_of(out):
        wrong.append("a second export differs")
    return wrong


def inputs():
    paths = sorted(path for path in OWN.iterdir() if path.suffix == ".json")
    assert paths, f"no inputs in {OWN}"
    for folder in (SHARED / "chrome-trace", SHARED / "kineto"):
        if not folder.is_dir():
            print(f"*** NOT TESTED: the samples in {folder} are absent ***")
            continue
        paths += sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".gz") and
                        path.stat().st_size <= LARGEST and path.name != "google_cloud_trace.json")
    return paths


def main():
    mindprof = pathlib.Path(sys.argv[1]) / "bin" / "mindprof"
    n_wrong = 0
    paths = inputs()
    with tempfile.TemporaryDirectory() as work:
        for path in paths:
            for sentence in check(mindprof, path, pathlib.Path(work)):
                n_wrong += 1
                print(f"{path}: {sentence}")
    print(f"{len(paths)} traces, {n_wrong} wrong")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
