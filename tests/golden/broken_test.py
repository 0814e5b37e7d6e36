#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The inputs of golden-current/broken-inputs.json: one thing in a good rank directory is damaged or changed.

--as-original: the same files are lost and the same files differ from those of the good directory, in as many places,
as with the original (broken-inputs.json has what the original did). Default mode: only what comes from the damaged
input is lost or differs, every other file keeps its bytes; the damage is named; the exit code is 3 where something is
missing or broken, and 0 where the input is only different.

Argument: the build folder. Data and the comparison are read from ../shared; absent: exit 77, skipped.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from current_test import COMPARE, GOLDEN, unpacked  # noqa: E402

INFO = "profiler_info_*.json"
EXPORTED = "PROF_*/mindstudio_profiler_output/"
MSPROF = EXPORTED + "msprof_*.json"
SUMMARY = EXPORTED + "op_summary_*.csv"
RANGES = "FRAMEWORK/mindspore.op_range"
HOST_INFO = "PROF_*/host/info.json"
COMMUNICATION = "PROF_*/analyze/communication.json"

# ---------------------------------------------------------------- damage: each takes the rank directory


def find(top, pattern):
    """The one path that matches."""
    (path,) = glob.glob(os.path.join(top, pattern))
    return path


def remove(pattern):
    def damage(top):
        path = find(top, pattern)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    return damage


def change(pattern, function):
    """Rewrites the bytes of a file."""

    def damage(top):
        path = find(top, pattern)
        with open(path, "rb") as file:
            content = file.read()
        changed = function(content)
        assert changed != content, f"'{pattern}' holds nothing to change"
        with open(path, "wb") as file:
            file.write(changed)

    return damage


def replace(pattern, old, new, count=-1):
    return change(pattern, lambda content: content.replace(old, new, count))


def parameter(name, value):
    def edit(content):
        info = json.loads(content)
        info["profiler_parameters"][name] = value
        return json.dumps(info, indent=4).encode()

    return change(INFO, edit)


def write_slices(path, prefix, contents):
    """Replaces PREFIX_<time> by PREFIX_slice_<n>_<time>."""
    os.unlink(path)
    for number, content in enumerate(contents):
        with open(path.replace(f"/{prefix}_", f"/{prefix}_slice_{number}_"), "wb") as file:
            file.write(content)


def cut_json(top):
    path = find(top, MSPROF)
    with open(path, "rb") as file:
        events = json.load(file)
    middle = len(events) // 2
    write_slices(path, "msprof", [json.dumps(part).encode() for part in (events[:middle], events[middle:])])


def cut_summary(rename):
    def damage(top):
        path = find(top, SUMMARY)
        with open(path, "rb") as file:
            header, *rows = file.read().split(b"\n")
        # as many lines in the first slice, its header included, as in the recorded experiment
        middle = (len(rows) + 1) // 2 - 1
        second = header.replace(b"Block Dim,", b"Block Num,", 1) if rename else header
        write_slices(path, "op_summary", [b"\n".join([header, *rows[:middle]]) + b"\n",
                                          b"\n".join([second, *rows[middle:]])])

    return damage


def second_process(content):
    more = [{"name": "process_name", "pid": 5, "tid": 0, "args": {"name": "CANN"}, "ph": "M"},
            {"name": "other", "pid": 5, "tid": 1, "ts": "1751700000004200.000", "dur": 1.5, "ph": "X", "args": {}}]
    return content.rstrip()[:-1] + b", " + json.dumps(more).encode()[1:]


def second_directory(top):
    path = find(top, "PROF_*")
    shutil.copytree(path, path.replace("PROF_000001", "PROF_000002"))


def nothing(top):
    pass


TRACE = {"trace_view.json"}
TIMELINE = TRACE | {"kernel_details.csv", "step_trace_time.csv"}
BY_STEP = {"communication.json", "communication_matrix.json", "kernel_details.csv"}
HOST = TIMELINE | BY_STEP
EXPORT = BY_STEP | {"api_statistic.csv", "data_preprocess.csv", "hbm.csv", "hccs.csv", "l2_cache.csv", "nic.csv",
                    "npu_module_mem.csv", "op_statistic.csv", "pcie.csv", "roce.csv"}
HOST_KERNELS = {"kernel_details.csv", "op_statistic.csv"}  # of the operators on the CPU where there is no device

# ---------------------------------------------------------------- what is wanted in default mode


class Case:
    """damage: a function above; lost: files that are not made; differs: further files that may have other bytes, no
    other may; code: exit code; notes: each stands in the code or path of some note."""

    def __init__(self, damage, code=0, notes=(), lost=(), differs=(), options=()):
        self.damage, self.code, self.notes, self.options = damage, code, list(notes), list(options)
        self.lost, self.differs = set(lost), set(differs)


