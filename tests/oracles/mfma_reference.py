#!/usr/bin/env python3
"""Bit-exact CDNA3 (gfx942) MFMA arithmetic in exact rational numbers: one output element at a time, slow on purpose.

dot(kind, a, b, c) -> f32 or f64 bit pattern of c + sum a[k]*b[k], as the matrix core rounds it.
kind: f64 f32 xf32 f16 bf16 fp8_fp8 fp8_bf8 bf8_fp8 bf8_bf8 i8; a, b: bit patterns in order of k; c: bit pattern.
Rules: P. Xie et al., arXiv 2511.10909.  Run as a program it prints random test vectors, one JSON object a line:
    mfma_reference.py KIND K COUNT SEED
"""
import json, random, struct, sys
from fractions import Fraction as F
from math import floor

FORMATS = {  # name: (exponent bits, fraction bits, bias, fnuz)
    "f64": (11, 52, 1023, False), "f32": (8, 23, 127, False), "f16": (5, 10, 15, False), "bf16": (8, 7, 127, False),
    "fp8": (4, 3, 8, True), "bf8": (5, 2, 16, True)}

class Special(Exception): pass

def decode(fmt, bits):
    """-> (significand, exponent): value = significand * 2^exponent with 1 <= |significand| < 2, below 1 for subnormals, or
    'nan', '+inf', '-inf'.  A zero has exponent -126."""
    eb, fb, bias, fnuz = FORMATS[fmt]
    s = -1 if bits >> (eb + fb) & 1 else 1
    e, f = bits >> fb & (1 << eb) - 1, bits & (1 << fb) - 1
    if fnuz:
        if bits == 1 << (eb + fb): return "nan"
    elif e == (1 << eb) - 1:
        return "nan" if f else ("+inf" if s > 0 else "-inf")
    if e == 0:
        return (F(0), -126) if f == 0 else (s * F(f, 1 << fb), 1 - bias)
    return s * (1 + F(f, 1 << fb)), e - bias

def value(d): return d[0] * F(2) ** d[1]

def encode(fmt, x, negative_zero=False):
    """round to nearest even, subnormals kept, overflow to infinity"""
    eb, fb, bias, _ = FORMATS[fmt]
    sign = (1 << (eb + fb)) if x < 0 or (x == 0 and negative_zero) else 0
    x = abs(x)
    if x == 0: return sign
    e = x.numerator.bit_length() - x.denominator.bit_length()
    if F(2) ** e > x: e -= 1
    e = max(e, 1 - bias)
    q = x / F(2) ** (e - fb); n = q.numerator // q.denominator; r = q - n
    if r > F(1, 2) or (r == F(1, 2) and n & 1): n += 1
    if n >> (fb + 1): n >>= 1; e += 1
    if e > (1 << eb) - 2 - bias: return sign | ((1 << eb) - 1) << fb
    return sign | (n if n < 1 << fb else (e + bias) << fb | n - (1 << fb))

def nan(fmt): eb, fb, _, _ = FORMATS[fmt]; return ((1 << eb) - 1) << fb | 1 << (fb - 1)
def inf(fmt, s): eb, fb, _, _ = FORMATS[fmt]; return (1 << (eb + fb) if s < 0 else 0) | ((1 << eb) - 1) << fb

def special(terms, c):
    """NaNs and infinities among a group's (a, b) pairs and c: 'nan', '+inf', '-inf' or None.  Finite products of 2^128 and
    more count as infinite, but only where no operand is infinite."""
    sign = lambda v: (1 if v[0] == "+" else -1) if isinstance(v, str) else (1 if v[0] > 0 else -1)
    real, overflow = set(), set()
    if c == "nan": return "nan"
    if isinstance(c, str): real.add(sign(c))
    for a, b in terms:
        if a == "nan" or b == "nan": return "nan"
        if isinstance(a, str) or isinstance(b, str):
            if any(not isinstance(v, str) and v[0] == 0 for v in (a, b)): return "nan"
            real.add(sign(a) * sign(b))
        elif abs(value(a) * value(b)) >= F(2) ** 128: overflow.add(sign(a) * sign(b))
    seen = real or overflow
    return None if not seen else "nan" if len(seen) == 2 else "+inf" if 1 in seen else "-inf"

def trunc(x): n = abs(x); n = n.numerator // n.denominator; return -n if x < 0 else n

