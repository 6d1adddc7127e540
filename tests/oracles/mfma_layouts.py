#!/usr/bin/env python3
"""Tabulates where matrix elements lie in registers, as AMD's matrix instruction calculator (its repository is
ROCm/amd_matrix_instruction_calculator) says for CDNA3: writes tests/data/mfma/layouts.txt to standard output.

    mfma_layouts.py MATRIX_CALCULATOR.py

A line is "MNEMONIC MATRIX POSITION...": the matrix is A, B, D or K (SMFMAC's indices), with the modifiers that change it
behind colons; positions are in order of (block, row, column), each lane * 32 + number of the element in the lane. A
position list that stood before is "= MNEMONIC MATRIX".
"""
import csv, io, re, subprocess, sys

BROADCASTS = (("v_mfma_f32_4x4x4_16b_f16", 3, 5), ("v_mfma_f32_4x4x4_16b_f16", 4, 15),
              ("v_mfma_f32_4x4x4_16b_f16", 1, 1), ("v_mfma_f32_32x32x4_2b_f16", 1, 1),
              ("v_mfma_f32_16x16x4_4b_f16", 1, 1), ("v_mfma_f32_16x16x4_4b_f16", 2, 2),
              ("v_mfma_i32_4x4x4_16b_i8", 2, 3), ("v_mfma_f32_32x32x1_2b_f32", 1, 1),
              ("v_mfma_f32_4x4x1_16b_f32", 2, 1))
PERMUTED = ("v_mfma_f32_4x4x4_16b_f16", "v_mfma_f32_16x16x4_f32", "v_mfma_f32_32x32x1_2b_f32",
            "v_mfma_i32_16x16x4_4b_i8")


def calculator(*arguments):
    return subprocess.run([sys.executable, sys.argv[1], "--architecture", "cdna3", *arguments], check=True,
                          capture_output=True, text=True).stdout


def first_bit(column):
    """of a table's column: "v1" is 32, "v1.[31:16]" 48, "v[3:2]" 64"""
    part = re.fullmatch(r"v(\d+)\.\[(\d+):(\d+)\]", column)
    if part:
        return int(part[1]) * 32 + int(part[3])
    pair = re.fullmatch(r"v\[(\d+):(\d+)\]", column)
    return int(pair[2] if pair else re.fullmatch(r"v(\d+)", column)[1]) * 32


def element_bits(mnemonic):
    kind = mnemonic.rsplit("_", 1)[1]
    return {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16}.get(kind, 8)


def positions(mnemonic, matrix, *modifiers):
    rows = list(csv.reader(io.StringIO(calculator("-i", mnemonic, "-" + matrix, *modifiers, "-M", "--csv"))))
    if not rows[0][0].startswith("lane"):
        rows = rows[2:]
    columns = [first_bit(c) for c in rows[0][1:]]
    sparse = "smfmac" in mnemonic
    width = {"k": 4, "D": 64 if mnemonic.endswith("f64") else 32}.get(matrix, element_bits(mnemonic))
    if sparse and matrix == "A":
        width *= 2  # listed by pairs: which two of four columns they are, the indices say
    found = {}
    for row in rows[1:]:
        for bit, cell in zip(columns, row[1:]):
            for element in cell.split():
                i, j, block = (int(x or 0) for x in re.fullmatch(r"[ABDCK]\[(\d+)\]\[(\d+)\](?:\.B(\d+))?",
                                                                 element).groups())
                if sparse and matrix in "Ak":
                    if j % 4:
                        continue
                    j //= 4
                assert (block, i, j) not in found and bit % width == 0, (mnemonic, matrix, element)
                found[block, i, j] = int(row[0]) * 32 + bit // width
    return tuple(found[key] for key in sorted(found))


def main():
    seen = {}

    def add(mnemonic, matrix, label, *modifiers):
        listed = positions(mnemonic, matrix, *modifiers)
        known = seen.setdefault((matrix, listed), f"{mnemonic} {label}")
        print(mnemonic, label, *(("=", known) if known != f"{mnemonic} {label}" else listed))

    names = [n for n in map(str.strip, calculator("-L").splitlines()) if n.startswith("v_")]
    for name in names:
        for matrix in "ABD":
            add(name, matrix, matrix)
        if "smfmac" in name:
            add(name, "k", "K")
            add(name, "k", "K:abid1", "--abid", "1")
    for name, cbsz, abid in BROADCASTS:
        add(name, "A", f"A:cbsz{cbsz}:abid{abid}", "--cbsz", str(cbsz), "--abid", str(abid))
    for name in PERMUTED:
        for blgp in range(1, 8):
            add(name, "B", f"B:blgp{blgp}", "--blgp", str(blgp))


main()
