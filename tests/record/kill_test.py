#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 and SIGSEGV at random instants of a program that records at full rate, seen from outside.

Each time: the directory opens, the report names the cut, and for each thread the number of ranges that the
report counts, plus the losses that it counts, is what the program counted itself (or one more: the program
counts a range after it recorded it). Ring mode keeps the newest, so there only the cut and the end are checked.

Argument: the build folder. MINDPROF_TEST_FULL set: 200 kills instead of 20.
"""
import glob
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
THREADS = 2
LINE = 16


def build_program(build, folder):
    program = os.path.join(folder, "full_rate")
    subprocess.run(["cc", "-O2", "-std=gnu11", "-I", os.path.join(ROOT, "include"), "-o", program,
                    os.path.join(ROOT, "tests", "record", "full_rate.c"), "-L", os.path.join(build, "lib"),
                    "-Wl,-rpath," + os.path.join(build, "lib"), "-lmindprof-record", "-lpthread"], check=True)
    return program


def read_counters(path):
    try:
        data = open(path, "rb").read()
    except FileNotFoundError:
        return []
    return [struct.unpack_from("<Q", data, i * LINE * 8)[0] for i in range(THREADS)] if data else []


def run_and_kill(program, folder, mode, sig):
    """Returns the directory of the recording and the counters of the killed program."""
    out, counters = os.path.join(folder, "out"), os.path.join(folder, "counters")
    child = subprocess.Popen([program, out, counters, str(THREADS), mode])
    deadline = time.monotonic() + 60
    while not all(read_counters(counters) or [0]):
        assert child.poll() is None, "the program ended by itself with %s" % child.returncode
        assert time.monotonic() < deadline, "the program did not begin to record"
        time.sleep(0.001)
    time.sleep(random.random() * 0.05)
    child.send_signal(sig)
    child.wait()
    assert child.returncode == -sig, child.returncode
    return glob.glob(os.path.join(out, "*_ascend_ms"))[0], read_counters(counters)


def table(run, name):
    return next(t for t in run["tables"] if t["name"] == name)["rows"]


def lost_by_thread(notes):
    """Totals of the notes about dropped events, by thread name."""
    lost = {}
    for note in notes:
        if note["code"] == "events-dropped":
            match = re.search(r"work (\d+)", note["text"])
            count = re.search(r"(\d+) (?:ranges|events)", note["text"])
            assert match and count, note
            lost[int(match.group(1))] = lost.get(int(match.group(1)), 0) + int(count.group(1))
    return lost


def check(mindprof, directory, counters, mode):
    done = subprocess.run([mindprof, "report", "--json", directory], capture_output=True, text=True)
    assert done.returncode in (0, 3), (done.returncode, done.stderr)
    report = json.loads(done.stdout)
    run = report["runs"][0]
    notes = table(run, "notes")
    assert any(n["code"] == "recording-cut" for n in notes), "the cut is not named: %r" % notes
    ranges = {r["name"]: r["count"] for r in table(run, "ranges") if r["class"] != "unfinished"}
    lost = lost_by_thread(notes)
    for thread, counted in enumerate(counters):
        seen = ranges.get("work %d" % thread, 0) + lost.get(thread, 0)
        if mode == "stream":
            assert counted <= seen <= counted + 1, "thread %d: program %d, report %d" % (thread, counted, seen)
        else:
            assert 0 < seen <= counted + 1, "thread %d: program %d, report %d" % (thread, counted, seen)


def main():
    build = os.path.abspath(sys.argv[1])
    mindprof = os.path.join(build, "bin", "mindprof")
    kills = 200 if os.environ.get("MINDPROF_TEST_FULL") else 20
    seed = random.randrange(1 << 32)
    random.seed(seed)
    print("seed", seed)
    with tempfile.TemporaryDirectory() as scratch:
        program = build_program(build, scratch)
        for i in range(kills):
            mode = "ring" if i % 5 == 4 else "stream"
            sig = signal.SIGSEGV if i % 10 == 9 else signal.SIGKILL
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                directory, counters = run_and_kill(program, folder, mode, sig)
                check(mindprof, directory, counters, mode)
    print("%d kills, every directory opened, every count agreed" % kills)


main()
