#!/usr/bin/env python3
"""tools/check-deps passes on the tree and finds each kind of violation."""

from checker import Scratch, expect_clean, expect_fault

HEAD = "/* SPDX-License-Identifier: Apache-2.0 */\n"
BANNED = '#include "base/banned.h"\n'

# A file put into the tree, and what must be said about it.
VIOLATIONS = [
    # A room that reaches upwards, sideways, or across the two sides.
    ("src/base/x_up.c", '#include "store/st_store.h"\n' + BANNED, 'may not include "store/st_store.h"'),
    ("src/record/x_side.c", '#include "store/st_store.h"\n' + BANNED, 'may not include "store/st_store.h"'),
    ("src/analyses/x_files.c", '#include "formats/fmt_native.h"\n' + BANNED, 'may not include "formats/fmt_native.h"'),
    ("src/writers/x_reader.c", '#include "readers/readers.h"\n' + BANNED, 'may not include "readers/readers.h"'),
    ("src/api/api_record.c", '#include "store/st_store.h"\n' + BANNED, 'may not include "store/st_store.h"'),
    ("src/api/api_x.c", '#include "record/rec_x.h"\n' + BANNED, 'may not include "record/rec_x.h"'),
    ("src/api/api_y.c", "#include <mindprof/record.h>\n" + BANNED, "may not include <mindprof/record.h>"),
    ("src/store/x_public.c", "#include <mindprof/trace.h>\n" + BANNED, "may not include <mindprof/trace.h>"),
    # Programs see the public headers and base.
    ("cli/x_room.c", '#include "store/st_store.h"\n' + BANNED, 'may not include "store/st_store.h"'),
    ("examples/x_room.c", '#include "base/mem.h"\n', 'may not include "base/mem.h"'),
    # Readers do not know each other.
    ("src/readers/rd_x_one.c", '#include "readers/rd_y.h"\n' + BANNED, "belongs to another subject"),
    # Packed input is one file's business.
    ("src/base/x_zlib.c", "#include <zlib.h>\n" + BANNED, "may include <zlib.h>"),
    ("src/base/x_ban.c", "#include <stdio.h>\n", "the last include is not"),
    ("cli/x_ban.c", '#include "base/banned.h"\n#include <stdio.h>\n', "the last include is not"),
    ("src/newroom/x_new.c", BANNED, "room 'newroom' is not in the table"),
    ("tests/unit/buf.h", "", "same base name as src/base/buf.h"),
]

with Scratch() as tree:
    expect_clean("check-deps", tree.path)
    for path, text, fault in VIOLATIONS:
        try:
            before = tree.read(path)
        except FileNotFoundError:
            before = None
        tree.write(path, HEAD + text)
        expect_fault(fault, "check-deps", tree.path)
        if before is None:
            tree.remove(path)
        else:
            tree.write(path, before)
    # What looks close to a violation but is none.
    tree.write("src/readers/rd_x_two.c", HEAD + '#include "readers/rd_x.h"\n' + BANNED)
    tree.write("tests/unit/test_x.c", HEAD + '#include "record/rec_x.h"\n#include "store/st_store.h"\n')
    tree.write("cli/x_own.c", HEAD + "#include <mindprof/record.h>\n" + '#include "options.h"\n' + BANNED)
    expect_clean("check-deps", tree.path)
