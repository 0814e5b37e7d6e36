#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The portable trace of every golden-current case passes the independent checker of traces (tests/lint/trace_lint.py:
strictly valid, no partial overlap, flows bound) and `mindprof check`.

Argument: the build folder. The data is read from ../shared/data/golden-current; absent: exit 77, skipped.
"""
import glob
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from current_test import GOLDEN, ROOT, unpacked  # noqa: E402

LINT = os.path.join(ROOT, "tests", "lint", "trace_lint.py")


def check_case(mindprof, case, scratch):
    raw = unpacked(os.path.join(GOLDEN, case, "raw"), os.path.join(scratch, "raw"))
    out = os.path.join(scratch, "out")
    run = subprocess.run([mindprof, "analyze", "--flavour", "portable", "--out", out, raw], capture_output=True, text=True)
    assert run.returncode in (0, 3), f"exit code {run.returncode}: {run.stderr}"
    traces = glob.glob(os.path.join(out, "*", "ASCEND_PROFILER_OUTPUT", "trace_view.json"))
    ranks = len(os.listdir(raw))
    assert len(traces) == ranks, f"{len(traces)} traces of {ranks} rank directories"
    for command in ([sys.executable, LINT], [mindprof, "check"]):
        run = subprocess.run(command + traces, capture_output=True, text=True)
        assert run.returncode == 0, f"{os.path.basename(command[-1])}:\n{(run.stdout + run.stderr)[:3000]}"
    return len(traces)


def main():
    mindprof = os.path.join(os.path.abspath(sys.argv[1]), "bin", "mindprof")
    if not os.path.isdir(GOLDEN):
        print(f"SKIPPED: {GOLDEN} is not there")
        return 77
    cases = [c for c in sorted(os.listdir(GOLDEN)) if os.path.isdir(os.path.join(GOLDEN, c, "expected"))]
    failures = []
    for case in cases:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                print(f"{case}: {check_case(mindprof, case, scratch)} traces pass", flush=True)
            except AssertionError as failure:
                failures.append(case)
                print(f"FAILED {case}: {failure}", flush=True)
    print(f"{len(cases)} cases, {len(failures)} failed {failures or ''}")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
