#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The computed tables of src/base and the expected doubles are what their generators write today.
set -eu
tools/make-base-tables --check
tests/unit/data/make_double_repr.py | cmp - tests/unit/data/double_repr.txt
