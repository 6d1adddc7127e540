#!/usr/bin/env python3
"""Test vectors for what tests/oracles/isa/vectors.py leaves out: DPP controls, SDWA selects, output modifiers, clamps, and
constants and SGPRs as sources of vector instructions. Expected values are computed here, from the CDNA3 ISA manual's
descriptions ("Data Parallel Processing (DPP)", "Sub-Dword Addressing (SDWA)", "Output Modifiers", "Constants"), in exact
arithmetic. Same format (tests/oracles/isa/README.md).

    isa_modifiers.py > tests/data/isa_modifiers.jsonl
"""
import json, random, struct, sys
from fractions import Fraction as F

from mfma_reference import FORMATS, decode, encode, value

ALL = (1 << 64) - 1
M32 = (1 << 32) - 1
IEEE_KEEP, FLUSH_ALL, FLUSH32, KEEP, NO_DX10 = 0x3F0, 0x100, 0x1C0, 0x1F0, 0x0F0  # MODE
rng = random.Random(942)
lines = []


def hexed(x):
    return f"{x:x}"


def regs(values, width=32):
    """{register: one value or 64} as the format has it; registers whose lanes agree stay one list"""
    return {str(r): [hexed(x) for x in v] if isinstance(v, list) else hexed(v) for r, v in values.items()}


def emit(asm, v, out_v, *, s=None, out_s=None, vcc=None, out_vcc=None, exec_=ALL, mode=IEEE_KEEP, nan=()):
    state = {"v": regs(v), "exec": hexed(exec_)}
    if mode != IEEE_KEEP: state["mode"] = hexed(mode)
    out = {"v": regs(out_v)}
    if s: state["s"] = {str(r): hexed(x) for r, x in s.items()}
    if out_s: out["s"] = {str(r): hexed(x) for r, x in out_s.items()}
    if vcc is not None: state["vcc"] = hexed(vcc)
    if out_vcc is not None: out["vcc"] = hexed(out_vcc)
    line = {"asm": asm, "in": state, "out": out}
    if nan: line["nan"] = list(nan)
    lines.append(json.dumps(line, separators=(",", ":")))


# ------------------------------------------------------------------------------------------------ DPP

