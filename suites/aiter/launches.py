#!/usr/bin/env python3
"""Writes the launches of the aiter suite; needs NumPy.

usage: launches.py write OUT [NAME ...] | check NAME RESULTS | list

A launch NAME is <family>.<variant>; OUT/NAME gets dispatch.json, its data files and case.json (object, tolerances).
`check` compares what `asmevo run OBJECT -d OUT/NAME --out RESULTS` left with the NumPy reference.
"""

import argparse
import importlib
import os
import sys
import zlib

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
FAMILIES = ("bf16gemm", "fmha_v3_fwd", "fp8gemm_blockscale", "pa", "topksoftmax")


def launches():
    """name -> (build function, its arguments, why this shape)."""
    table = {}
    for family in FAMILIES:
        module = importlib.import_module(family)
        for name, arguments in module.CASES.items():
            table[f"{family}.{name}"] = (module.build, arguments, "")
        for name, (arguments, why) in module.PRODUCTION.items():
            table[f"{family}.{name}-prod"] = (module.build, dict(arguments, reference=False), why)
            table[f"{family}.{name}-deep"] = (module.build, module.deep(arguments), "fewer workgroups of: " + why)
    return table


def seed_of(name):
    return zlib.crc32(name.encode())


def made(table, name):
    build, arguments, why = table[name]
    return build(np.random.default_rng(seed_of(name)), **arguments), why


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["write", "check", "list"])
    parser.add_argument("words", nargs="*", metavar="OUT [NAME ...] | NAME RESULTS")
    given = parser.parse_args()
    table = launches()
    if given.command == "list":
        print("\n".join(table))
        return 0
    if given.command == "write":
        if not given.words:
            parser.error("write needs a folder")
        out, names = given.words[0], given.words[1:] or list(table)
        for name in names:
            if name not in table:
                parser.error(f"no launch {name}; `list` names them")
            case, why = made(table, name)
            case.write(os.path.join(out, name), name, seed_of(name), why)
        print(f"{len(names)} launches in {out}")
        return 0
    if len(given.words) != 2 or given.words[0] not in table:
        parser.error("check needs the name of a launch and a folder of results")
    case, _ = made(table, given.words[0])
    if not case.expectations:
        parser.error(f"{given.words[0]} is for timing: it has no reference")
    return 0 if case.check(given.words[1]) else 1


if __name__ == "__main__":
    sys.exit(main())
