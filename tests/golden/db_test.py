#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The databases of every golden-current case, opened with Python's sqlite3: whole, every id resolves, and rows and sums
are those of the exported text that they were made from, read here with csv and json.

Argument: the build folder. The data is read from ../shared/data/golden-current; absent: exit 77, skipped.
"""
import collections
import csv
import decimal
import glob
import json
import os
import shutil
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
from current_test import GOLDEN, run_cases, unpacked  # noqa: E402

COMMUNICATION = ("COMMUNICATION", "HCCL")  # task types of rows that are no tasks
COLUMNS_WITH_STRINGS = {
    "TASK": ["taskType"],
    "COMPUTE_TASK_INFO": ["name", "taskType", "opType", "inputFormats", "inputDataTypes", "inputShapes", "outputFormats",
                          "outputDataTypes", "outputShapes", "opState", "hf32Eligible"],
    "CANN_API": ["name"],
    "COMMUNICATION_OP": ["opName", "groupName", "algType", "opType"],
    "COMMUNICATION_TASK_INFO": ["name", "taskType"],
    "NPU_MEM": ["type"],
    "HBM": ["type"],
}


def ns(text):
    """Microseconds, to the ns."""
    return int((decimal.Decimal(text.strip()) * 1000).to_integral_value())


def number(text, otherwise=4294967295):
    return int(text) if text.isdigit() else otherwise


def rows_of(exported, pattern):
    for path in sorted(glob.glob(os.path.join(exported, pattern))):
        with open(path, newline="", encoding="utf-8") as file:
            yield from csv.DictReader(file)


def events_of(exported):
    """(layer, thread name, event) of the ranges in msprof json."""
    events = []
    for pattern in ("msprof_[0-9]*.json", "msprof_slice_*.json"):
        for path in sorted(glob.glob(os.path.join(exported, pattern))):
            with open(path, encoding="utf-8") as file:
                events += json.load(file)
    layers = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    return [(layers.get(e["pid"]), threads.get((e["pid"], e["tid"]), ""), e) for e in events if e["ph"] == "X"]


def tables_of(db):
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def check_strings(db, tables):
    for table in tables & COLUMNS_WITH_STRINGS.keys():
        for column in COLUMNS_WITH_STRINGS[table]:
            (lost,) = db.execute(f"SELECT count(*) FROM {table} WHERE {column} NOT IN (SELECT id FROM STRING_IDS)").fetchone()
            assert lost == 0, f"{lost} ids of {table}.{column} are no strings"
    (doubles,) = db.execute("SELECT count(*) - count(DISTINCT value) FROM STRING_IDS").fetchone()
    assert doubles == 0, f"{doubles} strings came twice"


def check_kernels(db, tables, exported):
    wanted, ends = collections.Counter(), {}
    for row in rows_of(exported, "op_summary_*.csv"):
        if row["Task Type"] in COMMUNICATION:
            continue
        begin = ns(row["Task Start Time(us)"])
        stream, task = number(row["Stream ID"]), number(row["Task ID"])
        ends[begin, stream, task] = begin + ns(row["Task Duration(us)"])
        blocks = row.get("Block Num", row.get("Block Dim", "0"))
        wanted[row["Op Name"], row["OP Type"], row["Task Type"], begin, stream, task,
               number(blocks, 0), row.get("Input Shapes", "N/A")] += 1
    if "COMPUTE_TASK_INFO" not in tables:
        assert not wanted, "COMPUTE_TASK_INFO is missing"
        return 0
    found = collections.Counter(db.execute(
        """SELECT n.value, o.value, t.value, TASK.startNs, TASK.streamId, TASK.taskId, c.blockNum, s.value
           FROM COMPUTE_TASK_INFO c JOIN TASK USING (globalTaskId) JOIN STRING_IDS n ON n.id = c.name
           JOIN STRING_IDS o ON o.id = c.opType JOIN STRING_IDS t ON t.id = c.taskType
           JOIN STRING_IDS s ON s.id = c.inputShapes"""))
    assert found == wanted, f"kernels differ: {list((found - wanted).items())[:2]} for {list((wanted - found).items())[:2]}"
    # the device tool cuts begin, end and duration to ns one by one
    for begin, end, stream, task in db.execute("SELECT startNs, endNs, streamId, taskId FROM TASK"):
        assert abs(ends.get((begin, stream, task), end) - end) <= 1, f"task {stream}/{task} at {begin} ends at {end}"
    return sum(found.values())


def check_events(db, tables, events):
    levels = {"acl": 20000, "model": 15000, "node": 10000, "communication": 5500, "hccl": 5500, "runtime": 5000}
    apis, ops, planes, overlaps = (collections.Counter() for _ in range(4))
    overlap_types = {"Computing": 0, "Communication": 1, "Communication(Not Overlapped)": 2, "Free": 3}
    for layer, thread, e in events:
        begin = ns(str(e["ts"]))
        end = begin + ns(repr(e["dur"]))
        args = e.get("args", {})
        if layer == "CANN":
            apis[e["name"].split("@", 1)[1], levels[args["level"]], begin, end, args["connection_id"],
                 (e["pid"] >> 10) << 32 | e["tid"]] += 1
        elif layer in ("HCCL", "Communication") and thread.startswith("Plane"):
            planes[e["name"], begin, int(thread.split()[1]), args.get("src rank"), args.get("dst rank"),
                   args.get("size(Byte)", 0)] += 1
        elif layer in ("HCCL", "Communication"):
            ops[e["name"], begin, end, args.get("connection_id"), args.get("count", 0), args.get("alg_type", "N/A")] += 1
        elif layer == "Overlap Analysis" and thread in overlap_types:
            overlaps[overlap_types[thread], begin, end] += 1
    checks = {
        "CANN_API": (apis, """SELECT value, type, startNs, endNs, connectionId, globalTid FROM CANN_API
                              JOIN STRING_IDS s ON s.id = name"""),
        "COMMUNICATION_OP": (ops, """SELECT n.value, startNs, endNs, connectionId, count, a.value FROM COMMUNICATION_OP
                                     JOIN STRING_IDS n ON n.id = opName JOIN STRING_IDS a ON a.id = algType"""),
        "COMMUNICATION_TASK_INFO": (planes, """SELECT value, startNs, planeId, srcRank, dstRank, size
                                               FROM COMMUNICATION_TASK_INFO JOIN STRING_IDS s ON s.id = name
                                               JOIN TASK USING (globalTaskId)"""),
        "OVERLAP_ANALYSIS": (overlaps, "SELECT type, startNs, endNs FROM OVERLAP_ANALYSIS"),
    }
    for table, (wanted, query) in checks.items():
        if table not in tables:
            assert not wanted, f"{table} is missing"
            continue
        found = collections.Counter(db.execute(query))
        assert found == wanted, f"{table} differs: {list((found - wanted).items())[:2]} for {list((wanted - found).items())[:2]}"


def check_memory(db, tables, exported):
    wanted = collections.Counter((row["event"], int(float(row["ddr(KB)"]) * 1024), int(float(row["hbm(KB)"]) * 1024),
                                  ns(row["timestamp(us)"])) for row in rows_of(exported, "npu_mem_[0-9]*.csv"))
    found = collections.Counter(db.execute("SELECT value, ddr, hbm, timestampNs FROM NPU_MEM JOIN STRING_IDS s ON s.id = type")
                                if "NPU_MEM" in tables else ())
    assert found == wanted, "NPU_MEM differs"
    wanted = collections.Counter((row["Component"], int(float(row["Total Reserved(KB)"]) * 1024 if "Total Reserved(KB)" in row
                                                        else float(row["Total Reserved(MB)"]) * 2**20), ns(row["Timestamp(us)"]))
                                 for row in rows_of(exported, "npu_module_mem_[0-9]*.csv"))
    found = collections.Counter(db.execute("SELECT e.name, totalReserved, timestampNs FROM NPU_MODULE_MEM "
                                           "LEFT JOIN ENUM_MODULE e ON e.id = moduleId") if "NPU_MODULE_MEM" in tables else ())
    assert found == wanted, f"NPU_MODULE_MEM differs: {found - wanted} for {wanted - found}"


def check_analyzer(path, prof):
    with open(os.path.join(prof, "analyze", "communication.json"), encoding="utf-8") as file:
        ops = {k: v for k, v in json.load(file).items() if not k.startswith("Total")}
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    wanted = {tuple(k.rsplit("@", 1)) + (v["Communication Time Info"]["Elapse Time(ms)"],) for k, v in ops.items()}
    assert set(db.execute("SELECT hccl_op_name, group_name, elapse_time FROM CommAnalyzerTime")) == wanted
    wanted = sum(max(1, len(t["Size Distribution"])) for v in ops.values()
                 for t in v["Communication Bandwidth Info"].values())
    assert db.execute("SELECT count(*) FROM CommAnalyzerBandwidth").fetchone() == (wanted,)
    path = os.path.join(prof, "analyze", "communication_matrix.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            links = sum(len(v) for k, v in json.load(file).items() if not k.startswith("Total"))
        assert db.execute("SELECT count(*) FROM CommAnalyzerMatrix").fetchone() == (links,)


def columns_of(db):
    return {table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")] for table in tables_of(db)}


def check_schema(db):
    """Names of columns are those that the device tool itself wrote on real hardware."""
    sample = os.path.join(os.path.dirname(GOLDEN), "samples", "ascend-db", "msinsight-db-level1", "rank0_ascend_pt",
                          "ASCEND_PROFILER_OUTPUT", "ascend_pytorch_profiler_0.db")
    real = columns_of(sqlite3.connect(f"file:{sample}?immutable=1", uri=True))
    added_by_viewers = {"waitNs", "depth"}
    renamed = {"blockDim": "blockNum", "mixBlockDim": "mixBlockNum"}  # schema 1.2.0
    for table, columns in columns_of(db).items():
        wanted = [renamed.get(column, column) for column in real.get(table, ()) if column not in added_by_viewers]
        assert [column for column in columns if column in wanted] == wanted, f"{table}: {columns} instead of {wanted}"


def check_rank(rank, out):
    (prof,) = glob.glob(os.path.join(rank, "PROF_*"))
    exported = os.path.join(prof, "mindstudio_profiler_output")
    (path,) = glob.glob(os.path.join(out, "ascend_mindspore_profiler_*.db"))
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    tables = tables_of(db)
    check_schema(db)
    check_strings(db, tables)
    kernels = check_kernels(db, tables, exported)
    details = os.path.join(out, "kernel_details.csv")
    if os.path.exists(details):
        with open(details, newline="", encoding="utf-8") as file:
            rows = sum(row["Accelerator Core"] not in COMMUNICATION for row in csv.DictReader(file))
        assert rows == kernels, f"{kernels} rows of COMPUTE_TASK_INFO, {rows} kernels in kernel_details.csv"
    check_events(db, tables, events_of(exported))
    check_memory(db, tables, exported)
    if os.path.exists(os.path.join(prof, "analyze", "communication.json")):
        check_analyzer(os.path.join(out, "communication_analyzer.db"), prof)
    # a finished one is taken as it is
    shutil.copy(path, os.path.join(prof, "msprof_20250705072100000.db"))


def check_case(mindprof, case, scratch):
    raw = unpacked(os.path.join(GOLDEN, case, "raw"), os.path.join(scratch, "raw"))
    ranks = [rank for rank in glob.glob(os.path.join(raw, "*")) if glob.glob(os.path.join(rank, "PROF_*"))]
    out = os.path.join(scratch, "out")
    for attempt in ("made", "copied"):
        shutil.rmtree(out, ignore_errors=True)
        run = subprocess.run([mindprof, "analyze", "--export", "text,db", "--out", out, raw], capture_output=True, text=True)
        assert run.returncode in (0, 3), f"exit code {run.returncode}: {run.stderr}"
        for rank in ranks:
            results = os.path.join(out, os.path.basename(rank), "ASCEND_PROFILER_OUTPUT")
            if attempt == "made":
                check_rank(rank, results)
            else:
                (path,) = glob.glob(os.path.join(results, "ascend_mindspore_profiler_*.db"))
                (finished,) = glob.glob(os.path.join(rank, "PROF_*", "msprof_*.db"))
                with open(path, "rb") as a, open(finished, "rb") as b:
                    assert a.read() == b.read(), "the finished database was changed"
    if not ranks:
        assert not glob.glob(os.path.join(out, "*", "*", "*.db")), "a database of no device"
    return len(ranks)


if __name__ == "__main__":
    sys.exit(run_cases(check_case, "databases hold", [GOLDEN]))
