#!/usr/bin/env python3
"""tools/check-format passes on the tree and fails when a .c file is not laid out as .clang-format says."""

from checker import Scratch, expect_clean, expect_fault

with Scratch() as tree:
    expect_clean("check-format", tree.path)
    for path in ("src/base/x_format.c", "cli/x_format.c", "tests/unit/x_format.c"):
        tree.write(path, "int x(void)\n{\n        return 1;\n}\n")
        expect_fault("x_format.c:2:2", "check-format", tree.path)
        tree.write(path, "int x(void)\n{\n\treturn 1;\n}\n")
        expect_clean("check-format", tree.path)