CASES = {
    "unchanged": Case(nothing),
    "no msprof json": Case(remove(MSPROF), 3, ["no-msprof"], {"step_trace_time.csv"}, TIMELINE),
    "msprof json cut off": Case(change(MSPROF, lambda c: c[:-40]), 3, ["/msprof_"], (), TRACE),
    "msprof json in two slices": Case(cut_json),
    "two processes called CANN": Case(change(MSPROF, second_process), 0, ["process-twice"], (), TRACE),
    "msprof ts as numbers": Case(
        change(MSPROF, lambda c: re.sub(rb'"ts": "([0-9.]+)"', rb'"ts": \1', c)), 0, (), (), TRACE),
    "no op_summary": Case(remove(SUMMARY), 3, ["no-op-summary"], {"kernel_details.csv"}),
    "op_summary in two slices": Case(cut_summary(False)),
    "op_summary slices with different headers": Case(
        cut_summary(True), 0, ["op-summary-headers"], (), {"kernel_details.csv"}),
    "op_summary says Block Num": Case(replace(SUMMARY, b"Block Dim", b"Block Num"), 0, (), (), {"kernel_details.csv"}),
    "no op_statistic": Case(remove(EXPORTED + "op_statistic_*.csv"), 3, ["no-statistic"], (), {"op_statistic.csv"}),
    "no op_range": Case(remove(RANGES), 3, ["no-op-range"], {"dataset.csv"}, HOST),
    "op_range cut off by 7 bytes": Case(change(RANGES, lambda c: c[:-7]), 3, ["mindspore.op_range"]),
    "op_range empty": Case(change(RANGES, lambda c: b""), 3, ["mindspore.op_range"], {"dataset.csv"}, HOST),
    "custom_info pair with two colons": Case(
        replace(RANGES, b"worker:0", b"wor:er:0", 1), 0, ["mindspore.op_range"], (), {"dataset.csv"}),
    "no cpu_ms_memory_record": Case(
        remove("FRAMEWORK/cpu_ms_memory_record_*.txt"), 3, ["no-memory-record"], (), {"memory_record.csv"}),
    "no memory_usage": Case(
        remove("FRAMEWORK/mindspore.memory_usage"), 3, ["no-memory-usage"], {"operator_memory.csv"}),
    "no GE memory_record": Case(
        remove(EXPORTED + "memory_record_*.csv"), 3, ["no-device-memory-record"], (), {"memory_record.csv"}),
    "no record_shapes": Case(
        remove("FRAMEWORK/mindspore.record_shapes"), 3, ["no-record-shapes"], {"operator_details.csv"}),
    # A run without operators on the CPU has no such file.
    "no cpu op file": Case(
        remove("FRAMEWORK/cpu_op_execute_timestamp_*.txt"), 0, ["no-cpu-operators"], (), TRACE),
    "communication op without start": Case(
        replace(COMMUNICATION, b'"Start Timestamp(us)"', b'"Started"', 1), 3, ["communication.json"], (),
        {"communication.json", "communication_matrix.json"}),
    # The links are there, but not the steps of the operators.
    "no communication.json": Case(
        remove(COMMUNICATION), 3, ["no-communication"], {"communication.json"}, {"communication_matrix.json"}),
    "no analyze directory": Case(
        remove("PROF_*/analyze"), 3, ["no-communication"], {"communication.json", "communication_matrix.json"}),
    "no host_start.log": Case(remove("PROF_*/host/host_start.log"), 3, ["no-device-clock"], (), HOST),
    "no frequency": Case(
        replace(HOST_INFO, b'"Frequency": "100.000000"', b'"Frequency": ""'), 3, ["clock-frequency"]),
    "frequency 38.4": Case(replace(HOST_INFO, b"100.000000", b"38.4"), 0, (), (), HOST | {"dataset.csv"}),
    "no device directory": Case(remove("PROF_*/device_*"), 3, ["no-device-directory"]),
    "two PROF directories": Case(second_directory, 0, ["several-prof"]),
    "no PROF directory": Case(
        remove("PROF_*"), 3, ["no-msprof", "no-op-summary"], EXPORT | {"step_trace_time.csv"},
        TRACE | {"memory_record.csv"}),
    "no profiler_info": Case(remove(INFO), 3, ["no-profiler-info"]),
    # What was asked of the recorder decides what is wanted.
    "level LevelNone": Case(parameter("profiler_level", "LevelNone"), 0, (), {"kernel_details.csv"}, TRACE),
    "export_type db": Case(parameter("export_type", ["db"])),
    "export_type text and db": Case(parameter("export_type", ["text", "db"])),
    "activities CPU": Case(
        parameter("activities", ["CPU"]), 0, (), EXPORT - HOST_KERNELS | {"operator_memory.csv"},
        TIMELINE | HOST_KERNELS | {"memory_record.csv"}),
    "activities NPU": Case(
        parameter("activities", ["NPU"]), 0, (), {"dataset.csv", "operator_details.csv", "operator_memory.csv"},
        HOST | {"memory_record.csv"}),
    "no schedule": Case(parameter("is_set_schedule", False), 0, (), (), BY_STEP),
    "step_list 1,2": Case(nothing, options=["--step-list", "1-2"], differs=HOST | {"dataset.csv"}),
    # An option of the original that keeps files; ours never deletes any.
    "no data_simplification": Case(nothing),
}
# The driver's version is no file, and --step-list cannot express a list with a hole.
NO_INPUT = {"old driver", "step_list 1,3"}

