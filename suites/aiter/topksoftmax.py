"""Router: per token softmax over its expert logits, then the k largest in descending order."""

import numpy as np

from case import Case, ceil_div
from number_formats import bf16_bits, bf16_val


def build(rng, rows, experts, k, bf16, renormalise, tokens, pad, reference=True):
    base = f"topksoftmax_{rows}x{experts}x{k}" + ("_bf16" if bf16 else "")
    case = Case("topksoftmax", base, (256, 1, 1), (ceil_div(tokens, rows), 1, 1))
    stride = k + pad
    case.fill("T", (tokens, stride), "i32", "poison")
    case.fill("W", (tokens, stride), "f32", "poison")
    case.pointers(((0, "T"), (16, "W"), (32, "A")))
    case.words(((48, tokens), (64, experts), (80, k), (96, renormalise), (112, stride * 4)))
    if not reference:
        case.uniform("A", (tokens, experts), "bf16" if bf16 else "f32", -4, 4)
        return case
    if bf16:  # distinct logits in a row, so that the order is unambiguous
        pool = np.unique(bf16_val(bf16_bits(np.linspace(-4, 4, 4 * experts))).astype(np.float64))
        logits = np.stack([rng.permutation(pool)[:experts] for _ in range(tokens)])
        case.data("A", bf16_bits(logits), "bf16")
    else:
        logits = rng.normal(0, 1.5, (tokens, experts)).astype(np.float32).astype(np.float64)
        case.data("A", logits.astype(np.float32), "f32")
    weights = np.exp(logits - logits.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    ids = np.argsort(-weights, axis=1, kind="stable")[:, :k]
    chosen = np.take_along_axis(weights, ids, 1)
    if renormalise:
        chosen = chosen / chosen.sum(1, keepdims=True)
    mask = np.zeros((tokens, stride), bool)
    mask[:, :k] = True
    ids, chosen = (np.pad(x.astype(np.float64), ((0, 0), (0, pad))) for x in (ids, chosen))
    case.expect("T", ids, 0, 0, mask)
    case.expect("W", chosen, 1e-5, 1e-7, mask)
    return case


CASES = {
    "f32_4x128x4_renorm": dict(rows=4, experts=128, k=4, bf16=False, renormalise=1, tokens=10, pad=10),
    "f32_4x128x4_plain": dict(rows=4, experts=128, k=4, bf16=False, renormalise=0, tokens=10, pad=10),
    "bf16_4x128x8_renorm": dict(rows=4, experts=128, k=8, bf16=True, renormalise=1, tokens=9, pad=0),
    "bf16_4x128x4_renorm": dict(rows=4, experts=128, k=4, bf16=True, renormalise=1, tokens=7, pad=2),
    "f32_12x256x8_renorm": dict(rows=12, experts=256, k=8, bf16=False, renormalise=1, tokens=29, pad=0),
    "bf16_12x256x6_plain": dict(rows=12, experts=256, k=6, bf16=True, renormalise=0, tokens=25, pad=3),
    "f32_4x640x8_renorm": dict(rows=4, experts=640, k=8, bf16=False, renormalise=1, tokens=6, pad=1),
}
# A prefill chunk of vLLM and SGLang: 8,192 tokens; 128 experts of Qwen3 MoE (and Llama 4 Maverick), 256 of DeepSeek V3.
PRODUCTION = {
    name: (
        dict(rows=rows, experts=experts, k=k, bf16=bf16, renormalise=renormalise, tokens=8192, pad=0),
        f"prefill chunk of 8,192 tokens, {k} of {experts} experts: {ceil_div(8192, rows):,} workgroups",
    )
    for name, rows, experts, k, bf16, renormalise in (
        ("f32_4x128x4", 4, 128, 4, False, 1),
        ("bf16_4x128x8", 4, 128, 8, True, 1),
        ("bf16_4x128x4", 4, 128, 4, True, 1),
        ("f32_12x256x8", 12, 256, 8, False, 1),
        ("bf16_12x256x6", 12, 256, 6, True, 0),
        ("f32_4x640x8", 4, 640, 8, False, 1),
    )
}


def deep(arguments):
    return dict(arguments, tokens=200)
