"""C[M,N] = bf16(sum over 128-wide K blocks of sa[m,kb] * sb[n/128,kb] * (A_blk . B_blk) + bias[n]); A and B are fp8
e4m3fnuz, B pre-shuffled. `parts`: workgroups that share a tile along K and add with atomics."""

import numpy as np

from case import Case, ceil_div, shuffle_weight
from number_formats import fp8_codes, fp8_val


def build(rng, tile, m, n, k, parts=1, bias=False, pad=0, reference=True):
    base = f"fp8gemm_bf16_blockscale_BpreShuffle_{tile}"
    tile_m, tile_n = (int(v) for v in tile.split("x"))
    assert n % 128 == 0 and k % 128 == 0
    assert ceil_div(k, ceil_div(ceil_div(k, parts), 128) * 128) == parts
    case = Case("fp8gemm_blockscale", base, (256, 1, 1), (n // tile_n * parts, ceil_div(m, tile_m), 1))
    stride = k + pad
    blocks_n, blocks_k = ceil_div(n, 128), k // 128
    case.fill("C", (m, n), "bf16", "poison" if parts == 1 else "zero")
    case.pointers(((0, "C"), (16, "A"), (32, "B"), (48, "SA"), (64, "SB"), (80, "BIAS")))
    case.words(
        (
            (96, m),
            (112, n),
            (128, k),
            (144, stride),
            (160, k),
            (176, n * 2),
            (192, parts),
            (208, m),
            (224, blocks_n),
            (240, blocks_k),
        )
    )
    if not reference:
        case.uniform("A", (m, stride), "fp8_e4m3fnuz", -1, 1)
        case.uniform("B", (n, k), "fp8_e4m3fnuz", -1, 1)
        case.uniform("SA", (blocks_k, m), "f32", 0.1, 1)
        case.uniform("SB", (blocks_n, blocks_k), "f32", 0.1, 1)
        case.fill("BIAS", (1, n), "f32", "zero")
        return case
    a = np.full((m, stride), 0x80, np.uint8)  # the padding is NaN: a kernel that sums it up shows
    a[:, :k] = fp8_codes(rng.normal(0, 1, (m, k)))
    b = fp8_codes(rng.normal(0, 1, (n, k)))
    sa = rng.uniform(0.1, 1, (m, blocks_k)).astype(np.float32)
    sb = rng.uniform(0.1, 1, (blocks_n, blocks_k)).astype(np.float32)
    shift = (rng.normal(0, 4, (1, n)) if bias else np.zeros((1, n))).astype(np.float32)
    case.data("A", a, "fp8_e4m3fnuz")
    case.data("B", shuffle_weight(b), "fp8_e4m3fnuz")
    case.data("SA", sa.T, "f32")
    case.data("SB", sb, "f32")
    case.data("BIAS", shift, "f32")
    left = fp8_val(a[:, :k]).astype(np.float64) * np.repeat(sa.astype(np.float64), 128, 1)
    right = fp8_val(b).astype(np.float64) * np.repeat(np.repeat(sb.astype(np.float64), 128, 0), 128, 1)
    want = left @ right.T + shift
    deviation = float(np.std(want))
    # The kernel drops the low 16 bits of its f32 sum: up to a unit in the last place of bf16, 2^-7 relative.
    case.expect(
        "C",
        want,
        2.0**-7 * (1.001 if parts == 1 else 1.5),
        deviation * (1e-4 if parts == 1 else 2.0**-5),
        l2=5e-3,
        order_free=parts > 1,
    )
    return case


CASES = {
    "32x128_ks1": dict(tile="32x128", m=40, n=256, k=512),
    "32x128_ks2": dict(tile="32x128", m=40, n=256, k=512, parts=2, bias=True),
    "32x128_ks1_bias_lda": dict(tile="32x128", m=32, n=128, k=256, bias=True, pad=128),
    "32x128_long": dict(tile="32x128", m=40, n=128, k=128 * 15, bias=True),
    "48x128_ks1": dict(tile="48x128", m=50, n=128, k=384),
    "48x128_long": dict(tile="48x128", m=50, n=128, k=128 * 15),
    "64x128_long": dict(tile="64x128", m=70, n=128, k=128 * 15),
    "128x128_ks1": dict(tile="128x128", m=130, n=128, k=256),
    "128x128_long": dict(tile="128x128", m=130, n=128, k=128 * 15),
}
# N and K are layers of DeepSeek V3, M batches for which AITer's tuning on MI308X picked these objects. On the 304 CUs of
# an MI300X a decode batch makes about one round of workgroups (one fits a CU), prefill several.
PRODUCTION = {
    "32x128": (
        dict(tile="32x128", m=64, n=18432, k=7168),
        "DeepSeek V3 dense gate and up projection on two GPUs, decode of 64: 288 workgroups of 56 K blocks",
    ),
    "48x128": (
        dict(tile="48x128", m=144, n=11264, k=7168),
        "a tuned row of AITer, 144 tokens: 264 workgroups of 56 K blocks, K not split as 304 CUs have room",
    ),
    "64x128": (
        dict(tile="64x128", m=128, n=18432, k=7168),
        "DeepSeek V3 dense gate and up projection on two GPUs, decode of 128: 288 workgroups of 56 K blocks",
    ),
    "128x128": (
        dict(tile="128x128", m=1664, n=11264, k=7168),
        "a tuned row of AITer, prefill of 1,664 tokens: 1,144 workgroups of 56 K blocks, nearly four rounds",
    ),
}


def deep(arguments):
    return dict(arguments, m=min(arguments["m"], int(arguments["tile"].split("x")[0]) + 5), n=128)
