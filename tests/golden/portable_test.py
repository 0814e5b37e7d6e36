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

sys.dont_write_bytecode = True
from current_test import GOLDEN, ROOT, run_cases, unpacked  # noqa: E402

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


if __name__ == "__main__":
    sys.exit(run_cases(check_case, "traces pass", [GOLDEN]))
