"""Paged attention, decode, head size 128, pages of 16 tokens: one query token per sequence.

out[s,h] = softmax_t(q[s,h] . k[t,h/group] / sqrt(128)) v[t,h/group] over the lengths[s] tokens that the page table names.
"""

import numpy as np

from case import Case, ceil_div
from number_formats import bf16_bits, bf16_val, fp8_codes, fp8_val

HEAD, PAGE = 128, 16


def build(rng, kernel, group, kv_heads, lengths, spare=3, table_pad=2, cache="noquant", reference=True):
    base = f"pa_bf16_{cache}_{kernel}"
    plain = cache == "noquant"
    sequences, heads = len(lengths), group * kv_heads
    case = Case("pa", base, (256, 1, 1), (kv_heads, sequences, 1), segment=272 if plain else 256)
    needed = [ceil_div(n, PAGE) for n in lengths]
    row, pages = max(needed) + table_pad, sum(needed) + spare
    order = rng.permutation(pages)
    table = np.full((sequences, row), -12345, np.int32)  # what lies past the context must never be used
    first = 0
    for s, count in enumerate(needed):
        table[s, :count] = order[first : first + count]
        first += count
    kind = {"noquant": "bf16", "pertokenFp8": "fp8_e4m3fnuz", "pertokenInt8": "i8"}[cache]
    size = 2 if plain else 1
    case.data("BT", table, "i32")
    case.data("CL", np.array(lengths, np.int32), "i32")
    case.fill("O", (sequences, heads, HEAD), "bf16", "poison")
    case.pointers(
        (
            (0, "O"),
            (16, "Q"),
            (32, "K"),
            (48, "V"),
            (64, "BT"),
            (80, "CL"),
            (96, None if plain else "KQ"),
            (112, None if plain else "VQ"),
            (256, None),
        )
    )
    case.real(128, np.log2(np.e) / np.sqrt(HEAD))
    case.words(
        (
            (144, row),
            (160, kv_heads),
            (176, heads * HEAD * 2),
            (192, kv_heads * HEAD * PAGE * size),
            (208, HEAD * PAGE * size),
            (224, 0),
            (240, group),
        )
    )
    if not reference:
        low, high = (-127, 127) if kind == "i8" else (-1, 1)
        case.uniform("Q", (sequences, heads, HEAD), "bf16", -2, 2)
        case.uniform("K", (pages, kv_heads, HEAD * PAGE), kind, low, high)
        case.uniform("V", (pages, kv_heads, HEAD * PAGE), kind, low, high)
        if not plain:
            step = 1 / 127 if kind == "i8" else 1
            case.uniform("KQ", (pages, kv_heads, PAGE), "f32", 0.5 * step, step)
            case.uniform("VQ", (pages, kv_heads, PAGE), "f32", 0.5 * step, step)
        return case

    q = bf16_bits(rng.uniform(-1, 1, (sequences, heads, HEAD)) * 2)
    k_real, v_real = (rng.uniform(-1, 1, (pages, PAGE, kv_heads, HEAD)) for _ in range(2))
    if plain:
        k, v = bf16_bits(k_real), bf16_bits(v_real)
        k_value, v_value = bf16_val(k).astype(np.float64), bf16_val(v).astype(np.float64)
    else:  # one f32 scale per token and head
        largest = 240.0 if kind == "fp8_e4m3fnuz" else 127.0
        quantise = fp8_codes if kind == "fp8_e4m3fnuz" else (lambda x: np.rint(x).astype(np.int8))
        value = fp8_val if kind == "fp8_e4m3fnuz" else np.asarray
        k_scale, v_scale = ((np.abs(x).max(-1) / largest).astype(np.float32) for x in (k_real, v_real))
        k, v = quantise(k_real / k_scale[..., None]), quantise(v_real / v_scale[..., None])
        k_value, v_value = (
            value(x).astype(np.float64) * s.astype(np.float64)[..., None] for x, s in ((k, k_scale), (v, v_scale))
        )
        case.data("KQ", k_scale.transpose(0, 2, 1), "f32")  # [page, head, token]
        case.data("VQ", v_scale.transpose(0, 2, 1), "f32")
    piece = 16 // size  # elements in 16 bytes
    case.data("Q", q, "bf16")
    case.data("K", k.reshape(pages, PAGE, kv_heads, HEAD // piece, piece).transpose(0, 2, 3, 1, 4), kind)
    case.data("V", v.reshape(pages, PAGE // piece, piece, kv_heads, HEAD).transpose(0, 3, 1, 4, 2), kind)
    q_value = bf16_val(q).astype(np.float64)
    out = np.zeros((sequences, heads, HEAD))
    for s, length in enumerate(lengths):
        keys, values = (x[table[s, : needed[s]]].reshape(-1, kv_heads, HEAD)[:length] for x in (k_value, v_value))
        for h in range(heads):
            logits = keys[:, h // group] @ q_value[s, h] / np.sqrt(HEAD)
            weights = np.exp(logits - logits.max())
            out[s, h] = (weights / weights.sum()) @ values[:, h // group]
    if plain:  # probabilities and result pass through bf16
        case.expect("O", out, 2.0**-7, 6e-3 * float(np.max(np.abs(out))), l2=6e-3)
    else:  # query and probabilities are 8-bit inside
        case.expect("O", out, 2.0**-5, 0.05 * float(np.max(np.abs(out))), l2=8e-2)
    return case


CASES = {
    "gqa8_len70_300": dict(kernel="gqa8_1tg_4w", group=8, kv_heads=2, lengths=[70, 300]),
    "gqa8_len1_256_257_15": dict(kernel="gqa8_1tg_4w", group=8, kv_heads=1, lengths=[1, 256, 257, 15]),
    "gqa8_ratio5_len37_600": dict(kernel="gqa8_1tg_4w", group=5, kv_heads=2, lengths=[37, 600]),
    "gqa8_len1500_700": dict(kernel="gqa8_1tg_4w", group=8, kv_heads=1, lengths=[1500, 700]),
    "gqa16_len33_290": dict(kernel="gqa16_1tg_4w", group=16, kv_heads=1, lengths=[33, 290]),
    "gqa16_len1100": dict(kernel="gqa16_1tg_4w", group=16, kv_heads=1, lengths=[1100, 259]),
    "gqa16_len1700": dict(kernel="gqa16_1tg_4w", group=16, kv_heads=1, lengths=[1700]),
    "fp8_gqa8_len70_300": dict(kernel="gqa8_2tg_4w", group=8, kv_heads=2, lengths=[70, 300], cache="pertokenFp8"),
    "fp8_gqa8_len1500_700": dict(kernel="gqa8_2tg_4w", group=8, kv_heads=1, lengths=[1500, 700], cache="pertokenFp8"),
    "fp8_gqa16_len33_290": dict(kernel="gqa16_2tg_4w", group=16, kv_heads=1, lengths=[33, 290], cache="pertokenFp8"),
    "fp8_gqa16_len1700": dict(kernel="gqa16_2tg_4w", group=16, kv_heads=1, lengths=[1700], cache="pertokenFp8"),
    "int8_gqa8_len70_300": dict(kernel="gqa8_2tg_4w", group=8, kv_heads=2, lengths=[70, 300], cache="pertokenInt8"),
    "int8_gqa8_len1700": dict(kernel="gqa8_2tg_4w", group=8, kv_heads=1, lengths=[1700], cache="pertokenInt8"),
}
# The load of serving benchmarks: every sequence equally long, here 2,041 tokens (no multiple of a page or of 256, so the
# masked tail runs). 8 key heads of 64 (Llama 3 70B, Qwen2.5 72B on one GPU) and 8 of 128 (Llama 3 405B) make 512
# workgroups with 64 sequences, two rounds at one per CU.
EVERY = [2041] * 64
PRODUCTION = {
    name: (
        dict(kernel=kernel, group=group, kv_heads=8, lengths=EVERY, cache=cache, spare=64),
        f"decode of 64 sequences of 2,041 tokens, {8 * group} heads, 8 of them keys: 512 workgroups",
    )
    for name, kernel, group, cache in (
        ("gqa8", "gqa8_1tg_4w", 8, "noquant"),
        ("gqa16", "gqa16_1tg_4w", 16, "noquant"),
        ("fp8_gqa8", "gqa8_2tg_4w", 8, "pertokenFp8"),
        ("fp8_gqa16", "gqa16_2tg_4w", 16, "pertokenFp8"),
        ("int8_gqa8", "gqa8_2tg_4w", 8, "pertokenInt8"),
    )
}


def deep(arguments):
    return dict(arguments, kv_heads=1, lengths=[2041, 2041], spare=3)