def aligned_sum(pairs, bits=24):
    """sum of (significand, exponent), each cut toward zero to `bits` fraction bits at the largest exponent"""
    m = max(e for _, e in pairs)
    return sum(F(trunc(s * F(2) ** (bits + e - m)), 1 << bits) for s, e in pairs), m

def down(x, bits): return F(floor(x * (1 << bits)), 1 << bits)

def fused_group(a, b, c, two_halves):
    p = [(x[0] * y[0], x[1] + y[1]) for x, y in zip(a, b)]
    sc, ec = c
    if two_halves:                                     # 8-bit: even and odd k are added apart, then joined
        (s0, e0), (s1, e1) = aligned_sum(p[0::2]), aligned_sum(p[1::2])
        e = max(e0, e1); s = down(s0 * F(2) ** (e0 - e), 24) + down(s1 * F(2) ** (e1 - e), 24)
    else:
        s, e = aligned_sum(p)
    m = max(e, ec)
    s = down(s * F(2) ** (e - m), 31)
    sc = F(0) if two_halves and ec < m - 25 else down(sc * F(2) ** (ec - m), 24)
    return (s + sc) * F(2) ** m

def dot(kind, a, b, c):
    if kind == "i8":
        sx = lambda v: v - 256 if v & 128 else v
        return (c + sum(sx(x) * sx(y) for x, y in zip(a, b))) & 0xFFFFFFFF
    fa, fb = kind.split("_") if "_" in kind else (("f32",) * 2 if kind == "xf32" else (kind, kind))
    out = "f64" if kind == "f64" else "f32"
    if kind == "xf32": a, b = [x & 0xFFFFE000 for x in a], [x & 0xFFFFE000 for x in b]
    group = {"f64": 1, "f32": 1, "xf32": 4, "f16": min(8, len(a)), "bf16": min(8, len(a))}.get(kind, 16)
    acc = c
    for k in range(0, len(a), group):
        A, B, C = [decode(fa, x) for x in a[k:k + group]], [decode(fb, x) for x in b[k:k + group]], decode(out, acc)
        if group == 1:                                 # one fused multiply-add
            sp = special([(A[0], B[0])], C) if any(isinstance(v, str) for v in (A[0], B[0], C)) else None
            if sp: acc = nan(out) if sp == "nan" else inf(out, 1 if sp[0] == "+" else -1); continue
            x = value(A[0]) * value(B[0]) + value(C)
            neg = (a[k] ^ b[k]) >> (63 if out == "f64" else 31) & 1 and acc >> (63 if out == "f64" else 31) & 1
            acc = encode(out, x, bool(neg)); continue
        sp = special(list(zip(A, B)), C)
        if sp: acc = nan(out) if sp == "nan" else inf(out, 1 if sp[0] == "+" else -1); continue
        acc = encode(out, fused_group(A, B, C, "8" in fa and fa != "i8"))
    return acc

def random_bits(r, fmt, width):
    """mixes ordinary magnitudes with wide exponents, subnormals, zeros and specials"""
    t = r.random(); eb, fb, bias, _ = FORMATS[fmt]
    if t < 0.02: return r.choice([0, 1 << (width - 1)])
    if t < 0.04: return r.getrandbits(width)
    spread = 3 if t < 0.6 else (12 if t < 0.95 else 1 << (eb - 1))
    e = min(max(bias + r.randint(-spread, spread), 0), (1 << eb) - 2)
    return r.getrandbits(1) << (width - 1) | e << fb | r.getrandbits(fb)

if __name__ == "__main__":
    kind, k, n, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]); r = random.Random(seed)
    W = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8}
    fa, fb = kind.split("_") if "_" in kind else (("f32",) * 2 if kind == "xf32" else (kind, kind))
    out = "f64" if kind == "f64" else "f32"
    for _ in range(n):
        if kind == "i8": a, b, c = [r.getrandbits(8) for _ in range(k)], [r.getrandbits(8) for _ in range(k)], r.getrandbits(32)
        else: a, b, c = [random_bits(r, fa, W[fa]) for _ in range(k)], [random_bits(r, fb, W[fb]) for _ in range(k)], random_bits(r, out, W[out])
        print(json.dumps({"kind": kind, "a": a, "b": b, "c": c, "d": dot(kind, a, b, c)}))
