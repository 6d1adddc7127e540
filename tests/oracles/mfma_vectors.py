#!/usr/bin/env python3
"""Writes tests/data/mfma/*.bin from mfma_reference.py: one file per element kind and number of multiplied elements K, one
output element a record, little endian: a[0..K-1] b[0..K-1] in order of k, c, d. c and d are 64 bits wide for f64, else 32.

    mfma_vectors.py OUTPUT_FOLDER [COUNT [SEED]]

K is what one output element multiplies: half the instruction's K for SMFMAC, which follows the same rules over the
elements of B that its indices select. The first third of the records has ordinary magnitudes, the next mixes wide
exponents, subnormals and zeros, the last is rich in infinities, NaNs, signed zeros and values at the ends of the range.
They stand apart so that an implementation's faster ways for ordinary operands, chosen per instruction, are met as well.
"""
import multiprocessing, os, random, sys

from mfma_reference import FORMATS, dot, random_bits

KINDS = {"f64": (4,), "f32": (1, 2, 4), "xf32": (4, 8), "f16": (4, 8, 16), "bf16": (4, 8, 16),
         "i8": (4, 16, 32), "fp8_fp8": (16, 32), "fp8_bf8": (16, 32), "bf8_fp8": (16, 32), "bf8_bf8": (16, 32)}
WIDTH = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "i8": 8, "i32": 32}


def wide(r, fmt):
    return random_bits(r, fmt, WIDTH[fmt]) if fmt in FORMATS else r.getrandbits(WIDTH[fmt])


def ordinary(r, fmt):
    if fmt not in FORMATS:
        return r.randint(-9, 9) % (1 << WIDTH[fmt])
    eb, fb, bias, _ = FORMATS[fmt]
    e = min(max(bias + r.randint(-2, 2), 1), (1 << eb) - 2)
    return r.getrandbits(1) << (WIDTH[fmt] - 1) | e << fb | r.getrandbits(fb)


def extreme(r, fmt):
    if fmt not in FORMATS:
        return r.choice((0, 1, -1, -1 << (WIDTH[fmt] - 1), (1 << (WIDTH[fmt] - 1)) - 1)) % (1 << WIDTH[fmt])
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


def formats(kind):
    """of A, B and the accumulator"""
    fa, fb = kind.split("_") if "_" in kind else (("f32",) * 2 if kind == "xf32" else (kind, kind))
    return fa, fb, {"f64": "f64", "i8": "i32"}.get(kind, "f32")


def record(r, kind, k, draw):
    fa, fb, out = formats(kind)
    a, b = [draw(r, fa) for _ in range(k)], [draw(r, fb) for _ in range(k)]
    c = draw(r, out)
    if draw is not extreme and r.random() < 0.5:  # near the products, or cancelling some of them
        c = ordinary(r, out)
    packed = lambda values, fmt: b"".join(v.to_bytes(WIDTH[fmt] // 8, "little") for v in values)
    return packed(a, fa) + packed(b, fb) + packed([c, dot(kind, a, b, c)], out)


def write(job):
    folder, kind, k, count, seed = job
    r = random.Random(f"{seed} {kind} {k}")
    with open(os.path.join(folder, f"{kind}_k{k}.bin"), "wb") as f:
        f.writelines(record(r, kind, k, (ordinary, wide, extreme)[i * 3 // count]) for i in range(count))


def main():
    folder = sys.argv[1]
    count, seed = (int(a) if a else d for a, d in zip(sys.argv[2:4] + [""] * 2, (2048, 20251)))
    os.makedirs(folder, exist_ok=True)
    with multiprocessing.Pool(2) as pool:
        pool.map(write, [(folder, kind, k, count, seed) for kind, sizes in KINDS.items() for k in sizes], chunksize=1)


if __name__ == "__main__":
    main()
