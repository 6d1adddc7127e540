"""Attention forward in batch mode: bf16 tensors [batch, sequence, head, dim], output bf16 and f32 log-sum-exp.

Causal objects mask to the bottom right: query i sees key j where j <= i + (keys - queries).
"""

import numpy as np

from case import Case, ceil_div
from number_formats import bf16_bits, bf16_val

VALUE = 128


def build(
    rng, batch, heads, kv_heads, queries, keys, causal=False, rounding="rtne", chip="MI300", dim=128, reference=True
):
    base = f"fwd_hd{'128' if dim == 128 else '192x128'}_bf16{'_causal' if causal else ''}_{rounding}"
    rows = 256 if dim == 128 else 128  # query rows of a workgroup
    tiles = ceil_div(queries, rows)
    if dim == 128:  # causal: a workgroup takes a tile and its mirror image
        workgroup, groups = (512, 1, 1), (ceil_div(tiles, 2) if causal else tiles, heads, batch)
    else:
        workgroup, groups = (256, 1, 1), (heads, tiles, batch)
    case = Case(f"fmha_v3_fwd/{chip}", "fmha_" + base, workgroup, groups, object_name=base)
    case.fill("R", (batch, queries, heads, VALUE), "bf16", "poison")
    case.fill("LSE", (batch, heads, queries), "f32", "poison")
    case.pointers(
        ((0, "R"), (16, "Q"), (32, "K"), (48, "V"), (64, "LSE"), (432, None), (448, None), (480, None), (496, None))
    )
    scale = 1 / np.sqrt(dim)
    case.real(80, scale)
    option = 0 if dim == 192 else 3 if causal and (heads % 8 or queries > 16384) else 5  # as the host chooses
    case.words(
        (
            (96, queries),
            (112, heads * dim * 2),
            (128, rows * heads * dim * 2),
            (144, dim * 2),
            (160, queries * heads * dim * 2),
            (176, heads // kv_heads),
            (192, kv_heads * dim * 2),
            (208, dim * 2),
            (224, keys * kv_heads * dim * 2),
            (240, option),
            (256, 1),
            (272, keys),
            (288, dim),
            (304, VALUE),
            (320, heads),
            (336, kv_heads * VALUE * 2),
            (352, VALUE * 2),
            (368, keys * kv_heads * VALUE * 2),
            (384, heads * VALUE * 2),
            (400, VALUE * 2),
            (416, queries * heads * VALUE * 2),
            (464, queries * 4),
        )
    )
    shapes = {"Q": (batch, queries, heads, dim), "K": (batch, keys, kv_heads, dim), "V": (batch, keys, kv_heads, VALUE)}
    if not reference:
        for name, shape in shapes.items():
            case.uniform(name, shape, "bf16", -2, 2)
        return case
    values = {}
    for name, shape in shapes.items():
        bits = bf16_bits(rng.normal(0, 1, shape))
        case.data(name, bits, "bf16")
        values[name] = bf16_val(bits).astype(np.float64)
    visible = np.ones((queries, keys), bool)
    if causal:
        visible = np.arange(keys)[None, :] <= np.arange(queries)[:, None] + (keys - queries)
    out, sums = np.zeros((batch, queries, heads, VALUE)), np.zeros((batch, heads, queries))
    for b in range(batch):
        for h in range(heads):
            shared = h // (heads // kv_heads)
            logits = np.where(visible, values["Q"][b, :, h] @ values["K"][b, :, shared].T * scale, -np.inf)
            largest = logits.max(1, keepdims=True)
            weights = np.exp(logits - largest)
            total = weights.sum(1, keepdims=True)
            out[b, :, h] = (weights / total) @ values["V"][b, :, shared]
            sums[b, h] = (largest + np.log(total))[:, 0]
    case.expect("R", out, 2.0**-7, 0.02, l2=8e-3)
    case.expect("LSE", sums, 1e-4, 1e-3)
    return case


CASES = {
    "hd128_rtne_300x200": dict(batch=1, heads=2, kv_heads=1, queries=300, keys=200),
    "hd128_rtne_b2_64x96": dict(batch=2, heads=2, kv_heads=2, queries=64, keys=96),
    "hd128_rtne_256x700": dict(batch=1, heads=1, kv_heads=1, queries=256, keys=700),
    "hd128_causal_rtne_300x300_opt3": dict(batch=1, heads=2, kv_heads=2, queries=300, keys=300, causal=True),
    "hd128_causal_rtne_70x333_opt3": dict(batch=2, heads=2, kv_heads=1, queries=70, keys=333, causal=True),
    "hd128_causal_rtne_h8_264x264_opt5": dict(batch=1, heads=8, kv_heads=8, queries=264, keys=264, causal=True),
    "hd128_rtz_128x64_mi308": dict(batch=1, heads=1, kv_heads=1, queries=128, keys=64, rounding="rtz", chip="MI308"),
    "hd128_rtz_256x700_mi308": dict(batch=1, heads=1, kv_heads=1, queries=256, keys=700, rounding="rtz", chip="MI308"),
    "hd192_rtne_150x100": dict(batch=1, heads=2, kv_heads=1, queries=150, keys=100, dim=192),
    "hd192_rtne_128x500": dict(batch=1, heads=1, kv_heads=1, queries=128, keys=500, dim=192),
    "hd192_causal_rtne_150x150": dict(batch=1, heads=2, kv_heads=2, queries=150, keys=150, causal=True, dim=192),
    "hd192_causal_rtne_500x500": dict(batch=1, heads=1, kv_heads=1, queries=500, keys=500, causal=True, dim=192),
}
# Prefill: 32 heads on 8 keys (Llama 3 8B, Qwen3 8B), two prompts of 4,096 tokens; 40 heads on 8 keys (Qwen2.5 14B and
# 32B); and the 16 heads that a rank of DeepSeek V3 on eight GPUs has (192 for keys, 128 for values).
PRODUCTION = {
    "hd128_rtne": (
        dict(batch=1, heads=40, kv_heads=8, queries=4096, keys=4096),
        "40 heads on 8, 4,096 tokens each way: 640 workgroups, two rounds",
    ),
    "hd128_causal_rtne": (
        dict(batch=2, heads=32, kv_heads=8, queries=4096, keys=4096, causal=True),
        "32 heads on 8, two prompts of 4,096 tokens: 512 workgroups of two tiles each",
    ),
    "hd128_rtz_mi308": (
        dict(batch=1, heads=40, kv_heads=8, queries=4096, keys=4096, rounding="rtz", chip="MI308"),
        "40 heads on 8, 4,096 tokens each way: 640 workgroups, two rounds",
    ),
    "hd192_rtne": (
        dict(batch=2, heads=16, kv_heads=16, queries=4096, keys=4096, dim=192),
        "DeepSeek V3 on eight GPUs, two chunks of 4,096 tokens against 4,096 earlier ones: 1,024 workgroups",
    ),
    "hd192_causal_rtne": (
        dict(batch=2, heads=16, kv_heads=16, queries=4096, keys=4096, causal=True, dim=192),
        "DeepSeek V3 on eight GPUs, two prompts of 4,096 tokens: 1,024 workgroups",
    ),
}


def deep(arguments):
    return dict(arguments, batch=1, heads=1, kv_heads=1, queries=256 if arguments.get("dim", 128) == 128 else 128)
