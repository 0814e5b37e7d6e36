#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints tests/unit/data/double_repr.txt: bit pattern and repr of the doubles that shortest-text
algorithms get wrong first: powers of two and ten with their neighbours, the ends of the ranges,
values with few bits."""
import random
import struct


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def pattern(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def main():
    random.seed(20240607)
    bits = set()
    for exponent in range(0, 2047, 5):
        bits |= {exponent << 52, (exponent << 52) + 1, (exponent + 1 << 52) - 1}
    for power in range(-323, 309, 3):
        middle = pattern(float("1e%d" % power))
        bits |= {middle - 1, middle, middle + 1}
    bits |= set(range(0, 40)) | {1 << i for i in range(52)}
    bits |= {pattern(v) for v in (0.1, 0.3, 2.5, 1e16, 1e15, 123456789012345680.0, 9007199254740993.0, 1e-4,
                                  1e-5, 9999999999999998.0, 5e-324, 1.7976931348623157e308, 2.2250738585072014e-308,
                                  9.5367431640625e-07, 4.35, 0.000123, 1e22, 1e23, 9e15, 0.1 + 0.2)}
    bits |= {pattern(float(random.getrandbits(n))) for n in range(1, 120)}
    bits |= {pattern(round(random.uniform(0, 10 ** n), d)) for n in range(8) for d in range(10)}
    bits |= {random.getrandbits(64) for _ in range(300)}
    bits |= {0x8000000000000000, 0x7ff0000000000000, 0xfff0000000000000}
    for b in sorted(bits):
        value = double(b)
        if value == value:
            print("%016x %r" % (b, value))


main()
