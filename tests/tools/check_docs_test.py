#!/usr/bin/env python3
"""tools/check-docs passes on the tree and finds documents that disagree with the program or with each other."""

import re
import sys

from checker import Scratch, expect_clean, expect_fault

BUILD = sys.argv[1]


def spoil(tree, page, change, fault):
    before = tree.read(page)
    after = change(before)
    assert after != before, f"nothing changed in {page}"
    tree.write(page, after)
    expect_fault(fault, "check-docs", BUILD, tree.path)
    tree.write(page, before)


with Scratch() as tree:
    expect_clean("check-docs", BUILD, tree.path)
    spoil(tree, "docs/cli/report.md", lambda text: text.replace("--json", "--jsom"), "report.md: --json is not documented")
    spoil(tree, "docs/cli/report.md", lambda text: text + "\n- `--colour`: no such thing\n",
          "report.md: explains --colour, which does not exist")
    spoil(tree, "docs/analyses.md", lambda text: text.replace("`operators`", "`operations`"),
          "analyses.md: table 'operators' is not documented")
    spoil(tree, "docs/analyses.md", lambda text: text.replace("`covered_ns`", "`cover_ns`"),
          "analyses.md: column 'covered_ns' of table 'steps' is not documented")
    spoil(tree, "docs/architecture.md", lambda text: text + "\n[gone](formats/gone.md)\n", "link to 'formats/gone.md'")
    spoil(tree, "docs/README.md", lambda text: re.sub(r"\(glossary\.md\)", "(README.md)", text),
          "docs/README.md: does not link to docs/glossary.md")
    spoil(tree, "README.md", lambda text: text.replace("mindprof_step(step)", "mindprof_steps(step)"),
          "README.md: an example does not compile")

    tree.write("docs/cli/dance.md", "# dance\n")
    expect_fault("docs/cli/dance.md: there is no command 'dance'", "check-docs", BUILD, tree.path)
    tree.remove("docs/cli/dance.md")
    before = tree.read("docs/cli/info.md")
    tree.remove("docs/cli/info.md")
    expect_fault("docs/cli/info.md is missing", "check-docs", BUILD, tree.path)
    tree.write("docs/cli/info.md", before)
    tree.write("tools/secret", "")
    expect_fault("tools/secret is mentioned in no document", "check-docs", BUILD, tree.path)
    tree.remove("tools/secret")
    expect_clean("check-docs", BUILD, tree.path)
