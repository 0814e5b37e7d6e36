#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""op_statistic.csv and kernel_details.csv where the original has none. Of device runs whose op_statistic is taken away: the
rows computed from op_summary are those that the device tool exported. Of CPU runs: counts and totals by operator type are
those of cpu_op_type_info and cpu_op_detail_info, which MindSpore wrote itself.

Argument: the build folder. The data is read from ../shared/data/golden-current; absent: exit 77, skipped.
"""
import collections
import csv
import decimal
import glob
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from current_test import GOLDEN, run_cases, unpacked  # noqa: E402


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def ns(text):
    return int((decimal.Decimal(text.strip()) * 1000).to_integral_value())


def near(a, b, slack):
    return abs(a - b) <= slack


def check_device(computed, exported, case):
    """Totals agree to a ns per row; the mean is printed with three decimals."""
    wanted = {(row["OP Type"], row["Core Type"]): row for row in exported}
    found = {(row["OP Type"], row["Core Type"]): row for row in computed}
    assert found.keys() == wanted.keys(), f"{case}: {found.keys() ^ wanted.keys()}"
    for key, row in found.items():
        count = int(row["Count"])
        assert count == int(wanted[key]["Count"]), f"{case}: {key} {row} {wanted[key]}"
        for column, slack in (("Total Time(us)", count), ("Min Time(us)", 1), ("Max Time(us)", 1), ("Avg Time(us)", 2)):
            assert near(ns(row[column]), ns(wanted[key][column]), slack), f"{case}: {key} {column}: {row} {wanted[key]}"
        assert near(float(row["Ratio(%)"]), float(wanted[key]["Ratio(%)"]), 0.002), f"{case}: {key}: {row} {wanted[key]}"


def check_cpu(results, framework, case):
    types, details = collections.Counter(), collections.Counter()
    counts = collections.Counter()
    for path in glob.glob(os.path.join(framework, "cpu_op_detail_info_*.csv")):
        for row in rows_of(path):
            types[row["op_type"]] += int(row["op_occurrences"])
            details[row["full_op_name"]] += float(row["op_total_time(ms)"]) * 1e6
            counts[row["full_op_name"]] += int(row["op_occurrences"])
    statistic = {row["OP Type"]: row for row in rows_of(os.path.join(results, "op_statistic.csv"))}
    assert {key: int(row["Count"]) for key, row in statistic.items()} == types, f"{case}: counts of types"
    totals, found = collections.Counter(), collections.Counter()
    for row in rows_of(os.path.join(results, "kernel_details.csv")):
        assert row["Accelerator Core"] == "CPU"
        totals[row["Name"]] += ns(row["Duration(us)"])
        found[row["Name"]] += 1
    assert found == counts, f"{case}: executions of operators"
    for name, total in totals.items():  # MindSpore prints six digits
        assert near(total, details[name], 1e-5 * total + 1000), f"{case}: {name}: {total} ns instead of {details[name]}"
    return len(found)


def check_case(mindprof, case, scratch):
    raw = unpacked(os.path.join(GOLDEN, case, "raw"), os.path.join(scratch, "raw"))
    exported = {}
    for path in glob.glob(os.path.join(raw, "*", "PROF_*", "mindstudio_profiler_output", "op_statistic_*.csv")):
        exported[os.path.relpath(path, raw).split(os.sep)[0]] = rows_of(path)
        os.unlink(path)
    out = os.path.join(scratch, "out")
    run = subprocess.run([mindprof, "analyze", "--out", out, raw], capture_output=True, text=True)
    assert run.returncode in (0, 3), f"exit code {run.returncode}: {run.stderr}"
    checked = 0
    for rank in os.listdir(raw):
        results = os.path.join(out, rank, "ASCEND_PROFILER_OUTPUT")
        if rank in exported:
            check_device(rows_of(os.path.join(results, "op_statistic.csv")), exported[rank], case)
            checked += 1
        elif not glob.glob(os.path.join(raw, rank, "PROF_*")) and glob.glob(
                os.path.join(raw, rank, "FRAMEWORK", "cpu_op_detail_info_*.csv")):
            checked += check_cpu(results, os.path.join(raw, rank, "FRAMEWORK"), case) > 0
    return checked


if __name__ == "__main__":
    sys.exit(run_cases(check_case, "directories hold", [GOLDEN]))
