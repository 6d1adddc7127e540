"""D[M,N] = A[M,K] * B[N,K]^T (+ bias[N]) in bf16 with f32 accumulation, output bf16 or f32, optionally K in `parts`."""

import numpy as np

from case import Case, ceil_div, shuffle_weight
from number_formats import bf16_bits, bf16_val


def build(rng, tile, flavour, m, n, k, parts=1, out="bf16", bias=False, pad=0, reference=True):
    base = f"bf16gemm_fp32bf16_tn_{tile}_{flavour}"
    tile_m, tile_n = (int(v) for v in tile.split("x"))
    assert n % tile_n == 0 and k % 64 == 0
    clean = flavour.endswith("clean")  # counts the parts of a tile in a semaphore and leaves it as it was
    groups = (n // tile_n, ceil_div(m, tile_m), parts)
    assert not clean or (groups[0] <= 64 and groups[1] <= 16)
    case = Case("bf16gemm", base, (256, 1, 1), groups, segment=352 if clean else 336)
    stride, size = k + pad, 2 if out == "bf16" else 4
    # Unless it is clean, parts add to what is there: the host clears D.
    case.fill("D", (m, n), out, "poison" if clean or parts == 1 else "zero")
    case.pointers(
        (
            (0, "D"),
            (16, None),
            (32, "A"),
            (48, "B"),
            (304, "Bias" if bias else None),
            (336, "semaphores" if clean else None),
        )
    )
    case.real(64, 1.0)
    case.real(80, 0.0)
    case.words(
        (
            (96, n * size),
            (112, 0),
            (128, n * size),
            (144, 0),
            (160, stride * 2),
            (176, 0),
            (192, k * 2),
            (208, 0),
            (224, m),
            (240, n),
            (256, k),
            (272, parts),
            (288, int(out == "bf16")),
            (320, int(bias)),
        )
    )
    if clean:
        case.fill("semaphores", (16, 64), "u32", "zero")
    if not reference:
        case.uniform("A", (m, stride), "bf16", -1, 1)
        case.uniform("B", (n, k), "bf16", -1, 1)
        if bias:
            case.uniform("Bias", (1, n), "bf16", -8, 8)
        return case
    a = np.full((m, stride), 0x7FC1, np.uint16)  # the padding is NaN: a kernel that sums it up shows
    a[:, :k] = bf16_bits(rng.normal(0, 1, (m, k)))
    b = bf16_bits(rng.normal(0, 1, (n, k)))
    case.data("A", a, "bf16")
    case.data("B", shuffle_weight(b) if "bshuffle" in flavour else b, "bf16")
    want = bf16_val(a[:, :k]).astype(np.float64) @ bf16_val(b).astype(np.float64).T
    if bias:
        shift = bf16_bits(rng.normal(0, 8, (1, n)))
        case.data("Bias", shift, "bf16")
        want = want + bf16_val(shift)
    if clean:
        counts = np.zeros(1024)
        if parts == 1:  # a launch that no host makes: it arms the counters of its tiles and leaves them so
            counts[: ceil_div(n, 64) * groups[1]] = 1
        case.expect("semaphores", counts.reshape(16, 64), 0, 0)
    deviation = float(np.std(want))
    if out == "bf16":
        # Every part rounds the sum it adds to.
        case.expect(
            "D",
            want,
            2.0**-8 * (1 if parts == 1 else 1.5),
            deviation * (1e-5 if parts == 1 else 2.0**-7 * max(2, parts / 2)),
            l2=4e-3 if parts == 1 else 6e-3,
            order_free=parts > 1,
        )
    else:
        case.expect("D", want, 1e-5, deviation * 1e-5, l2=1e-6, order_free=parts > 1)
    return case


CASES = {
    "clean_32x64_split2_bf16": dict(tile="32x64", flavour="splitk_clean", m=40, n=128, k=512, parts=2),
    "clean_32x64_split1_bf16": dict(tile="32x64", flavour="splitk_clean", m=40, n=128, k=512, pad=64),
    "clean_32x64_split3_f32_bias": dict(
        tile="32x64", flavour="splitk_clean", m=33, n=64, k=512, parts=3, out="f32", bias=True
    ),
    "clean_32x64_long": dict(tile="32x64", flavour="splitk_clean", m=40, n=64, k=64 * 54, parts=2),
    "pf3_32x64_split1_bf16": dict(tile="32x64", flavour="pf3_splitk", m=40, n=128, k=256, bias=True),
    "pf3_32x64_long": dict(tile="32x64", flavour="pf3_splitk", m=40, n=64, k=64 * 27),
    "bshuf_clean_32x64_split2_bf16": dict(
        tile="32x64", flavour="bshuffle_splitk_clean", m=40, n=128, k=512, parts=2, bias=True
    ),
    "bshuf_clean_32x64_split2_f32": dict(
        tile="32x64", flavour="bshuffle_splitk_clean", m=32, n=128, k=384, parts=2, out="f32"
    ),
    "bshuf_clean_32x64_long": dict(tile="32x64", flavour="bshuffle_splitk_clean", m=40, n=64, k=64 * 54, parts=2),
    "bshuf_48x64_split1_bf16": dict(tile="48x64", flavour="bshuffle_splitk", m=50, n=128, k=256, bias=True),
    "bshuf_48x64_split1_f32": dict(tile="48x64", flavour="bshuffle_splitk", m=96, n=64, k=320, out="f32", pad=32),
    "bshuf_48x64_long": dict(tile="48x64", flavour="bshuffle_splitk", m=50, n=64, k=64 * 27),
    "bshuf_clean_128x64_split2_bf16": dict(tile="128x64", flavour="bshuffle_splitk_clean", m=130, n=64, k=512, parts=2),
    "bshuf_clean_128x64_long": dict(tile="128x64", flavour="bshuffle_splitk_clean", m=130, n=64, k=64 * 54, parts=2),
    "pf3_64x64_long": dict(tile="64x64", flavour="pf3_splitk", m=70, n=64, k=64 * 27, bias=True),
    "pf3_64x64_odd": dict(tile="64x64", flavour="pf3_splitk", m=64, n=128, k=64 * 20, out="f32"),
    "bshuf_128x64_long": dict(tile="128x64", flavour="bshuffle_splitk", m=130, n=64, k=64 * 27, bias=True),
}
# AITer's tuned rows name these objects for router gates (N 256) on 80 CUs only. The layers here are those of the models
# that run bf16 on MI300X: Llama 3 70B on eight GPUs (gate and up: N 7168, K 8192; output: N 8192, K 1024) and the joint
# q/kv projection of DeepSeek V3 and Kimi K2 (N 2112, K 7168), the one bf16 GEMM of their decode.
PRODUCTION = {
    "pf3_64x64": (
        dict(tile="64x64", flavour="pf3_splitk", m=256, n=7168, k=8192),
        "Llama 3 70B gate and up projection, tensor parallel 8, 256 tokens: 448 workgroups of 128 K steps",
    ),
    "bshuf_128x64": (
        dict(tile="128x64", flavour="bshuffle_splitk", m=1024, n=8192, k=1024),
        "Llama 3 70B output projection, tensor parallel 8, 1,024 tokens: 1,024 workgroups of 16 K steps",
    ),
    "bshuf_clean_128x64": (
        dict(tile="128x64", flavour="bshuffle_splitk_clean", m=256, n=2112, k=7168, parts=4),
        "DeepSeek V3 q/kv projection, 256 tokens, K in 4 parts: 264 workgroups of 28 K steps",
    ),
    "bshuf_clean_32x64": (
        dict(tile="32x64", flavour="bshuffle_splitk_clean", m=32, n=2112, k=7168, parts=8),
        "DeepSeek V3 q/kv projection, decode of 32, K in 8 parts: 264 workgroups of 14 K steps",
    ),
    "clean_32x64": (
        dict(tile="32x64", flavour="splitk_clean", m=32, n=2112, k=7168, parts=8),
        "DeepSeek V3 q/kv projection, decode of 32, K in 8 parts: 264 workgroups of 14 K steps",
    ),
    "pf3_32x64": (
        dict(tile="32x64", flavour="pf3_splitk", m=64, n=7168, k=8192),
        "Llama 3 70B gate and up projection, tensor parallel 8, decode of 64: 224 workgroups of 128 K steps",
    ),
    "bshuf_48x64": (
        dict(tile="48x64", flavour="bshuffle_splitk", m=96, n=7168, k=8192),
        "Llama 3 70B gate and up projection, tensor parallel 8, decode of 96: 224 workgroups of 128 K steps",
    ),
}


def deep(arguments):
    return dict(arguments, m=min(arguments["m"], int(arguments["tile"].split("x")[0]) + 5), n=64)