# ---------------------------------------------------------------- checks


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Run:
    """One analysis: its exit code, notes and output directory."""

    def __init__(self, mindprof, top, out, options):
        command = [mindprof, "analyze", "--json", "--out", out, *options, top]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode in (0, 3), f"exit code {run.returncode}: {run.stderr}"
        self.code = run.returncode
        self.notes = [note for one in json.loads(run.stdout)["runs"] for note in one["notes"]]
        self.top = os.path.join(out, os.path.basename(top), "ASCEND_PROFILER_OUTPUT")
        self.files = set(os.listdir(self.top)) if os.path.isdir(self.top) else set()
        self.files.discard(".mindprof.json")


def check_original(run, good, wanted):
    """The same losses and differences as recorded."""
    assert len(run.files) == wanted["files"], f"{len(run.files)} files instead of {wanted['files']}"
    if wanted["against_unchanged"] == ["no output directory"]:
        return
    if not os.path.isdir(run.top):
        lines = [f"DIFF {file}: 1 differences" for file in sorted(good.files)]
    else:
        compare = subprocess.run([COMPARE, "--ignore", ".mindprof.json", good.top, run.top],
                                 capture_output=True, text=True)
        lines = [line for line in compare.stdout.splitlines() if line.startswith("DIFF")]
    assert lines == wanted["against_unchanged"], f"differences {lines} instead of {wanted['against_unchanged']}"


def check_default(run, good, case, layout):
    lost = layout - run.files
    assert lost == case.lost, f"lost {sorted(lost)} instead of {sorted(case.lost)}"
    other = {f for f in layout & run.files if read(os.path.join(run.top, f)) != read(os.path.join(good.top, f))}
    assert other <= case.differs, f"not expected to differ: {sorted(other - case.differs)}"
    assert run.code == case.code, f"exit code {run.code} instead of {case.code}, notes {run.notes}"
    for text in case.notes:
        named = [n for n in run.notes if text == n["code"] or text in (n["path"] or "")]
        assert named, f"no note about '{text}' in {run.notes}"
    places = [(n["path"], n["byte_offset"]) for n in run.notes if n["byte_offset"] is not None]
    assert len(places) == len(set(places)), f"one damage, several notes: {run.notes}"
    problems = [n for n in run.notes if n["severity"] == "problem"]
    assert bool(problems) == (run.code == 3)


def check_all(mindprof, scratch):
    raw = os.path.join(GOLDEN, "ascend-pynative", "raw")
    (rank,) = os.listdir(raw)
    with open(os.path.join(GOLDEN, "broken-inputs.json")) as file:
        recorded = json.load(file)
    assert set(CASES) | NO_INPUT == set(recorded), set(CASES) ^ set(recorded)
    pristine, failures, good, layout = os.path.join(scratch, "raw"), [], {}, set()
    unpacked(raw, pristine)
    for number, (name, case) in enumerate(CASES.items()):
        top, out = os.path.join(scratch, "in", rank), os.path.join(scratch, f"out-{number}")
        shutil.rmtree(top, ignore_errors=True)
        shutil.copytree(os.path.join(pristine, rank), top)
        case.damage(top)
        try:
            original = Run(mindprof, top, os.path.join(out, "original"), ["--as-original", *case.options])
            default = Run(mindprof, top, os.path.join(out, "default"), case.options)
            if name == "unchanged":
                good, layout = {"original": original, "default": default}, original.files
            check_original(original, good["original"], recorded[name])
            check_default(default, good["default"], case, layout)
            print(f"{name}: as wanted", flush=True)
        except AssertionError as failure:
            failures.append(name)
            print(f"FAILED {name}: {failure}", flush=True)
    print(f"{len(CASES)} inputs, {len(failures)} failed {failures or ''}")
    return 1 if failures else 0


def main():
    mindprof = os.path.join(os.path.abspath(sys.argv[1]), "bin", "mindprof")
    if not os.path.isdir(GOLDEN) or not os.path.exists(COMPARE):
        print(f"SKIPPED: {GOLDEN} or {COMPARE} is not there")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        return check_all(mindprof, scratch)


if __name__ == "__main__":
    sys.exit(main())
