#!/usr/bin/env python3
"""Writes the launches of the triton suite; needs NumPy.

usage: launches.py write OUT [NAME ...] | check NAME RESULTS | list

A launch NAME is <kernel>-small, -deep and -odd (more turns of the main loop, an even and an odd number), -edge (special
values) or -prod (production size); OUT/NAME gets dispatch.json, its
data files and case.json (object, tolerances). `check` compares what `asmevo run OBJECT -d OUT/NAME --out RESULTS` left
with the NumPy reference; edge launches have none.
"""

import argparse
import os
import sys

import build
import triton_case

SEED = 1


def launch_of(table, name, reference):
    kernel_name, case = name.rsplit("-", 1)
    kernel = table[kernel_name]
    # Production sizes: the reference takes long, so it is made only where it is asked for.
    return kernel, case, kernel.launch(case, SEED, reference or not kernel.cases[case].get("big"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["write", "check", "list"])
    parser.add_argument("words", nargs="*", metavar="OUT [NAME ...] | NAME RESULTS")
    given = parser.parse_args()
    table = build.load(build.FAMILIES, build.HERE)
    known = [f"{kernel.name}-{case}" for kernel in table.values() for case in kernel.cases]
    if given.command == "list":
        print("\n".join(known))
        return 0
    if given.command == "write":
        if not given.words:
            parser.error("write needs a folder")
        out, names = given.words[0], given.words[1:] or known
        for name in names:
            if name not in known:
                parser.error(f"no launch {name}; `list` names them")
            kernel, case, launch = launch_of(table, name, False)
            triton_case.write(kernel, case, launch, os.path.join(out, name), SEED)
        print(f"{len(names)} launches in {out}")
        return 0
    if len(given.words) != 2 or given.words[0] not in known:
        parser.error("check needs the name of a launch and a folder of results")
    _, _, launch = launch_of(table, given.words[0], True)
    return 0 if triton_case.check(launch, given.words[1]) else 1


if __name__ == "__main__":
    sys.exit(main())
