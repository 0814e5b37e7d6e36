#!/usr/bin/env python3
"""tools/check-symbols passes on the build and finds headers and exports that disagree."""

import sys

from checker import Scratch, expect_clean, expect_fault

BUILD = sys.argv[1]
RECORD = "include/mindprof/record.h"
TRACE = "include/mindprof/trace.h"


def spoil(tree, header, change, fault):
    before = tree.read(header)
    after = change(before)
    assert after != before
    tree.write(header, after)
    expect_fault(fault, "check-symbols", BUILD, tree.path)
    tree.write(header, before)


with Scratch() as tree:
    expect_clean("check-symbols", BUILD, tree.path)
    # Declared, but the libraries do not have it.
    spoil(tree, RECORD, lambda text: text + "MINDPROF_API void mindprof_x_record(void);\n",
          "libmindprof-record.so: 'mindprof_x_record' is declared but not exported")
    spoil(tree, TRACE, lambda text: text + "MINDPROF_API extern int mindprof_x_number;\n",
          "libmindprof.so: 'mindprof_x_number' is declared but not exported")
    # Exported, but no header has it.
    spoil(tree, TRACE, lambda text: text.replace("MINDPROF_API void mindprof_trace_free", "void mindprof_trace_free"),
          "libmindprof.so: 'mindprof_trace_free' is exported but in no public header")
    spoil(tree, RECORD, lambda text: text.replace("MINDPROF_API extern int mindprof_recording_", "extern int mindprof_recording_"),
          "libmindprof-record.so: 'mindprof_recording_' is exported but in no public header")
    # Does not compile alone; is C but not C++; is C++20 but not C++11.
    spoil(tree, RECORD, lambda text: text.replace("#include <mindprof/types.h>", "", 1), "<mindprof/record.h> alone, gcc -std=c11")
    spoil(tree, TRACE, lambda text: text + "struct x_kind { int class; };\n", "<mindprof/trace.h> alone, clang++ -std=c++11")
    spoil(tree, TRACE, lambda text: text + "#ifdef __cplusplus\nconstexpr int x(int n) { int m = n; return m; }\n#endif\n",
          "<mindprof/trace.h> alone, g++ -std=c++11")
