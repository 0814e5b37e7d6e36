#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strict check of portable Chrome JSON traces, independent of the C code.

Usage: trace_lint.py FILE...        (plain or gzip; exit 1 when any file has a fault)

Refused: text that is not UTF-8 or not strict JSON (duplicate keys, NaN, infinities); times that are not
numbers, negative durations; process and thread numbers that are not integers; names that are not text or
hold lone surrogates; slices of one (pid, tid) that overlap without nesting; begins without end and the
reverse; flow ids that are not integers, flows that lack an end, flow ends that no slice of their lane
encloses; counters and metadata with arguments of the wrong type. Times are compared exactly.
"""
import bisect
import collections
import decimal
import gzip
import json
import sys

SHOWN_PER_KIND = 10
PHASES = set("BEXiICbneSTpFstfPNODMVvRc(),=")
NAMED = set("BXiICMbstf")
METADATA = {
    "process_name": ("name", str),
    "thread_name": ("name", str),
    "process_labels": ("labels", str),
    "process_sort_index": ("sort_index", int),
    "thread_sort_index": ("sort_index", int),
}

decimal.getcontext().prec = 60


class Strict(ValueError):
    pass


class Event:
    """What is kept of an object with a "ph"; its arguments are judged at once and dropped."""

    __slots__ = ("ph", "name", "cat", "ts", "dur", "lane", "id", "bp", "faults")


class Faults:
    def __init__(self, path):
        self.path = path
        self.count = collections.Counter()

    def add(self, kind, where, text):
        self.count[kind] += 1
        if self.count[kind] <= SHOWN_PER_KIND:
            print(f"{self.path}: {where}: {text} [{kind}]")

    def finish(self):
        for kind, n in self.count.items():
            if n > SHOWN_PER_KIND:
                print(f"{self.path}: {n - SHOWN_PER_KIND} more faults of kind [{kind}]")
        return sum(self.count.values())


def is_number(value):
    return isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool)


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def nanoseconds(microseconds):
    """An int where the time is whole nanoseconds, else an exact Decimal."""
    if isinstance(microseconds, int):
        return microseconds * 1000
    value = microseconds.scaleb(3)
    whole = value.to_integral_value()
    return int(whole) if whole == value else value


def is_text(value):
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def judge_args(event, name, args):
    if event.ph == "M" and name in METADATA:
        key, kind = METADATA[name]
        value = args.get(key) if isinstance(args, dict) else None
        if not (is_integer(value) if kind is int else is_text(value)):
            event.faults.append(("metadata-args", f"{name} needs {key} of type {kind.__name__}"))
    elif event.ph == "C":
        if not isinstance(args, dict) or not args or not all(is_number(value) for value in args.values()):
            event.faults.append(("counter-args", "a counter needs arguments that are numbers"))


def judge_one(event, members):
    """The faults of one event that need no other event."""
    add = event.faults.append
    ph, name = event.ph, event.name
    if ph not in PHASES:
        add(("event-phase", f"phase {ph!r}"))
        return
    if name is None and ph in NAMED or name is not None and not is_text(name):
        add(("event-name", f"name {name!r}"))
    judge_args(event, name, members.get("args"))
    if ph == "M":
        return
    if not is_integer(members.get("pid")) or ph in "XBEstf" and not is_integer(members.get("tid")):
        add(("event-lane", "pid and tid must be integers"))
    if not is_number(members.get("ts")):
        add(("event-time", f"ts {members.get('ts')!r}"))
        event.ph = None
        return
    event.ts = nanoseconds(members["ts"])
    if ph == "X":
        dur = members.get("dur")
        if not is_number(dur):
            add(("event-time", f"dur {dur!r}"))
            event.ph = None
        elif dur < 0:
            add(("negative-duration", f"dur {dur}"))
            event.ph = None
        else:
            event.dur = nanoseconds(dur)
    if ph in "stf" and not is_integer(event.id):
        add(("flow-id", f"id {event.id!r}"))


def make_object(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise Strict(f"key {key!r} occurs twice in one object")
            seen.add(key)
    if "ph" not in members:
        return members
    event = Event()
    event.ph = members["ph"] if isinstance(members["ph"], str) else "?"
    event.name = members.get("name")
    event.cat = members.get("cat")
    event.id = members.get("id")
    event.bp = members.get("bp")
    event.lane = (members.get("pid"), members.get("tid"))
    event.ts = event.dur = None
    event.faults = []
    try:
        hash((event.lane, event.cat, event.id))
    except TypeError:
        event.faults.append(("event-lane", "pid, tid, cat or id is an object or array"))
        event.ph = None
        return event
    judge_one(event, members)
    return event


def refuse_constant(word):
    raise Strict(f"{word} is not JSON")


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    text = data.decode("utf-8")
    del data
    return json.loads(text, object_pairs_hook=make_object, parse_constant=refuse_constant,
                      parse_float=decimal.Decimal)


def join_begin_end(ends, faults):
    """(begin, end, index) of the pairs of one lane."""
    slices, open_begins = [], []
    for ts, index, ph in sorted(ends):
        if ph == "B":
            open_begins.append((ts, index))
        elif open_begins:
            begin, at = open_begins.pop()
            slices.append((begin, ts, at))
        else:
            faults.add("unmatched-end", f"event {index}", "end without begin")
    for _, index in open_begins:
        faults.add("unmatched-begin", f"event {index}", "begin without end")
    return slices


def judge_overlap(slices, faults):
    slices.sort(key=lambda slice: (slice[0], -slice[1], slice[2]))
    stack = []
    for begin, end, index in slices:
        while stack and stack[-1][0] <= begin:
            stack.pop()
        if stack and end > stack[-1][0]:
            faults.add("partial-overlap", f"event {index}",
                       f"ends {end - stack[-1][0]} ns after event {stack[-1][1]}, inside which it begins")
        stack.append((end, index))


def judge_bindings(slices, flow_ends, faults):
    """slices are in order of begin; a flow end is bound when some slice that began before ends after it."""
    begins = [slice[0] for slice in slices]
    latest, ends = None, []
    for slice in slices:
        latest = slice[1] if latest is None else max(latest, slice[1])
        ends.append(latest)
    for ts, index, enclosed in flow_ends:
        if enclosed:
            at = bisect.bisect_right(begins, ts)
            bound = at > 0 and ends[at - 1] >= ts
        else:
            bound = bisect.bisect_left(begins, ts) < len(begins)
        if not bound:
            faults.add("unbound-flow", f"event {index}", "no slice of its lane takes this end of a flow")


def judge_partners(flows, faults):
    for key, (phases, index) in flows.items():
        if "s" not in phases:
            faults.add("flow-without-start", f"event {index}", f"flow {key[2]!r} has no start")
        if "f" not in phases:
            faults.add("flow-without-end", f"event {index}", f"flow {key[2]!r} has no end")


def judge_all(events, faults):
    slices = collections.defaultdict(list)
    ends = collections.defaultdict(list)
    flow_ends = collections.defaultdict(list)
    flows = {}
    for index, event in enumerate(events):
        if not isinstance(event, Event):
            faults.add("event-phase", f"event {index}", "not an object with a phase")
            continue
        for kind, text in event.faults:
            faults.add(kind, f"event {index}", text)
        if event.ph == "X":
            slices[event.lane].append((event.ts, event.ts + event.dur, index))
        elif event.ph in ("B", "E"):
            ends[event.lane].append((event.ts, index, event.ph))
        elif event.ph in ("s", "t", "f"):
            phases, first = flows.get((event.cat, event.name, event.id), ("", index))
            flows[(event.cat, event.name, event.id)] = (phases + event.ph, first)
            if event.ph == "f":
                flow_ends[event.lane].append((event.ts, index, event.bp == "e"))
    for lane, of_lane in ends.items():
        slices[lane] += join_begin_end(of_lane, faults)
    for lane in slices.keys() | flow_ends.keys():
        judge_overlap(slices[lane], faults)
        judge_bindings(slices[lane], flow_ends[lane], faults)
    judge_partners(flows, faults)


def lint(path):
    faults = Faults(path)
    try:
        trace = load(path)
        events = trace.get("traceEvents") if isinstance(trace, dict) else trace
        if isinstance(events, list):
            judge_all(events, faults)
        else:
            faults.add("not-a-trace", "whole", "neither an array nor an object with an array traceEvents")
    except RecursionError:
        faults.add("json-depth", "whole", "nested too deeply")
    except (ValueError, EOFError, OSError) as error:
        faults.add("json-syntax", "whole", str(error))
    return faults.finish()


def main(paths):
    if not paths or paths[0].startswith("-"):
        print(__doc__)
        return 2
    return 1 if sum([lint(path) for path in paths]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
