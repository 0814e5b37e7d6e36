#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Directories that hold the device tool's database and not its text.

A database of real hardware (samples/ascend-db): the times of the step are those that the framework's own analysis wrote
beside it. Every golden-current case with a device: its text is turned into a database (db_test.py checks that against
the text with csv and json), the text is taken away, and what the database can hold comes out as from the text.

Argument: the build folder. The data is read from ../shared/data; absent: exit 77, skipped.
"""
import collections
import csv
import glob
import json
import os
import shutil
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
from current_test import GOLDEN, run_cases, unpacked  # noqa: E402

SAMPLE = os.path.join(os.path.dirname(GOLDEN), "samples", "ascend-db", "msinsight-db-level1")
NO_METRICS = ("aic_", "aiv_", "aicore_", "cube_utilization", "Mix Block", "Block ", "HF32", "Context", "Model ID", "OP State")
WAIT = "Wait Time(us)"  # of the kernel before, which the device tool takes from other tasks, too


def analyse(mindprof, source, out):
    run = subprocess.run([mindprof, "analyze", "--out", out, source], capture_output=True, text=True)
    assert run.returncode in (0, 3), f"exit code {run.returncode}: {run.stderr}"


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_sample(mindprof, scratch):
    """Values in us, as the framework's own analysis has them in analysis.db."""
    columns = {"Computing": "computing", "Communication(Not Overlapped)": "communication_not_overlapped",
               "Overlapped": "overlapped", "Communication": "communication", "Free": "free"}
    checked = 0
    for rank in sorted(glob.glob(os.path.join(SAMPLE, "rank*"))):
        copy, out = os.path.join(scratch, os.path.basename(rank)), os.path.join(scratch, "out")
        shutil.copytree(rank, copy)
        analyse(mindprof, copy, out)
        results = os.path.join(rank, "ASCEND_PROFILER_OUTPUT")
        (row,) = rows_of(os.path.join(out, os.path.basename(rank), "ASCEND_PROFILER_OUTPUT", "step_trace_time.csv"))
        db = sqlite3.connect(f"file:{os.path.join(results, 'analysis.db')}?immutable=1", uri=True)
        wanted = db.execute(f"SELECT {', '.join(columns.values())} FROM StepTraceTime").fetchone()
        (path,) = glob.glob(os.path.join(results, "ascend_pytorch_profiler_*.db"))
        db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        has_free = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'OVERLAP_ANALYSIS'").fetchone() == (1,)
        for title, value in zip(columns, wanted):
            if title == "Free" and not has_free:
                continue  # computed: the device tool counts it from the first task, the framework from the first kernel
            assert abs(float(row[title]) - value) < 0.0015, f"{rank}: {title} is {row[title]} instead of {value}"
        kernels = rows_of(os.path.join(out, os.path.basename(rank), "ASCEND_PROFILER_OUTPUT", "kernel_details.csv"))
        (tasks,) = db.execute("SELECT count(*) FROM COMPUTE_TASK_INFO").fetchone()
        (ops,) = db.execute("SELECT count(*) FROM COMMUNICATION_OP").fetchone()
        assert len(kernels) == tasks + ops
        checked += 1
    return checked


def without_metrics(path):
    return [{key: value.strip() for key, value in row.items() if not key.startswith(NO_METRICS) and key != WAIT}
            for row in rows_of(path)]


def tasks_of(path):
    """Name, begin and length of what the device did, by layer."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)
    layers = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    found = collections.Counter()
    for e in events:
        if e["ph"] == "X" and layers.get(e["pid"]) in ("CANN", "Overlap Analysis"):
            found[layers[e["pid"]], e["name"], e["ts"], round(float(e["dur"]) * 1000)] += 1
    flows = collections.Counter(e["name"] for e in events if e.get("cat") == "async_npu")
    return found, flows


def compare(text, db, case):
    """The files that both have: equal, but for the columns and layers that the database does not hold."""
    for name in ("step_trace_time.csv", "npu_module_mem.csv", "communication.json", "operator_memory.csv", "dataset.csv"):
        a, b = os.path.join(text, name), os.path.join(db, name)
        if os.path.exists(a):
            with open(a, "rb") as x, open(b, "rb") as y:
                assert x.read() == y.read(), f"{case}: {name} differs"
    for name in ("kernel_details.csv",):
        if os.path.exists(os.path.join(text, name)):
            a, b = (without_metrics(os.path.join(folder, name)) for folder in (text, db))
            for row in a + b:  # HCCL before CANN 8; the database says COMMUNICATION
                row["Accelerator Core"] = row["Accelerator Core"].replace("HCCL", "COMMUNICATION")
            def key(row):
                return row["Start Time(us)"], row["Name"], row["Stream ID"]
            shared = [{k: v for k, v in row.items() if row["Accelerator Core"] != "COMMUNICATION" or k in
                       ("Step ID", "Name", "Start Time(us)", "Duration(us)")} for row in sorted(a, key=key)]
            found = [{k: row[k] for k in other} for row, other in zip(sorted(b, key=key), shared)]
            assert len(a) == len(b) and found == shared, f"{case}: {name}: " + str(
                [(x, y) for x, y in zip(found, shared) if x != y][:1] or (len(a), len(b)))
    a, b = (tasks_of(os.path.join(folder, "trace_view.json")) for folder in (text, db))
    assert a[0] == b[0], f"{case}: {list((a[0] - b[0]).items())[:2]} became {list((b[0] - a[0]).items())[:2]}"
    assert a[1] == b[1], f"{case}: {a[1]} links to launches became {b[1]}"


def check_case(mindprof, case, scratch):
    if case == "real-cann-training":  # its json and csv differ by a ns here and there, so no database can be both
        return check_sample(mindprof, scratch)
    if case == "real-cann-minimal":  # pieces of several exports that do not belong together
        return 0
    raw = unpacked(os.path.join(GOLDEN, case, "raw"), os.path.join(scratch, "raw"))
    ranks = [rank for rank in glob.glob(os.path.join(raw, "*")) if glob.glob(os.path.join(rank, "PROF_*"))]
    checked = 0
    for rank in ranks:
        text, db = os.path.join(scratch, "text"), os.path.join(scratch, "db")
        name = os.path.basename(rank)
        subprocess.run([mindprof, "analyze", "--export", "text,db", "--out", text, rank], capture_output=True)
        (prof,) = glob.glob(os.path.join(rank, "PROF_*"))
        (made,) = glob.glob(os.path.join(text, name, "ASCEND_PROFILER_OUTPUT", "ascend_mindspore_profiler_*.db"))
        shutil.copy(made, os.path.join(prof, "msprof_20250705.db"))
        shutil.rmtree(os.path.join(prof, "mindstudio_profiler_output"))
        analyse(mindprof, rank, db)
        compare(*(os.path.join(folder, name, "ASCEND_PROFILER_OUTPUT") for folder in (text, db)), case)
        checked += 1
    return checked


if __name__ == "__main__":
    sys.exit(run_cases(check_case, "databases read", [GOLDEN, SAMPLE]))
