#!/usr/bin/env python3
"""tools/check-size passes on the tree and fails on a function of 101 lines and a file of 801."""

from checker import Scratch, expect_clean, expect_fault


def function(lines):
    """A function of so many lines; braces in comments and strings must not confuse the count."""
    body = ['\tputs("}{"); /* { */', "\tif (x) {", "\t\t/*", "}", "{", "\t\t */", "\t}"]
    body += ["\tx++;"] * (lines - 3 - len(body))
    return "static int x_long(int x)\n{\n" + "\n".join(body) + "\n}\n"


assert function(60).count("\n") == 60

with Scratch() as tree:
    expect_clean("check-size", tree.path)

    tree.write("src/base/x_size.c", function(60))
    assert "x_long has" not in expect_clean("check-size", tree.path)
    tree.write("src/base/x_size.c", function(61))
    assert "warning: src/base/x_size.c:1: x_long has 61 lines" in expect_clean("check-size", tree.path)
    tree.write("src/base/x_size.c", function(100))
    expect_clean("check-size", tree.path)
    tree.write("src/base/x_size.c", "\nint a;\n" + function(101))
    expect_fault("src/base/x_size.c:3: x_long has 101 lines", "check-size", tree.path)

    tree.write("src/base/x_size.c", "int a;\n" * 800)
    expect_clean("check-size", tree.path)
    tree.write("src/base/x_size.c", "int a;\n" * 801)
    expect_fault("src/base/x_size.c: 801 lines", "check-size", tree.path)
    tree.write("src/base/x_size.c", "/* check-size: long because it is a table of numbers */\n" + "int a;\n" * 801)
    expect_clean("check-size", tree.path)
