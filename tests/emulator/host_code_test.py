"""The emulator runs on any x86-64 host, so what every host executes must not hold AVX or BMI code.

Usage: host_code_test.py OBJDUMP NM LISTS, a folder with a list of object files for each build: base (shared by all
hosts), scalar, avx2 and avx512. Two things are checked:
  - base and scalar objects hold no VEX or EVEX instruction and none of BMI, LZCNT or POPCNT;
  - no object built for more than the baseline defines a function that the linker could take in place of another
    object's copy: weak functions all lie in the namespace of their own instruction set.
"""
import pathlib
import re
import subprocess
import sys

BEYOND_BASELINE = set("andn bextr blsi blsmsk blsr bzhi lzcnt mulx pdep pext popcnt rorx sarx shlx shrx".split())


def beyond_baseline(mnemonic):
    return mnemonic.startswith("v") or mnemonic in BEYOND_BASELINE or mnemonic[:-1] in BEYOND_BASELINE


def objects(folder, name):
    files = (folder / name).read_text().split()
    assert files, f"{name}: no objects"
    return files


def main():
    objdump, nm, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    wrong, instructions = [], 0
    for name in ("base", "scalar"):
        text = subprocess.run([objdump, "-d", "--no-show-raw-insn", *objects(folder, name)],
                              check=True, capture_output=True, text=True).stdout
        where = ""
        for line in text.splitlines():
            if line.endswith(">:") or line.endswith("format elf64-x86-64"):
                where = line
            found = re.match(r"\s*[0-9a-f]+:\s+(?:(?:rep|repe|repne|lock|data16)\s+)*([a-z][a-z0-9]*)", line)
            instructions += bool(found)
            if found and beyond_baseline(found[1]):
                wrong.append(f"{name}: {where}: {line.strip()}")
    assert instructions > 100_000, f"only {instructions} instructions disassembled"
    for name in ("avx2", "avx512"):
        text = subprocess.run([nm, "--defined-only", "--format=posix", *objects(folder, name)],
                              check=True, capture_output=True, text=True).stdout
        own = f"8emulator{len(name)}{name}"
        weak = [fields[0] for fields in map(str.split, text.splitlines()) if len(fields) > 1 and fields[1] == "W"]
        assert weak, f"{name}: no weak functions: is this the right list?"
        wrong += [f"{name}: weak {symbol}" for symbol in weak if own not in symbol]
    print(f"{instructions} instructions, {len(wrong)} wrong")
    print("\n".join(sorted(set(wrong))[:40]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
