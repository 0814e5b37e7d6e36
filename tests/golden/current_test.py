#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every case of golden-current with the original's results: `mindprof analyze --as-original` writes the same files with
the same contents (shared/tools/compare-current --ts 0.0005; of scopes every digit) and no other.

Argument: the build folder. Data and the comparison are read from ../shared; absent: exit 77, skipped.
"""
import csv
import glob
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
GOLDEN = os.path.join(SHARED, "data", "golden-current")
COMPARE = os.path.join(SHARED, "tools", "compare-current")


def unpacked(raw, to):
    """A copy of a raw directory in which no file is packed."""
    shutil.copytree(raw, to)
    for path in glob.glob(os.path.join(to, "**", "*.xz"), recursive=True):
        with lzma.open(path) as packed, open(path[: -len(".xz")], "wb") as plain:
            shutil.copyfileobj(packed, plain)
        os.unlink(path)
    return to


SENTENCES = ("cpu_analysis_details", "queue_analysis_details", "bottleneck_suggestion")


def without_sentences(top):
    """Replaces each sentence by the operation that it names first; returns top."""
    for path in glob.glob(os.path.join(top, "*", "ASCEND_PROFILER_OUTPUT", "minddata_pipeline_summary_*")):
        label = re.compile(r"\w+\(id=\d+\)")
        if path.endswith(".json"):
            with open(path) as file:
                content = json.load(file)
            for key in SENTENCES:
                if key in content:
                    content[key] = [label.search(text).group() for text in content[key]]
            text = json.dumps(content)
        else:
            with open(path, newline="") as file:
                rows = list(csv.reader(file))
            rows = [[r[0]] + [label.search(c).group() for c in r[1:]] if r[0] in SENTENCES else r for r in rows]
            text = "".join(",".join('"%s"' % c for c in row) + "\r\n" for row in rows)
        with open(path, "w", newline="") as file:
            file.write(text)
    return top


def output_files(top):
    found = set()
    for path in glob.glob(os.path.join(top, "*", "ASCEND_PROFILER_OUTPUT", "*")):
        found.add(os.path.relpath(path, top).removesuffix(".xz"))
    return found


def scopes(path):
    """The scopes of a trace as texts: their digits are the original's, which the comparison of numbers does not see."""
    with (lzma.open(path) if path.endswith(".xz") else open(path)) as file:
        events = json.load(file)
    return sorted((e["tid"], e["ts"], e["dur"], e["name"]) for e in events if e.get("pid") == 3 and e["ph"] == "X")


def check_scopes(expected, out):
    for path in glob.glob(os.path.join(expected, "*", "ASCEND_PROFILER_OUTPUT", "trace_view.json*")):
        ours = os.path.join(out, os.path.relpath(path, expected).removesuffix(".xz"))
        assert scopes(path) == scopes(ours), f"other digits of scopes in {ours}"


def check_analysis(mindprof, raw, expected, scratch):
    """Analyses raw as the original does and compares with expected; both are copied to scratch."""
    out = os.path.join(scratch, "out")
    run = subprocess.run([mindprof, "analyze", "--as-original", "--out", out, raw], capture_output=True, text=True)
    assert run.returncode in (0, 3), f"exit code {run.returncode}: {run.stderr}"
    for path in glob.glob(os.path.join(out, "*", "ASCEND_PROFILER_OUTPUT", ".mindprof.json")):
        os.unlink(path)
    extra = output_files(out) - output_files(expected)
    assert not extra, f"files that the original does not write: {sorted(extra)}"
    want = without_sentences(shutil.copytree(expected, os.path.join(scratch, "expected")))
    without_sentences(out)
    compare = subprocess.run([COMPARE, "--ts", "0.0005", want, out], capture_output=True, text=True)
    assert compare.returncode == 0, f"\n{compare.stdout}{compare.stderr}"
    check_scopes(expected, out)
    return len(output_files(expected))


def check_case(mindprof, case, scratch):
    raw = unpacked(os.path.join(GOLDEN, case, "raw"), os.path.join(scratch, "raw"))
    return check_analysis(mindprof, raw, os.path.join(GOLDEN, case, "expected"), scratch)


def run_cases(check, unit, needed):
    """Calls check(mindprof, case, scratch folder) for every case that has results of the original; the exit code."""
    mindprof = os.path.join(os.path.abspath(sys.argv[1]), "bin", "mindprof")
    absent = [path for path in needed if not os.path.exists(path)]
    if absent:
        print(f"SKIPPED: {' and '.join(absent)} not there")
        return 77
    cases = [c for c in sorted(os.listdir(GOLDEN)) if os.path.isdir(os.path.join(GOLDEN, c, "expected"))]
    failures = []
    for case in cases:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                print(f"{case}: {check(mindprof, case, scratch)} {unit}", flush=True)
            except AssertionError as failure:
                failures.append(case)
                print(f"FAILED {case}: {failure}", flush=True)
    print(f"{len(cases)} cases, {len(failures)} failed {failures or ''}")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(run_cases(check_case, "files equal", [GOLDEN, COMPARE]))
