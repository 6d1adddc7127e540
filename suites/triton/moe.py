"""Mixture of experts: the grouped GEMM of vLLM in bf16 and block-scaled fp8, the sum over experts of SGLang."""

from triton_case import *  # noqa: F403: the vocabulary of launches

KERNELS = {}
VLLM = ("vllm", "vllm/model_executor/layers/fused_moe/fused_moe.py", "fused_moe_kernel")


def align(ids, experts, block):
    """moe_align_block_size: (token, slot) pairs grouped by expert, every group padded to a multiple of block with the
    pair count. Returns sorted ids (allocated for the worst case), expert of every block, number of used entries."""
    flat = ids.reshape(-1)
    n = len(flat)
    cap = n + experts * (block - 1)
    srt, ex = [], []
    for e in range(experts):
        p = np.nonzero(flat == e)[0]
        m = -(-len(p) // block) * block
        srt += list(p) + [n] * (m - len(p))
        ex += [e] * (m // block)
    used = len(srt)
    full = np.full(cap, n, np.int64)
    full[:used] = srt
    blocks = np.zeros(-(-cap // block), np.int64)
    blocks[: len(ex)] = ex
    return full, blocks, used


def route(rng, tokens, experts, k):
    return np.stack([rng.permutation(experts)[:k] for _ in range(tokens)])


def launch(L, a, b, c, sa, sb, wt, ids, experts, N, K, rows, kernel_topk, bm, bn, bk, group, group_nk, mul, fp8):
    srt, blocks, used = align(ids, experts, bm)
    n = ids.size
    st = L.data("sorted_ids", srt, "i32")
    eb = L.data("expert_ids", blocks, "i32")
    nu = L.data("num_post_padded", np.array([used]), "i32")
    EM = len(srt) if rows >= bm else min(len(srt), rows * kernel_topk * bm)
    L.grid = (-(-EM // bm) * -(-N // bn),)
    L.a(
        a_ptr=a,
        b_ptr=b,
        c_ptr=c,
        b_bias_ptr=None,
        a_scale_ptr=sa,
        b_scale_ptr=sb,
        topk_weights_ptr=wt,
        sorted_token_ids_ptr=st,
        expert_ids_ptr=eb,
        num_tokens_post_padded_ptr=nu,
        N=N,
        K=K,
        EM=EM,
        num_valid_tokens=n,
        stride_am=K,
        stride_ak=1,
        stride_be=N * K,
        stride_bk=1,
        stride_bn=K,
        stride_cm=N,
        stride_cn=1,
        stride_asm=K // 128 if fp8 else 0,
        stride_ask=1 if fp8 else 0,
        stride_bse=-(-N // 128) * (K // 128) if fp8 else 0,
        stride_bsk=1 if fp8 else 0,
        stride_bsn=K // 128 if fp8 else 0,
        stride_bbe=0,
        stride_bbn=0,
    )
    L.c(
        group_n=group_nk,
        group_k=group_nk,
        naive_block_assignment=False,
        BLOCK_SIZE_M=bm,
        BLOCK_SIZE_N=bn,
        BLOCK_SIZE_K=bk,
        GROUP_SIZE_M=group,
        SPLIT_K=1,
        MUL_ROUTED_WEIGHT=mul,
        top_k=kernel_topk,
        compute_type="tl.bfloat16",
        use_fp8_w8a8=fp8,
        use_int8_w8a8=False,
        use_int8_w8a16=False,
        per_channel_quant=False,
        HAS_BIAS=False,
        SWAP_AB=False,
        USE_TD=False,
    )


def bf16_down(L, rng, tokens, N, K, bm, bn, bk, group, experts=8, topk=2):
    """second GEMM: every (token, slot) row has its own input, the result is scaled by the router weight."""
    ids = route(rng, tokens, experts, topk)
    rows = tokens * topk
    a = L.random("a", (rows, K), "bf16", rng)
    b = L.random("b", (experts, N, K), "bf16", rng, K**-0.5)
    c = L.out("c", (tokens, topk, N), "bf16")
    w = L.data("topk_weights", rng.uniform(0.1, 0.9, (tokens, topk)), "f32")
    launch(L, a, b, c, None, None, w, ids, experts, N, K, rows, 1, bm, bn, bk, group, 0, True, False)
    if not L.reference:
        return
    A, B, W = L.value("a"), L.value("b"), L.value("topk_weights").reshape(-1)
    ref = np.zeros((rows, N))
    for e in range(experts):
        p = np.nonzero(ids.reshape(-1) == e)[0]
        if len(p):
            ref[p] = (A[p].astype(np.float64) @ B[e].T.astype(np.float64)) * W[p, None]
    L.want("c", ref.reshape(tokens, topk, N), 2.0**-8 * 1.01, 1e-4)


@kernel(
    KERNELS,
    "fused_moe_bf16_decode",
    *VLLM,
    {"num_warps": 4, "num_stages": 2, "waves_per_eu": 0, "matrix_instr_nonkdim": 16, "kpack": 2},
    {"small": dict(tokens=8, N=272, K=400), "prod": dict(tokens=16, N=4096, K=1792, big=True)},
    "Mixtral 8x7B down projection on 8 ranks; vLLM's config E=8,N=1792 for AMD_Instinct_MI300X, entry 16: 16 x 64 x"
    " 128, group 1",
    lds=20480
)
def moe_bf16_decode(L, rng, tokens, N, K):
    bf16_down(L, rng, tokens, N, K, 16, 64, 128, 1)


@kernel(
    KERNELS,
    "fused_moe_bf16_prefill",
    *VLLM,
    {"num_warps": 8, "num_stages": 2, "waves_per_eu": 0, "matrix_instr_nonkdim": 16, "kpack": 2},
    {"small": dict(tokens=72, N=272, K=400), "prod": dict(tokens=2048, N=4096, K=1792, big=True)},
    "the same layer, entry 2048: 128 x 128 x 64, group 1",
    lds=32768
)
def moe_bf16_prefill(L, rng, tokens, N, K):
    bf16_down(L, rng, tokens, N, K, 128, 128, 64, 1)


@kernel(
    KERNELS,
    "fused_moe_fp8_block",
    *VLLM,
    {"num_warps": 8, "num_stages": 2, "waves_per_eu": 0},
    {
        "small": dict(tokens=8, N=320, K=2048, experts=16),
        "prod": dict(tokens=64, N=1536, K=2048, experts=128, big=True),
    },
    "Qwen3-30B-A3B-FP8 gate+up projection: config E=128,N=768 fp8_w8a8 [128,128] for AMD_Instinct_MI300X, entry 64: 16"
    " x 128 x 128, group 1; the router weight is applied in the second GEMM",
    lds=18432
)
def moe_fp8(L, rng, tokens, N, K, experts, topk=8):
    ids = route(rng, tokens, experts, topk)
    if L.big:
        a = L.random("a", (tokens, K), "fp8_e4m3fnuz", rng, 20.0)
        b = L.random("b", (experts, N, K), "fp8_e4m3fnuz", rng, 20.0)
        sa = L.fill("as", (tokens, K // 128), "f32", {"uniform": {"lo": 0.005, "hi": 0.02, "seed": 91}})
        sb = L.fill(
            "bs", (experts, -(-N // 128), K // 128), "f32", {"uniform": {"lo": 0.0005, "hi": 0.002, "seed": 92}}
        )
    else:
        a = L.data("a", fp8_codes(rng.normal(0, 20, (tokens, K))), "fp8_e4m3fnuz")
        b = L.data("b", fp8_codes(rng.normal(0, 20, (experts, N, K))), "fp8_e4m3fnuz")
        sa = L.data("as", rng.uniform(0.005, 0.02, (tokens, K // 128)), "f32")
        sb = L.data("bs", rng.uniform(0.0005, 0.002, (experts, -(-N // 128), K // 128)), "f32")
    c = L.out("c", (tokens, topk, N), "bf16")
    launch(L, a, b, c, sa, sb, None, ids, experts, N, K, tokens, topk, 16, 128, 128, 1, 128, False, True)
    if not L.reference:
        return
    A, SA, SB = L.value("a"), L.value("as"), L.value("bs")
    Af = A * np.repeat(SA, 128, 1)
    B = L.value("b")
    ref = np.zeros((tokens, topk, N))
    mag = np.zeros((tokens, topk, N))
    for e in range(experts):
        t, s = np.nonzero(ids == e)
        if not len(t):
            continue
        Bf = B[e] * np.repeat(np.repeat(SB[e], 128, 0)[:N], 128, 1)
        ref[t, s] = Af[t].astype(np.float64) @ Bf.T.astype(np.float64)
        mag[t, s] = np.abs(Af[t]) @ np.abs(Bf.T)
    L.want("c", ref, 2.0**-8 * 1.01, 1e-6, slack=mag * 1e-6)


@kernel(
    KERNELS,
    "moe_sum_reduce_bf16",
    "sglang",
    "sglang/kernels/ops/moe/fused_moe_triton_kernels.py",
    "_moe_sum_reduce_kernel",
    {"num_warps": 16},
    {"small": dict(tokens=16), "prod": dict(tokens=4096, big=True)},
    "DeepSeek V3: topk 8, hidden 7168, routed scaling 2.5; BLOCK_M 1, BLOCK_DIM 2048, 16 warps as moe_sum_reduce_triton"
    " sets them",
)
def moe_sum(L, rng, tokens, topk=8, hidden=7168):
    x = L.random("x", (tokens, topk, hidden), "bf16", rng)
    y = L.out("y", (tokens, hidden), "bf16")
    L.grid = (tokens, -(-hidden // 2048))
    L.a(
        input_ptr=x,
        input_stride_0=topk * hidden,
        input_stride_1=hidden,
        input_stride_2=1,
        output_ptr=y,
        output_stride_0=hidden,
        output_stride_1=1,
        token_num=tokens,
        topk_num=topk,
        hidden_dim=hidden,
    ).c(routed_scaling_factor=2.5, BLOCK_M=1, BLOCK_DIM=2048, NUM_STAGE=1)
    if not L.reference:
        return
    v = L.value("x").astype(np.float64)
    L.want("y", v.sum(1) * 2.5, 2.0**-8 * 1.01, 0, slack=np.abs(v).sum(1) * 2.5 * 5e-7)
