"""GEMMs: bf16 (aiter) and block-scaled fp8 (vLLM)."""

from triton_case import *  # noqa: F403: the vocabulary of launches

KERNELS = {}
AITER = ("aiter", "aiter/ops/triton/_triton_kernels/gemm_a16w16.py", "_gemm_a16_w16_kernel")


def a16w16(L, rng, M, N, K, bm, bn, bk, group, cache):
    x = L.random("a", (M, K), "bf16", rng)
    w = L.random("b", (N, K), "bf16", rng, K**-0.5)
    c = L.out("c", (M, N), "bf16")
    gm = -(-M // bm) * -(-N // bn)
    L.grid = (gm,)
    L.a(
        a_ptr=x,
        b_ptr=w,
        bias_ptr=None,
        c_ptr=c,
        M=M,
        N=N,
        K=K,
        stride_am=K,
        stride_ak=1,
        stride_bk=1,
        stride_bn=K,
        stride_ck=0,
        stride_cm=N,
        stride_cn=1,
    )
    L.c(
        BLOCK_SIZE_M=bm,
        BLOCK_SIZE_N=bn,
        BLOCK_SIZE_K=bk,
        GROUP_SIZE_M=group,
        NUM_KSPLIT=1,
        SPLITK_BLOCK_SIZE=K,
        EVEN_K=K % bk == 0,
        GRID_MN=gm,
        cache_modifier=cache,
        activation="",
        use_activation=False,
        ADD_BIAS=False,
        SKIP_REDUCE=False,
    )
    if not L.reference:
        return
    a, b = L.value("a"), L.value("b")
    ref = a.astype(np.float64) @ b.T.astype(np.float64)
    L.want("c", ref, 2.0**-8 * 1.01, 1e-4, slack=None)


@kernel(
    KERNELS,
    "gemm_a16w16_m64",
    *AITER,
    {"num_warps": 4, "num_stages": 2, "waves_per_eu": 2, "matrix_instr_nonkdim": 16, "kpack": 1},
    {"small": dict(M=48, N=8176, K=1024), "prod": dict(M=64, N=8192, K=1024, big=True)},
    "o_proj of Llama 70B on 8 ranks, decode batch 64; MI300X-GEMM-A16W16.json entry M_LEQ_64. K, GRID_MN and"
    " SPLITK_BLOCK_SIZE are constexprs, so the small case has nearly the same shape, with ragged M and N",
    lds=49152
)
def gemm_m64(L, rng, M, N, K):
    a16w16(L, rng, M, N, K, 64, 128, 128, 1, ".cg")


@kernel(
    KERNELS,
    "gemm_a16w16_m2048",
    *AITER,
    {"num_warps": 8, "num_stages": 2, "waves_per_eu": 2, "matrix_instr_nonkdim": 16, "kpack": 1},
    {"prod": dict(M=2048, N=8192, K=1024, big=True)},
    "the same layer in prefill: M_LEQ_2048, 256 x 256 tiles",
    lds=65536
)
def gemm_m2048(L, rng, M, N, K):
    a16w16(L, rng, M, N, K, 256, 256, 64, 1, None)


VLLM = ("vllm", "vllm/model_executor/layers/quantization/utils/fp8_utils.py", "_w8a8_triton_block_scaled_mm")


def w8a8(L, rng, M, N, K, bm, bn, group):
    if L.big:
        a = L.random("a", (M, K), "fp8_e4m3fnuz", rng, 20.0)
        b = L.random("b", (N, K), "fp8_e4m3fnuz", rng, 20.0)
        sa = L.fill("as", (M, -(-K // 128)), "f32", {"uniform": {"lo": 0.005, "hi": 0.02, "seed": 91}})
        sb = L.fill("bs", (-(-N // 128), -(-K // 128)), "f32", {"uniform": {"lo": 0.0005, "hi": 0.002, "seed": 92}})
    else:
        a = L.data("a", fp8_codes(rng.normal(0, 20, (M, K))), "fp8_e4m3fnuz")
        b = L.data("b", fp8_codes(rng.normal(0, 20, (N, K))), "fp8_e4m3fnuz")
        sa = L.data("as", rng.uniform(0.005, 0.02, (M, -(-K // 128))), "f32")
        sb = L.data("bs", rng.uniform(0.0005, 0.002, (-(-N // 128), -(-K // 128))), "f32")
    c = L.out("c", (M, N), "bf16")
    L.grid = (-(-M // bm) * -(-N // bn),)
    L.a(
        A=a,
        B=b,
        C=c,
        As=sa,
        Bs=sb,
        M=M,
        N=N,
        K=K,
        group_n=128,
        group_k=128,
        stride_am=K,
        stride_ak=1,
        stride_bk=1,
        stride_bn=K,
        stride_cm=N,
        stride_cn=1,
        stride_As_m=-(-K // 128),
        stride_As_k=1,
        stride_Bs_k=1,
        stride_Bs_n=-(-K // 128),
    ).c(BLOCK_SIZE_M=bm, BLOCK_SIZE_N=bn, BLOCK_SIZE_K=128, GROUP_SIZE_M=group)
    if not L.reference:
        return
    A, B, SA, SB = (L.value(n).astype(np.float64) for n in ("a", "b", "as", "bs"))
    sbn = np.repeat(SB, 128, 0)[:N]
    ref = np.zeros((M, N))
    mag = np.zeros((M, N))
    for k in range(-(-K // 128)):
        s = slice(128 * k, 128 * k + 128)
        f = SA[:, k : k + 1] * sbn[:, k][None, :]
        ref += (A[:, s] @ B[:, s].T) * f
        if not L.big:
            mag += (np.abs(A[:, s]) @ np.abs(B[:, s]).T) * f
    L.want("c", ref, 2.0**-8 * 1.01, 1e-6, slack=mag * 1e-6 if not L.big else np.abs(ref).mean() * 1e-4)


W8 = {"num_warps": 4, "matrix_instr_nonkdim": 16, "kpack": 1}


@kernel(
    KERNELS,
    "w8a8_block_fp8_decode",
    *VLLM,
    dict(W8),
    {"small": dict(M=48, N=272, K=560), "deep": dict(M=48, N=272, K=1584), "odd": dict(M=48, N=272, K=1712), "prod": dict(M=64, N=1536, K=7168, big=True)},
    "DeepSeek V3 q_a (N=1536, K=7168): vLLM's config file for AMD_Instinct_MI300X, entry 64: 32 x 32 x 128, group 8",
    lds=8192
)
def w8a8_decode(L, rng, M, N, K):
    w8a8(L, rng, M, N, K, 32, 32, 8)


@kernel(
    KERNELS,
    "w8a8_block_fp8_prefill",
    *VLLM,
    dict(W8),
    {"small": dict(M=144, N=272, K=560), "deep": dict(M=144, N=272, K=1584), "odd": dict(M=144, N=272, K=1712), "prod": dict(M=4096, N=1536, K=7168, big=True)},
    "the same layer, entry 4096: 64 x 128 x 128, group 32",
    lds=24576
)
def w8a8_prefill(L, rng, M, N, K):
    w8a8(L, rng, M, N, K, 64, 128, 32)


@kernel(
    KERNELS,
    "scaled_mm_i8",
    "vllm",
    "vllm/model_executor/layers/quantization/compressed_tensors/triton_scaled_mm.py",
    "scaled_mm_kernel",
    {},
    {"small": dict(M=48, N=272, K=768), "deep": dict(M=48, N=272, K=2304), "odd": dict(M=48, N=272, K=2560), "prod": dict(M=64, N=6144, K=4096, big=True)},
    "W8A8 int8 (compressed-tensors on ROCm), Llama 8B qkv, batch <= 64: tile 64 x 64 x 256, per-token and per-channel"
    " scales, no bias, default launch options",
    edge=False,
    lds=32768,
)
def scaled_mm(L, rng, M, N, K):
    if L.big:
        a, b = (
            L.fill(n, (r, K), "i8", {"uniform": {"lo": -127, "hi": 127, "seed": s}})
            for n, r, s in (("a", M, 7), ("b", N, 8))
        )
    else:
        a, b = L.data("a", rng.integers(-127, 128, (M, K)), "i8"), L.data("b", rng.integers(-127, 128, (N, K)), "i8")
    sa, sb = L.data("scale_a", rng.uniform(0.005, 0.02, M), "f32"), L.data(
        "scale_b", rng.uniform(0.0005, 0.002, N), "f32"
    )
    c = L.out("c", (M, N), "bf16")
    L.grid = (-(-M // 64) * -(-N // 64),)
    L.a(
        a_ptr=a,
        b_ptr=b,
        scale_a_ptr=sa,
        scale_b_ptr=sb,
        c_ptr=c,
        bias_ptr=None,
        M=M,
        N=N,
        K=K,
        stride_am=K,
        stride_ak=1,
        stride_bk=1,
        stride_bn=K,
        stride_cm=N,
        stride_cn=1,
    )
    L.c(
        ACCUMULATOR_DTYPE="tl.int32",
        BLOCK_SIZE_M=64,
        BLOCK_SIZE_N=64,
        BLOCK_SIZE_K=256,
        BLOCK_SIZE_SCALE_A=64,
        BLOCK_SIZE_SCALE_B=64,
        USE_TD=False,
        B_T=True,
    )
    if not L.reference:
        return
    acc = L.value("a").astype(np.float64) @ L.value("b").astype(np.float64).T
    L.want(
        "c",
        acc * L.value("scale_a")[:, None].astype(np.float64) * L.value("scale_b")[None, :].astype(np.float64),
        2.0**-8 * 1.01,
        0,
    )
