#!/usr/bin/env python3
"""Writes tests/data/mfma/*.txt from mfma_reference.py: one file per element kind and K, one output element a line, as hex
digits: a[0..K-1] b[0..K-1] c d, elements of a and b side by side in order of k.

    mfma_vectors.py OUTPUT_FOLDER [COUNT [SEED]]

The first third of the lines has ordinary magnitudes, the next mixes wide exponents, subnormals and zeros, the last is
rich in infinities, NaNs, signed zeros and values at the ends of the range. They stand apart so that an implementation's
faster ways for ordinary operands, chosen per instruction, are met as well.
"""
import os, random, sys

from mfma_reference import FORMATS, dot, random_bits

KINDS = {"f64": (4,), "f32": (1, 2, 4), "xf32": (4, 8), "f16": (4, 8, 16), "bf16": (4, 8, 16),
         "fp8_fp8": (16, 32), "fp8_bf8": (16, 32), "bf8_fp8": (16, 32), "bf8_bf8": (16, 32)}
WIDTH = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8}


def wide(r, fmt):
    return random_bits(r, fmt, WIDTH[fmt])


def ordinary(r, fmt):
    eb, fb, bias, _ = FORMATS[fmt]
    e = min(max(bias + r.randint(-2, 2), 1), (1 << eb) - 2)
    return r.getrandbits(1) << (WIDTH[fmt] - 1) | e << fb | r.getrandbits(fb)


def extreme(r, fmt):
    eb, fb, bias, fnuz = FORMATS[fmt]
    sign = r.getrandbits(1) << (WIDTH[fmt] - 1)
    top = (1 << eb) - 1
    pick = r.random()
    if pick < 0.02:
        return sign if fnuz else sign | top << fb | (r.getrandbits(1) << r.randrange(fb))
    if pick < 0.1:
        return sign
    if pick < 0.2:
        return sign | r.getrandbits(fb)
    if pick < 0.3:
        return sign | (top - (0 if fnuz else 1)) << fb | r.getrandbits(fb)
    if pick < 0.5:
        return sign | (3 * (1 << eb) // 4 + r.randint(-1, 1)) << fb | r.getrandbits(fb)
    return ordinary(r, fmt)


def line(r, kind, k, draw):
    fa, fb = kind.split("_") if "_" in kind else (("f32",) * 2 if kind == "xf32" else (kind, kind))
    out = "f64" if kind == "f64" else "f32"
    a, b = [draw(r, fa) for _ in range(k)], [draw(r, fb) for _ in range(k)]
    c = draw(r, out)
    if draw is not extreme and r.random() < 0.5:  # near the products, or cancelling some of them
        c = ordinary(r, out)
    hexed = lambda values, fmt: "".join(f"{v:0{WIDTH[fmt] // 4}x}" for v in values)
    return " ".join((hexed(a, fa), hexed(b, fb), hexed([c], out), hexed([dot(kind, a, b, c)], out)))


def main():
    folder, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 320
    r = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 20251)
    os.makedirs(folder, exist_ok=True)
    for kind, sizes in KINDS.items():
        for k in sizes:
            with open(os.path.join(folder, f"{kind}_k{k}.txt"), "w") as f:
                f.writelines(line(r, kind, k, (ordinary, wide, extreme)[i * 3 // count]) + "\n" for i in range(count))


main()