def dpp_controls():
    """(text, source lane of each lane or None)"""
    row = lambda f: [None if f(l % 16) is None else l // 16 * 16 + f(l % 16) for l in range(64)]
    for p in ((0, 1, 2, 3), (0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3), (1, 0, 3, 2), (2, 3, 0, 1),
              (3, 2, 1, 0), (0, 0, 2, 2), (1, 1, 3, 3), (0, 2, 1, 3), (1, 2, 3, 0), (3, 0, 1, 2)):
        yield f"quad_perm:[{','.join(map(str, p))}]", [l // 4 * 4 + p[l % 4] for l in range(64)]
    for n in range(1, 16):
        yield f"row_shl:{n}", row(lambda i: i + n if i + n < 16 else None)
        yield f"row_shr:{n}", row(lambda i: i - n if i >= n else None)
        yield f"row_ror:{n}", row(lambda i: (i - n) % 16)
    yield "wave_shl:1", [l + 1 if l < 63 else None for l in range(64)]
    yield "wave_rol:1", [(l + 1) % 64 for l in range(64)]
    yield "wave_shr:1", [l - 1 if l else None for l in range(64)]
    yield "wave_ror:1", [(l - 1) % 64 for l in range(64)]
    yield "row_mirror", row(lambda i: 15 - i)
    yield "row_half_mirror", row(lambda i: i // 8 * 8 + 7 - i % 8)
    yield "row_bcast:15", [l // 16 * 16 - 1 if l >= 16 else None for l in range(64)]
    yield "row_bcast:31", [31 if l >= 32 else None for l in range(64)]
    for n in range(16):
        yield f"row_newbcast:{n}", row(lambda i: n)


def dpp_lanes(source, row_mask, bank_mask, bound, exec_):
    """per lane: None where nothing is written, else the source lane, or -1 for a zero"""
    for l in range(64):
        enabled = exec_ >> l & 1 and row_mask >> l // 16 & 1 and bank_mask >> l % 16 // 4 & 1
        valid = source[l] is not None and exec_ >> source[l] & 1
        yield (source[l] if valid else -1 if bound else None) if enabled else None


def dpp_vectors():
    sparse = 0x5AF1_93C7_FFFF_0F0E
    masks = [(0xF, 0xF, False, ALL), (0xF, 0xF, True, ALL), (0xA, 0xF, False, ALL), (0xF, 0x5, True, ALL),
             (0xF, 0xF, False, sparse), (0xF, 0xF, True, sparse), (0x6, 0xC, True, sparse)]
    table = list(dpp_controls())
    for number, (text, source) in enumerate(table):
        # Every control unmasked; masks, bounds and EXEC vary from control to control, and all of them on every sixth.
        chosen = masks if number % 6 == 0 else [masks[0], masks[1 + number % 6]]
        for row_mask, bank_mask, bound, exec_ in chosen:
            suffix = f"{text} row_mask:{row_mask:#x} bank_mask:{bank_mask:#x}" + (" bound_ctrl:0" if bound else "")
            a, old = [0x40 + l for l in range(64)], 0xF
            lanes = list(dpp_lanes(source, row_mask, bank_mask, bound, exec_))
            emit(f"v_mov_b32_dpp v4, v8 {suffix}", {4: [old] * 64, 8: a},
                 {4: [old if l is None else 0 if l < 0 else a[l] for l in lanes]}, exec_=exec_)
    # Two sources, of which the first moves; the destination's old value stays where nothing is written.
    for number, (text, source) in enumerate(table):
        bound, row_mask, bank_mask = number % 2 == 0, (0xF, 0xB, 0x7)[number % 3], (0xF, 0xD)[number % 2]
        suffix = f"{text} row_mask:{row_mask:#x} bank_mask:{bank_mask:#x}" + (" bound_ctrl:0" if bound else "")
        lanes = list(dpp_lanes(source, row_mask, bank_mask, bound, ALL))
        a, b = [5 * l for l in range(64)], [l % 7 for l in range(64)]
        pick = number % 4
        if pick == 0:
            emit(f"v_sub_u32_dpp v4, v8, v12 {suffix}", {4: [7] * 64, 8: a, 12: b},
                 {4: [7 if l is None else ((0 if l < 0 else a[l]) - b[i]) & M32 for i, l in enumerate(lanes)]})
        elif pick == 1:
            emit(f"v_xor_b32_dpp v4, v8, v4 {suffix}", {4: b, 8: a},
                 {4: [b[i] if l is None else (0 if l < 0 else a[l]) ^ b[i] for i, l in enumerate(lanes)]})
        elif pick == 2:
            x, y = [f32(F(l, 4)) for l in range(64)], [f32(F(3 - l % 5)) for l in range(64)]
            emit(f"v_mul_f32_dpp v4, -v8, |v12| {suffix}", {4: [7] * 64, 8: x, 12: y},
                 {4: [7 if l is None else multiply32((0 if l < 0 else x[l]) ^ 0x80000000, y[i] & 0x7FFFFFFF)
                      for i, l in enumerate(lanes)]})
        else:  # a carry is made where the lane is written
            carries = [(0 if l is None or l < 0 else a[l]) + (0xFFFFFF80 if l is not None else 0)
                       for l in lanes]
            if None in lanes:
                continue
            emit(f"v_add_co_u32_dpp v4, vcc, v8, v12 {suffix}", {4: [7] * 64, 8: a, 12: [0xFFFFFF80] * 64},
                 {4: [c & M32 for c in carries]}, vcc=0,
                 out_vcc=sum(1 << i for i, c in enumerate(carries) if c >> 32))
    for n in range(16):  # the only control of 64-bit moves
        low, high = list(range(64)), [0x40 + l for l in range(64)]
        pick = lambda v: [v[l // 16 * 16 + n] for l in range(64)]
        emit(f"v_mov_b64_dpp v[4:5], v[8:9] row_newbcast:{n} row_mask:0xf bank_mask:0xf",
             {4: [1] * 64, 5: [2] * 64, 8: low, 9: high}, {4: pick(low), 5: pick(high)})


# ------------------------------------------------------------------------------------------------ numbers

def f32(x): return encode("f32", x)


def finite(fmt, bits): return not isinstance(decode(fmt, bits), str)


def multiply32(a, b):
    """of finite values"""
    x = value(decode("f32", a)) * value(decode("f32", b))
    return encode("f32", x, bool((a ^ b) >> 31))


def special_of(fmt, a, b, multiply):
    """NaN or infinity of a sum or product, or None"""
    x, y = decode(fmt, a), decode(fmt, b)
    top = FORMATS[fmt][0] + FORMATS[fmt][1]
    if "nan" in (x, y): return "nan"
    if isinstance(x, str) or isinstance(y, str):
        sa, sb = a >> top & 1, b >> top & 1
        if multiply:
            if any(not isinstance(v, str) and v[0] == 0 for v in (x, y)): return "nan"
            return "-inf" if sa ^ sb else "+inf"
        if isinstance(x, str) and isinstance(y, str) and sa != sb: return "nan"
        return x if isinstance(x, str) else y
    return None


def bits_of(fmt, special):
    eb, fb, _, _ = FORMATS[fmt]
    infinity = ((1 << eb) - 1) << fb
    return infinity | 1 << (fb - 1) if special == "nan" else infinity | (special[0] == "-") << (eb + fb)


def flushed(fmt, bits):
    eb, fb, _, _ = FORMATS[fmt]
    return bits if bits >> fb & ((1 << eb) - 1) else bits & 1 << (eb + fb)


def rounded(fmt, op, a, b, flush):
    """a op b with round to nearest even; `flush` denormal inputs and results"""
    if flush: a, b = flushed(fmt, a), flushed(fmt, b)
    special = special_of(fmt, a, b, op == "mul")
    if special: return bits_of(fmt, special)
    x, y = value(decode(fmt, a)), value(decode(fmt, b))
    top = FORMATS[fmt][0] + FORMATS[fmt][1]
    if op == "mul":
        r = encode(fmt, x * y, bool((a ^ b) >> top & 1))
    else:
        r = encode(fmt, x + y, bool(a >> top & 1 and b >> top & 1))
    return flushed(fmt, r) if flush else r


EDGES = {"f32": [0, 0x80000000, 1, 0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x3F000000, 0x40490FDB, 0xC2280000,
                 0x7F7FFFFF, 0xFF7FFFFF, 0x7F000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC01234, 0x00FFFFFF,
                 0x3F7FFFFF, 0x3F800001],
         "f16": [0, 0x8000, 1, 0x83FF, 0x0400, 0x3C00, 0xBC00, 0x3800, 0x4248, 0xD140, 0x7BFF, 0xFBFF, 0x7800, 0x7C00,
                 0xFC00, 0x7E00, 0x3BFF, 0x3C01],
         "f64": [0, 1 << 63, 1, 0x3FF << 52, 0xBFF << 52, 0x3FE << 52, 0x400921FB54442D18, 0x7FEFFFFFFFFFFFFF,
                 0x7FE << 52, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, 1 << 52, 0x3FEFFFFFFFFFFFFF]}
WIDTH = {"f32": 32, "f16": 16, "f64": 64}


def pairs(fmt, count):
    every = [(a, b) for a in EDGES[fmt] for b in EDGES[fmt]]
    return rng.sample(every, min(count, len(every)))


def modify(fmt, bits, omod, clamp, mode):
    """what the output modifiers make of a result. omod works only without output denormals and without IEEE mode, and
    turns -0 to +0; a clamp's NaN is 0 with DX10_CLAMP"""
    eb, fb, _, _ = FORMATS[fmt]
    sign = 1 << (eb + fb)
    denormals = mode >> (4 if fmt == "f32" else 6) & 2
    if omod and not denormals and not mode & 0x200:
        if finite(fmt, bits):
            bits = flushed(fmt, encode(fmt, value(decode(fmt, bits)) * {2: F(2), 4: F(4), -2: F(1, 2)}[omod],
                                       bool(bits & sign)))
        if bits == sign: bits = 0
    if clamp:
        d = decode(fmt, bits)
        if d == "nan": return 0 if mode & 0x100 else bits
        x = F(2) if d == "+inf" else F(-1) if d == "-inf" else value(d)
        bits = encode(fmt, F(1)) if x > 1 else 0 if x < 0 else bits
    return bits


def modifier_vectors():
    names = {2: " mul:2", 4: " mul:4", -2: " div:2", 0: ""}
    for fmt in ("f32", "f16", "f64"):
        for op in ("add", "mul"):
            for mode in (IEEE_KEEP, FLUSH_ALL, FLUSH32, KEEP, NO_DX10):
                denormals = mode >> (4 if fmt == "f32" else 6) & 3
                for omod, clamp in ((2, False), (4, False), (-2, False), (0, True), (2, True), (-2, True)):
                    if mode not in (FLUSH_ALL, FLUSH32) and omod not in (2, 0): continue
                    columns = []
                    for a, b in pairs(fmt, 64):
                        plain = rounded(fmt, op, a, b, denormals == 0)
                        want = modify(fmt, plain, omod, clamp, mode)
                        # A clamped -0 may be either zero, and so may the sign of a NaN.
                        if clamp and plain << 1 & (1 << WIDTH[fmt]) - 1 == 0 and plain: continue
                        if clamp and want << 1 & (1 << WIDTH[fmt]) - 1 == 0 and want: continue
                        columns.append((a, b, want))
                    columns = columns[:24]
                    a, b, want = map(list, zip(*columns))
                    nan = [{"reg": "v4", "lane": i, "lsb": 0, "width": WIDTH[fmt]} for i, x in enumerate(want)
                           if decode(fmt, x) == "nan"]
                    suffix = (" clamp" if clamp else "") + names[omod]
                    exec_ = (1 << len(a)) - 1
                    if fmt == "f64":
                        low, high = (lambda v: [x & M32 for x in v]), (lambda v: [x >> 32 for x in v])
                        emit(f"v_{op}_f64 v[4:5], v[8:9], v[12:13]{suffix}",
                             {8: low(a), 9: high(a), 12: low(b), 13: high(b)}, {4: low(want), 5: high(want)},
                             exec_=exec_, mode=mode, nan=nan)
                    else:
                        emit(f"v_{op}_{fmt}_e64 v4, v8, v12{suffix}", {8: a, 12: b}, {4: want}, exec_=exec_, mode=mode,
                             nan=nan)


# ------------------------------------------------------------------------------------------------ SDWA

SELECTS = {"BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8), "WORD_0": (0, 16),
           "WORD_1": (16, 16), "DWORD": (0, 32)}
UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")


def taken(bits, select, signed=False):
    lsb, width = SELECTS[select]
    x = bits >> lsb & (1 << width) - 1
    return (x - (1 << width)) & M32 if signed and x >> width - 1 else x


def put(old, result, select, unused):
    lsb, width = SELECTS[select]
    field = result & (1 << width) - 1
    if unused == "UNUSED_PRESERVE":
        return old & ~(((1 << width) - 1) << lsb) | field << lsb
    if unused == "UNUSED_SEXT" and field >> width - 1:
        field -= 1 << width
    return field << lsb & M32


def sdwa_vectors():
    dword = lambda: rng.choice([0, M32, 0x80000000, 0x7FFFFFFF, 0x8080FF7F, 0x00FF0180]) if rng.random() < .2 else \
        rng.getrandbits(32)
    for dst in SELECTS:
        for unused in UNUSED:
            for s0 in SELECTS:
                for s1 in SELECTS:
                    signed0, signed1 = rng.random() < .4, rng.random() < .4
                    op = rng.choice(("add_u32", "sub_u32", "and_b32", "xor_b32", "max_i32", "min_u32", "mul_u32_u24",
                                     "lshlrev_b32"))
                    a, b, old = [dword(), dword()], [dword(), dword()], [dword(), dword()]
                    wanted = []
                    for x, y, z in zip(a, b, old):
                        x, y = taken(x, s0, signed0), taken(y, s1, signed1)
                        as_int = lambda v: v - (1 << 32) if v >> 31 else v
                        r = {"add_u32": x + y, "sub_u32": x - y, "and_b32": x & y, "xor_b32": x ^ y,
                             "max_i32": max(as_int(x), as_int(y)), "min_u32": min(x, y),
                             "mul_u32_u24": (x & 0xFFFFFF) * (y & 0xFFFFFF), "lshlrev_b32": y << (x & 31)}[op]
                        wanted.append(put(z, r & M32, dst, unused))
                    x, y = ("sext(v8)" if signed0 else "v8"), ("sext(v12)" if signed1 else "v12")
                    emit(f"v_{op}_sdwa v4, {x}, {y} dst_sel:{dst} dst_unused:{unused} src0_sel:{s0} src1_sel:{s1}",
                         {4: old, 8: a, 12: b}, {4: wanted}, exec_=3)
    for dst in SELECTS:  # one source, and 16-bit floats in either half
        for unused in UNUSED:
            for s0 in SELECTS:
                a, old = dword(), dword()
                emit(f"v_mov_b32_sdwa v4, sext(v8) dst_sel:{dst} dst_unused:{unused} src0_sel:{s0}",
                     {4: [old], 8: [a]}, {4: [put(old, taken(a, s0, True), dst, unused)]}, exec_=1)
                emit(f"v_cvt_f32_u32_sdwa v4, v8 dst_sel:{dst} dst_unused:{unused} src0_sel:{s0}", {4: [old], 8: [a]},
                     {4: [put(old, f32(F(taken(a, s0))), dst, unused)]}, exec_=1)
    for op in ("add", "mul"):
        for s0 in ("WORD_0", "WORD_1"):
            for s1 in ("WORD_0", "WORD_1"):
                for dst in ("WORD_0", "WORD_1", "DWORD"):
                    for neg0, abs1 in ((False, False), (True, False), (False, True), (True, True)):
                        columns = [(x | rng.getrandbits(16) << 16 if s0 == "WORD_0" else x << 16 | rng.getrandbits(16),
                                    y | rng.getrandbits(16) << 16 if s1 == "WORD_0" else y << 16 | rng.getrandbits(16),
                                    x ^ 0x8000 if neg0 else x, y & 0x7FFF if abs1 else y) for x, y in pairs("f16", 12)]
                        r = [rounded("f16", op, x, y, False) for _, _, x, y in columns]
                        nan = [{"reg": "v4", "lane": i, "lsb": SELECTS[dst][0], "width": 16} for i, x in enumerate(r)
                               if decode("f16", x) == "nan"]
                        unused = rng.choice(UNUSED if dst != "DWORD" else UNUSED[:1])
                        if nan and unused == "UNUSED_SEXT" and dst == "WORD_0": unused = "UNUSED_PAD"
                        emit(f"v_{op}_f16_sdwa v4, {'-' if neg0 else ''}v8, {'|v12|' if abs1 else 'v12'} dst_sel:{dst} "
                             f"dst_unused:{unused} src0_sel:{s0} src1_sel:{s1}",
                             {4: [0x5A5A5A5A] * 12, 8: [c[0] for c in columns], 12: [c[1] for c in columns]},
                             {4: [put(0x5A5A5A5A, x, dst, unused) for x in r]}, exec_=0xFFF, nan=nan)
    for s0 in SELECTS:  # compares, to VCC and to an SGPR pair; an SGPR source
        for s1 in SELECTS:
            signed = rng.random() < .5
            op, holds = rng.choice((("lt", lambda x, y: x < y), ("eq", lambda x, y: x == y), ("ge", lambda x, y: x >= y)))
            a, b = [dword() for _ in range(9)], [dword() for _ in range(9)]
            b[3], b[5] = a[3], a[5]
            kind = "i32" if signed else "u32"
            number = lambda v: v - (1 << 32) if signed and v >> 31 else v
            mask = sum(1 << i for i, (x, y) in enumerate(zip(a, b)) if 0x1F7 >> i & 1 and
                       holds(number(taken(x, s0, signed)), number(taken(y, s1, signed))))
            x, y = ("sext(v8)", "sext(v12)") if signed else ("v8", "v12")
            emit(f"v_cmp_{op}_{kind}_sdwa vcc, {x}, {y} src0_sel:{s0} src1_sel:{s1}", {8: a, 12: b}, {}, exec_=0x1F7,
                 vcc=0xFFF, out_vcc=mask)
            emit(f"v_cmp_{op}_{kind}_sdwa s[6:7], {x}, {y} src0_sel:{s0} src1_sel:{s1}", {8: a, 12: b}, {}, exec_=0x1F7,
                 s={6: 0xFFF, 7: 5}, out_s={6: mask, 7: 0})
            r = (taken(0x89ABCDEF, s0) + taken(b[0], s1)) & M32
            emit(f"v_add_u32_sdwa v4, s9, v12 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:{s0} src1_sel:{s1}",
                 {12: b[:1]}, {4: [r]}, exec_=1, s={9: 0x89ABCDEF})
            r = [taken(x, s0) if vcc else taken(y, s1) for x, y, vcc in zip(a, b, (0, 1, 1, 0))]
            emit(f"v_cndmask_b32_sdwa v4, v12, v8, vcc dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:{s1} src1_sel:{s0}",
                 {8: a[:4], 12: b[:4]}, {4: r}, exec_=0xF, vcc=6)


# ------------------------------------------------------------------------------------------------ integer clamps

def saturated(x, width, signed):
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    return min(max(x, low), high) & (1 << width) - 1


def integer_clamp_vectors():
    def number(width, signed):
        edge = [0, 1, (1 << width) - 1, 1 << width - 1, (1 << width - 1) - 1]
        x = rng.choice(edge) if rng.random() < .5 else rng.getrandbits(width)
        return x, x - (1 << width) if signed and x >> width - 1 else x

    for op, width, signed, text in (("add", 32, False, "v_add_u32_e64 v4, v8, v12 clamp"),
                                    ("sub", 32, False, "v_sub_u32_e64 v4, v8, v12 clamp"),
                                    ("rsub", 32, False, "v_subrev_u32_e64 v4, v8, v12 clamp"),
                                    ("add", 32, True, "v_add_i32 v4, v8, v12 clamp"),
                                    ("sub", 32, True, "v_sub_i32 v4, v8, v12 clamp"),
                                    ("add", 16, False, "v_add_u16_e64 v4, v8, v12 clamp"),
                                    ("sub", 16, False, "v_sub_u16_e64 v4, v8, v12 clamp"),
                                    ("add", 16, True, "v_add_i16 v4, v8, v12 clamp"),
                                    ("sub", 16, True, "v_sub_i16 v4, v8, v12 clamp")):
        rows = []
        for _ in range(32):
            (a, x), (b, y) = number(width, signed), number(width, signed)
            rows.append((a, b, saturated({"add": x + y, "sub": x - y, "rsub": y - x}[op], width, signed)))
        a, b, want = map(list, zip(*rows))
        emit(text, {4: [0] * 32, 8: a, 12: b}, {4: want}, exec_=M32)
    for op, carry in (("add", 0), ("sub", 0), ("subrev", 0), ("addc", 1), ("subb", 1), ("subbrev", 1)):
        rows, out, carry_in = [], 0, 0
        for i in range(32):
            (a, x), (b, y) = number(32, False), number(32, False)
            c = rng.getrandbits(1) if carry else 0
            carry_in |= c << i
            r = x + y + c if op.startswith("add") else y - x - c if "rev" in op else x - y - c
            out |= (r < 0 or r >> 32 != 0) << i
            rows.append((a, b, saturated(r, 32, False)))
        a, b, want = map(list, zip(*rows))
        emit(f"v_{op}_co_u32_e64 v4, s[6:7], v8, v12{', s[8:9]' if carry else ''} clamp", {8: a, 12: b}, {4: want},
             s={6: 0, 7: 0, 8: carry_in, 9: 0}, out_s={6: out, 7: 0}, exec_=M32)
    for signed in (False, True):  # packed halves
        kind = "i16" if signed else "u16"
        for op in ("add", "sub", "mad"):
            rows = []
            for _ in range(32):
                halves = []
                for _ in range(2):
                    (a, x), (b, y), (c, z) = (number(16, signed) for _ in range(3))
                    halves.append((a, b, c, saturated({"add": x + y, "sub": x - y, "mad": x * y + z}[op], 16, signed)))
                rows.append([halves[0][i] | halves[1][i] << 16 for i in range(4)])
            a, b, c, want = map(list, zip(*rows))
            if op == "mad":
                emit(f"v_pk_mad_{kind} v4, v8, v12, v16 clamp", {8: a, 12: b, 16: c}, {4: want}, exec_=M32)
            else:
                emit(f"v_pk_{op}_{kind} v4, v8, v12 clamp", {8: a, 12: b}, {4: want}, exec_=M32)
    for name, width, signed in (("v_dot2_i32_i16", 16, True), ("v_dot2_u32_u16", 16, False), ("v_dot4_i32_i8", 8, True),
                                ("v_dot4_u32_u8", 8, False), ("v_dot8_i32_i4", 4, True), ("v_dot8_u32_u4", 4, False)):
        rows = []
        for _ in range(32):
            total, a, b = 0, 0, 0
            for i in range(32 // width):
                (p, x), (q, y) = number(width, signed), number(width, signed)
                a, b, total = a | p << i * width, b | q << i * width, total + x * y
            c, z = number(32, signed)
            rows.append((a, b, c, saturated(total + z, 32, signed)))
        a, b, c, want = map(list, zip(*rows))
        emit(f"{name} v4, v8, v12, v16 clamp", {8: a, 12: b, 16: c}, {4: want}, exec_=M32)
    for signed in (False, True):
        rows = []
        for _ in range(32):
            (a, x), (b, y), (c, z) = number(24, signed), number(24, signed), number(32, signed)
            rows.append((a | rng.getrandbits(8) << 24, b, c, saturated(x * y + z, 32, signed)))
        a, b, c, want = map(list, zip(*rows))
        emit(f"v_mad_{'i32_i24' if signed else 'u32_u24'} v4, v8, v12, v16 clamp", {8: a, 12: b, 16: c}, {4: want},
             exec_=M32)


# ------------------------------------------------------------------------------------------------ constants, SGPRs

def constant_vectors():
    floats = [("0.5", F(1, 2)), ("-0.5", F(-1, 2)), ("1.0", F(1)), ("-1.0", F(-1)), ("2.0", F(2)), ("-2.0", F(-2)),
              ("4.0", F(4)), ("-4.0", F(-4))]
    pi = {"f32": 0x3E22F983, "f16": 0x3118, "f64": 0x3FC45F306DC9C882}  # 1/(2 pi) as the manual lists it
    for fmt in ("f32", "f16", "f64"):
        width = WIDTH[fmt]
        constants = [(text, encode(fmt, x)) for text, x in floats] + [("0.15915494309189532", pi[fmt])]
        constants += [(str(n), n % (1 << width)) for n in (0, 1, 2, 31, 63, 64, -1, -2, -15, -16)]
        for text, bits in constants:
            b = rng.sample([x for x in EDGES[fmt] if finite(fmt, x)], 8)
            want = [rounded(fmt, "add", bits, x, False) for x in b]
            if decode(fmt, bits) == "nan": continue  # small negative integers are NaNs as floats
            if fmt == "f64":
                emit(f"v_add_f64 v[4:5], {text}, v[8:9]", {8: [x & M32 for x in b], 9: [x >> 32 for x in b]},
                     {4: [x & M32 for x in want], 5: [x >> 32 for x in want]}, exec_=0xFF)
            else:
                emit(f"v_add_{fmt}_e32 v4, {text}, v8", {8: b}, {4: want}, exec_=0xFF)
    for text, bits in [(t, f32(x)) for t, x in floats] + [(str(n), n & M32) for n in range(-16, 65)] + \
            [("0x12345678", 0x12345678), ("0xfffff000", 0xFFFFF000)]:
        b = [rng.getrandbits(32) for _ in range(4)]
        emit(f"v_xor_b32_e32 v4, {text}, v8", {8: b}, {4: [bits ^ x for x in b]}, exec_=0xF)
    for n in (0, 1, 64, -1, -16):  # 64-bit integers extend the sign of an inline constant
        emit(f"v_lshl_add_u64 v[4:5], {n}, 3, v[8:9]", {8: [5], 9: [0x1000]},
             {4: [((n << 3) + (0x1000 << 32 | 5)) & M32], 5: [(((n << 3) + (0x1000 << 32 | 5)) >> 32) & M32]}, exec_=1)
    for n, text in ((0x40490FDB, "0x40490fdb"), (0xC0000000, "0xc0000000")):  # an f64 literal is the high half
        for x in (F(1, 3), F(-7)):
            a = encode("f64", x)
            r = rounded("f64", "add", n << 32, a, False)
            emit(f"v_add_f64 v[4:5], v[8:9], s[6:7]", {8: [a & M32], 9: [a >> 32]}, {4: [r & M32], 5: [r >> 32]},
                 s={6: 0, 7: n}, exec_=1)
    a = [rng.getrandbits(32) for _ in range(6)]
    for asm, f in (("v_sub_u32_e32 v4, s9, v8", lambda x: (0xF00DCAFE - x) & M32),
                   ("v_lshl_or_b32 v4, v8, s9, s9", lambda x: (x << (0xF00DCAFE & 31)) & M32 | 0xF00DCAFE),
                   ("v_bfi_b32 v4, s9, v8, 0", lambda x: x & 0xF00DCAFE),
                   ("v_and_or_b32 v4, v8, 15, s9", lambda x: x & 15 | 0xF00DCAFE),
                   ("v_add3_u32 v4, s9, v8, 64", lambda x: (0xF00DCAFE + x + 64) & M32),
                   ("v_perm_b32 v4, v8, s9, s9", None)):
        if f: emit(asm, {8: a}, {4: [f(x) for x in a]}, s={9: 0xF00DCAFE}, exec_=0x3F)


def main():
    dpp_vectors()
    sdwa_vectors()
    modifier_vectors()
    integer_clamp_vectors()
    constant_vectors()
    print("\n".join(lines))


main()
