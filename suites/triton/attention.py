"""Attention: SGLang's decode (stage 1, stage 2) and extend kernels, vLLM's unified paged attention and merge of
partial results. Model: Llama 8B, 32 query and 8 key/value heads of 128."""

from triton_case import *  # noqa: F403: the vocabulary of launches

KERNELS = {}
H, HK, D = 32, 8, 128
SCALE = D**-0.5
UNI = ("vllm", "vllm/v1/attention/ops/triton_unified_attention.py")
DEC = ("sglang", "sglang/kernels/ops/attention/decode_attention.py")


def softmax(s):
    """row softmax and natural log-sum-exp; rows that are all -inf give zeros and -inf"""
    m = s.max(-1, keepdims=True)
    m0 = np.where(np.isfinite(m), m, 0)
    e = np.exp(s - m0)
    t = e.sum(-1, keepdims=True)
    return (
        e / np.where(t == 0, 1, t),
        (np.log(np.where(t == 0, 1, t)) + m0)[..., 0] + np.where(t == 0, -np.inf, 0)[..., 0],
    )


def split_len(n, splits):
    return -(-(-(-n // splits)) // 32) * 32  # MIN_BLOCK_KV 32


@kernel(
    KERNELS,
    "decode_attention_stage1",
    *DEC,
    "_fwd_grouped_kernel_stage1",
    {"num_warps": 4, "num_stages": 1, "waves_per_eu": 1, "matrix_instr_nonkdim": 16, "kpack": 2},
    {"small": dict(lens=(100, 37), splits=(3, 1)), "deep": dict(lens=(700, 330), splits=(3, 1)), "prod": dict(lens=(4096,) * 32, splits=(8,) * 32, big=True)},
    "page size 1, kv_indices i64, at most 16 splits (the AMD default); BLOCK_N 32, BLOCK_H 16 (4 of 16 rows used), HIP"
    " extras as _decode_grouped_att_m_fwd sets them; an even batch with the uneven-batch flag rotates the batch over"
    " the splits (ROTATE_BATCH, reads the grid size from the hidden arguments)",
    edge=("q",),
    lds=8192,
)
def stage1(L, rng, lens, splits):
    decode_stage1(L, rng, lens, splits, H, HK, D, D, 32, SCALE)


@kernel(
    KERNELS,
    "decode_attention_mla_stage1",
    *DEC,
    "_fwd_grouped_kernel_stage1",
    {"num_warps": 4, "num_stages": 1, "waves_per_eu": 1, "matrix_instr_nonkdim": 16, "kpack": 2},
    {"small": dict(lens=(70, 33), splits=(2, 1)), "deep": dict(lens=(500, 330), splits=(2, 1)), "prod": dict(lens=(4096,) * 32, splits=(16,) * 32, big=True)},
    "DeepSeek V3 on 8 ranks: 16 heads on one latent of 576 (512 + 64 rope), value = first 512 columns of the same rows;"
    " BLOCK_N 16 (HIP, Lk >= 576)",
    edge=("q",),
    lds=16384,
)
def stage1_mla(L, rng, lens, splits):
    decode_stage1(L, rng, lens, splits, 16, 1, 576, 512, 16, 192**-0.5 * 1.8)


def decode_stage1(L, rng, lens, splits, H, HK, Lk, Lv, bn, scale, maxs=16):
    B, tot, mla = len(lens), sum(lens), Lk != Lv
    pool = tot + 16
    G = H // HK
    q = L.random("q", (B, H, Lk), "bf16", rng)
    k = L.random("k_buffer", (pool, HK, Lk), "bf16", rng)
    v = k if mla else L.random("v_buffer", (pool, HK, Lv), "bf16", rng)
    ptr = np.concatenate([[0], np.cumsum(lens)])
    idx = rng.permutation(pool)[:tot]
    kb = HK * Lk
    ip = L.data("kv_indptr", ptr, "i32")
    ii = L.data("kv_indices", idx, "i64")
    ns = L.data("num_kv_splits", np.array(splits), "i32")
    ub = L.data("uneven_batch", np.array([int(len(set(lens)) > 1)]), "i32")
    o = L.out("att_out", (B, H, maxs, Lv), "f32")
    l = L.out("att_lse", (B, H, maxs), "f32")
    L.grid = (B, -(-H // min(16, G)), maxs)
    assert B % 2 == 0
    L.a(
        Q=q,
        K_Buffer=k,
        V_Buffer=v,
        sm_scale_withk=float(scale),
        kv_indptr=ip,
        kv_indices=ii,
        Att_Out=o,
        Att_Lse=l,
        num_kv_splits=ns,
        stride_qbs=H * Lk,
        stride_qh=Lk,
        stride_buf_kbs=kb,
        stride_buf_kh=Lk,
        stride_buf_vbs=kb if mla else HK * Lv,
        stride_buf_vh=Lk if mla else Lv,
        stride_buf_kpage=kb,
        stride_buf_ktok=kb,
        stride_buf_vpage=kb if mla else HK * Lv,
        stride_buf_vtok=kb if mla else HK * Lv,
        stride_mid_ob=H * maxs * Lv,
        stride_mid_oh=maxs * Lv,
        stride_mid_os=Lv,
    )
    L.c(
        kv_group_num=G,
        q_head_num=H,
        BLOCK_DMODEL=512 if mla else Lk,
        BLOCK_DPE=64 if mla else 0,
        BLOCK_DV=Lv,
        BLOCK_N=bn,
        BLOCK_H=16,
        MIN_BLOCK_KV=32,
        logit_cap=0.0,
        xai_temperature_len=-1,
        Lk=Lk,
        Lv=Lv,
        HAS_MLA=mla,
        USE_PDL=False,
        IS_GFX1250=False,
        PAGE_SIZE=1,
        SCORE_MOD=None,
    ).a(Aux0=None, aux0_stride_t=0, aux0_stride_h=0, aux0_len=0, forced_kv_splits=0).c(USE_FORCED=False).a(
        uneven_batch=ub
    ).c(
        ROTATE_BATCH=True
    )
    if not L.reference:
        return
    Q, K = L.value("q").astype(np.float64), L.value("k_buffer").astype(np.float64)
    V = K[..., :Lv] if mla else L.value("v_buffer").astype(np.float64)
    out = np.zeros((B, H, maxs, Lv))
    lse = np.zeros((B, H, maxs))
    m = np.zeros((B, maxs), bool)
    for b in range(B):
        n, p = lens[b], split_len(lens[b], splits[b])
        for s in range(maxs):
            a, e = p * s, min(p * s + p, n)
            if e <= a:
                continue
            j = idx[ptr[b] + a : ptr[b] + e]
            m[b, s] = True
            for h in range(H):
                P, z = softmax(K[j, h // G] @ Q[b, h] * scale)
                out[b, h, s] = P @ V[j, h // G]
                lse[b, h, s] = z
    # P is rounded to bf16 before P.V
    L.want("att_out", out, 0, 2e-2, mask=m[:, None, :, None], l2=4e-3)
    L.want("att_lse", lse, 1e-5, 1e-5, mask=m[:, None, :])


@kernel(
    KERNELS,
    "decode_attention_stage2",
    *DEC,
    "_fwd_kernel_stage2",
    {"num_warps": 4, "num_stages": 2, "waves_per_eu": 4, "matrix_instr_nonkdim": 16, "kpack": 2},
    {"small": dict(lens=(100, 37, 700), splits=(3, 1, 8)), "prod": dict(lens=(4096,) * 32, splits=(8,) * 32, big=True)},
    "merge of the splits; bf16 output",
)
def stage2(L, rng, lens, splits, maxs=16):
    B = len(lens)
    mo = L.random("mid_o", (B, H, maxs, D), "f32", rng)
    ml = L.random("mid_lse", (B, H, maxs), "f32", rng, 1.0, 3.0)
    o = L.out("o", (B, H, D), "bf16")
    ptr = np.concatenate([[0], np.cumsum(lens)])
    ip = L.data("kv_indptr", ptr, "i32")
    ns = L.data("num_kv_splits", np.array(splits), "i32")
    L.grid = (B, H)
    L.a(
        Mid_O=mo,
        Mid_O_1=ml,
        O=o,
        v_scale=1.0,
        kv_indptr=ip,
        num_kv_splits=ns,
        sink_ptr=None,
        stride_mid_ob=H * maxs * D,
        stride_mid_oh=maxs * D,
        stride_mid_os=D,
        stride_obs=H * D,
        stride_oh=D,
    )
    L.c(MAX_KV_SPLITS=maxs, MIN_BLOCK_KV=32, BLOCK_DV=D, Lv=D, HAS_SINK=False, USE_PDL=False, FORCED_KV_SPLITS=0)
    if not L.reference:
        return
    O, Z = L.value("mid_o").astype(np.float64), L.value("mid_lse").astype(np.float64)
    out = np.zeros((B, H, D))
    mag = np.zeros_like(out)
    for b in range(B):
        n = -(-lens[b] // split_len(lens[b], splits[b]))
        P, _ = softmax(Z[b, :, :n])
        out[b] = np.einsum("hs,hsd->hd", P, O[b, :, :n])
        mag[b] = np.einsum("hs,hsd->hd", P, np.abs(O[b, :, :n]))
    L.want("o", out, 2.0**-8 * 1.01, 1e-30, slack=mag * 2e-6)


@kernel(
    KERNELS,
    "extend_attention",
    "sglang",
    "sglang/kernels/ops/attention/extend_attention.py",
    "_fwd_kernel",
    {"num_warps": 4, "num_stages": 1, "waves_per_eu": 1, "matrix_instr_nonkdim": 16, "kpack": 2},
    {
        "small": dict(ext=(130, 33), pre=(100, 0), heads=8, kvheads=2),
        "deep": dict(ext=(330, 133), pre=(400, 230), heads=8, kvheads=2),
        "prod": dict(ext=(2048, 1024, 512, 512), pre=(1024, 0, 2048, 512), heads=32, kvheads=8, big=True),
    },
    "causal prefill after a cached prefix; 64 x 64 tiles, 4 warps on HIP; ragged batch, so the compact tile grid"
    " (default on) applies",
    edge=("q",),
    lds=16384,
)
def extend(L, rng, ext, pre, heads, kvheads):
    B, T, TP = len(ext), sum(ext), sum(pre)
    G = heads // kvheads
    pool = TP + 8
    q = L.random("q", (T, heads, D), "bf16", rng)
    k = L.random("k", (T, kvheads, D), "bf16", rng)
    v = L.random("v", (T, kvheads, D), "bf16", rng)
    o = L.out("o", (T, heads, D), "bf16")
    kb = L.random("k_buffer", (pool, kvheads, D), "bf16", rng)
    vb = L.random("v_buffer", (pool, kvheads, D), "bf16", rng)
    qp = np.concatenate([[0], np.cumsum(ext)])
    kp = np.concatenate([[0], np.cumsum(pre)])
    idx = rng.permutation(pool)[:TP]
    qi, ki, ii = L.data("qo_indptr", qp, "i32"), L.data("kv_indptr", kp, "i32"), L.data("kv_indices", idx, "i64")
    L.grid = (sum(-(-e // 64) for e in ext), heads)
    sk, sh = kvheads * D, D
    L.a(
        Q_Extend=q,
        K_Extend=k,
        V_Extend=v,
        O_Extend=o,
        LSE_Extend=None,
        K_Buffer=kb,
        V_Buffer=vb,
        qo_indptr=qi,
        kv_indptr=ki,
        kv_indices=ii,
        mask_ptr=None,
        mask_indptr=None,
        sink_ptr=None,
        window_kv_offset_ptr=None,
        sm_scale=float(SCALE),
        k_scale=1.0,
        v_scale=1.0,
        kv_group_num=G,
        stride_qbs=heads * D,
        stride_qh=D,
        stride_kbs=sk,
        stride_kh=sh,
        stride_vbs=sk,
        stride_vh=sh,
        stride_obs=heads * D,
        stride_oh=D,
        stride_lse_bs=0,
        stride_lse_h=0,
        stride_buf_kbs=sk,
        stride_buf_kh=sh,
        stride_buf_vbs=sk,
        stride_buf_vh=sh,
        stride_buf_kpage=sk,
        stride_buf_ktok=sk,
        stride_buf_vpage=sk,
        stride_buf_vtok=sk,
        compact_batch_size=B,
    )
    L.c(
        SLIDING_WINDOW_SIZE=-1,
        logit_cap=0.0,
        xai_temperature_len=-1,
        Lq=D,
        Lv=D,
        BLOCK_DMODEL=D,
        BLOCK_DPE=0,
        BLOCK_DV=D,
        BLOCK_M=64,
        BLOCK_N=64,
        BLOCK_N_PREFIX=64,
        USE_CUSTOM_MASK=False,
        IS_CAUSAL=True,
        SKIP_PREFIX_CUSTOM_MASK=True,
        STORE_LSE=False,
        SKIP_PREFIX=False,
        SKIP_EXTEND=False,
        STORE_TRANSPOSE=True,
        HAS_SINK=False,
        USE_COMPACT_TILE_GRID=True,
        USE_EXP2=False,
        USE_FP8_PREFIX=False,
        USE_FP8_EXTEND=False,
        FP8_MAX=1.0,
        IS_GFX1250=False,
        PAGE_SIZE=1,
        IDENTITY_KV_INDICES=False,
        SCORE_MOD=None,
    ).a(Aux0=None, aux0_stride_t=0, aux0_stride_h=0, aux0_len=0)
    if not L.reference:
        return
    f = np.float32 if L.big else np.float64
    Q, K, V, KB, VB = (L.value(n).astype(f) for n in ("q", "k", "v", "k_buffer", "v_buffer"))
    out = np.zeros((T, heads, D))
    for b in range(B):
        j = idx[kp[b] : kp[b + 1]]
        a, e = qp[b], qp[b + 1]
        n = e - a
        msk = np.where(np.arange(n)[:, None] >= np.arange(n)[None, :], 0, -np.inf)
        for h in range(heads):
            S = np.concatenate([Q[a:e, h] @ KB[j, h // G].T, Q[a:e, h] @ K[a:e, h // G].T + msk], 1) * f(SCALE)
            P, _ = softmax(S)
            out[a:e, h] = P @ np.concatenate([VB[j, h // G], V[a:e, h // G]])
    L.want("o", out, 0, 3e-2, l2=5e-3)


@kernel(
    KERNELS,
    "unified_attention_2d",
    *UNI,
    "kernel_unified_attention",
    {},
    {
        "small": dict(qlens=(9, 1, 20), ctx=(23, 50, 0)),
        "deep": dict(qlens=(9, 1, 20), ctx=(423, 350, 170)),
        "prod": dict(qlens=(1024, 512) + (1,) * 61, ctx=(0, 1024) + (2047,) * 61, big=True),
    },
    "mixed prefill and decode batch: the 2D path; BLOCK_M 16, BLOCK_Q 4, TILE_SIZE 32 (prefill), pages of 16, default 4"
    " warps and 2 stages; softcap is the int 0, the descale pointers are passed though unused",
    edge=("q",),
    lds=16384,
)
def unified_2d(L, rng, qlens, ctx):
    unified(L, rng, qlens, ctx, 1)


@kernel(
    KERNELS,
    "unified_attention_3d",
    *UNI,
    "kernel_unified_attention",
    {},
    {"small": dict(qlens=(1, 1, 1), ctx=(299, 31, 0)), "deep": dict(qlens=(1, 1, 1), ctx=(3999, 1500, 700)), "prod": dict(qlens=(1,) * 15, ctx=(8191,) * 15, big=True)},
    "decode with few sequences: 16 softmax segments as a third grid axis, TILE_SIZE 16, f32 partial results for"
    " reduce_segments",
    edge=("q",),
    lds=8192,
)
def unified_3d(L, rng, qlens, ctx):
    unified(L, rng, qlens, ctx, 16)


def unified(L, rng, qlens, ctx, segs, page=16):
    N, T = len(qlens), sum(qlens)
    sl = np.array(qlens) + np.array(ctx)
    pages = [-(-int(s) // page) for s in sl]
    mp = -(-max(pages) // 16) * 16
    nb = sum(pages) + 3
    q = L.random("q", (T, H, D), "bf16", rng)
    k = L.random("k_cache", (nb, page, HK, D), "bf16", rng)
    v = L.random("v_cache", (nb, page, HK, D), "bf16", rng)
    o = L.out("out", (T, H, D), "bf16")
    perm = rng.permutation(nb)
    bt = np.zeros((N, mp), np.int64)
    at = 0
    for i, p in enumerate(pages):
        bt[i, :p] = perm[at : at + p]
        at += p
    t = L.data("block_table", bt, "i32")
    s = L.data("seq_lens", sl, "i32")
    one = L.data("descale", np.ones(2), "f32")
    cu = L.data("cu_seqlens", np.concatenate([[0], np.cumsum(qlens)]), "i32")

    def i(x):
        return Int(x, "i64")

    ks = [page * HK * D, HK * D, D]
    L.grid = (T // 4 + N, HK) + ((segs,) if segs > 1 else ())
    tile = 32 if segs == 1 else 16
    so = sm = se = None
    if segs > 1:
        so, sm, se = (
            L.out("segm_output", (T, H, segs, D), "f32"),
            L.out("segm_max", (T, H, segs), "f32"),
            L.out("segm_expsum", (T, H, segs), "f32"),
        )
    L.a(
        output_ptr=o,
        query_ptr=q,
        key_cache_ptr=k,
        value_cache_ptr=v,
        sink_ptr=None,
        block_tables_ptr=t,
        seq_lens_ptr=s,
        alibi_slopes_ptr=None,
        qq_bias_ptr=None,
        scale=float(SCALE),
        q_scale=None,
        k_scale=one,
        v_scale=one,
        out_scale=1.0,
        softcap=0,
    ).c(num_query_heads=H, num_queries_per_kv=H // HK).a(
        block_table_stride=i(mp),
        query_stride_0=i(H * D),
        query_stride_1=i(D),
        output_stride_0=i(H * D),
        output_stride_1=i(D),
        qq_bias_stride_0=i(0),
    )
    L.c(
        BLOCK_SIZE=page,
        TILE_SIZE=tile,
        HEAD_SIZE=D,
        HEAD_SIZE_PADDED=D,
        USE_ALIBI_SLOPES=False,
        USE_ALIBI_SQRT=False,
        USE_QQ_BIAS=False,
        USE_SOFTCAP=False,
        USE_SINKS=False,
        SLIDING_WINDOW=0,
        USE_CAUSAL=True,
        USE_PER_SEQ_CAUSAL=False,
    )
    L.a(per_seq_causal_ptr=None).c(USE_MM_PREFIX=False, MAX_MM_RANGES=0).a(
        mm_prefix_range_ptr=None, rswa_prefix_lens_ptr=s
    ).c(R_SWA_WINDOW=0, USE_R_SWA=False)
    for x in "kv":
        L.a(**{f"stride_{x}_cache_{n}": i(ks[n]) for n in range(3)}).c(**{f"stride_{x}_cache_3": 1})
    L.a(query_start_len_ptr=cu).c(BLOCK_Q=4).a(num_seqs=Int(N, "i32")).c(
        BLOCK_M=16, NUM_SEGMENTS_PER_SEQ=segs, USE_FP8=False, IS_3D=segs > 1
    )
    L.a(
        segm_output_ptr=so,
        segm_max_ptr=sm,
        segm_expsum_ptr=se,
        k_scale_cache_ptr=None,
        v_scale_cache_ptr=None,
        stride_ks_blk=None,
        stride_ks_slot=None,
        stride_ks_head=None,
        stride_vs_blk=None,
        stride_vs_slot=None,
        stride_vs_head=None,
    )
    L.c(
        KV_QUANT_MODE=0,
        FP8_MIN=-240.0,
        FP8_MAX=240.0,
        CHUNK_LOOKBACK=-1,
        CHUNK_SIZE=-1,
        USE_TD=False,
        USE_TD_QO=False,
        Q_IS_FP8=False,
        MM_PREFIX_CLAMP_SW=False,
    )
    if not L.reference:
        return
    f = np.float32 if L.big else np.float64
    Q, K, V = (L.value(n).astype(f) for n in ("q", "k_cache", "v_cache"))
    out = np.zeros((T, H, D))
    a = 0
    po, pm, pe, live = (
        np.zeros((T, H, segs, D)),
        np.zeros((T, H, segs)),
        np.zeros((T, H, segs)),
        np.zeros((T, 1, segs), bool),
    )
    for n in range(N):
        ln = int(sl[n])
        j = np.arange(ln)
        kk, vv = K[bt[n, j // page], j % page], V[bt[n, j // page], j % page]
        m = qlens[n]
        msk = np.where(j[None, :] <= ctx[n] + np.arange(m)[:, None], 0, -np.inf).astype(f)
        for h in range(H):
            S = Q[a : a + m, h] @ kk[:, h // 4].T * f(SCALE) + msk
            if segs == 1:
                P, _ = softmax(S)
                out[a : a + m, h] = P @ vv[:, h // 4]
                continue
            w = -(-ln // (segs * tile)) * tile  # keys of one segment
            for g in range(-(-ln // w)):
                x = S[:, g * w : (g + 1) * w].astype(np.float64)
                pm[a : a + m, h, g] = x.max(1)
                e = np.exp(x - x.max(1, keepdims=True))
                pe[a : a + m, h, g] = e.sum(1)
                po[a : a + m, h, g] = e @ vv[g * w : (g + 1) * w, h // 4]
                live[a : a + m, 0, g] = True
        a += m
    if segs == 1:
        L.want("out", out, 0, 3e-2, l2=5e-3)
    else:
        L.want("segm_output", po, 0, 1e-3, mask=live[..., None], slack=pe[..., None] * 6e-3, l2=4e-3)
        L.want("segm_max", pm, 1e-5, 1e-5, mask=live)
        L.want("segm_expsum", pe, 2e-5, 0, mask=live)


@kernel(
    KERNELS,
    "reduce_segments",
    *UNI,
    "reduce_segments",
    {},
    {"small": dict(lens=(300, 33, 1)), "prod": dict(lens=(8192,) * 15, big=True)},
    "merge of the 16 segments of unified_attention_3d; unwritten segments hold NaN and must be masked",
    edge=False,
    lds=2048,
)
def reduce_segments(L, rng, lens, segs=16, tile=16):
    N = len(lens)
    o = L.out("out", (N, H, D), "bf16")
    act = [-(-l // (-(-l // (segs * tile)) * tile)) for l in lens]

    def nan(a):
        return np.where(
            np.arange(segs)[(None, None, slice(None)) + (None,) * (a.ndim - 3)]
            < np.array(act)[(slice(None),) + (None,) * (a.ndim - 1)],
            a,
            np.nan,
        )

    po, pm, pe = rng.normal(0, 30, (N, H, segs, D)), rng.normal(2, 2, (N, H, segs)), rng.uniform(10, 60, (N, H, segs))
    a, b, c = (
        L.data("segm_output", nan(po), "f32"),
        L.data("segm_max", nan(pm), "f32"),
        L.data("segm_expsum", nan(pe), "f32"),
    )
    s = L.data("seq_lens", np.array(lens), "i32")
    cu = L.data("cu_seqlens", np.arange(N + 1), "i32")

    def i(x):
        return Int(x, "i64")

    L.grid = (N, H)
    L.a(output_ptr=o, segm_output_ptr=a, segm_max_ptr=b, segm_expsum_ptr=c, seq_lens_ptr=s, num_seqs=N).c(
        num_query_heads=H
    ).a(out_scale_inv=1.0, output_stride_0=i(H * D), output_stride_1=i(D), block_table_stride=i(512))
    L.c(TILE_SIZE=tile, HEAD_SIZE=D, HEAD_SIZE_PADDED=D).a(query_start_len_ptr=cu).c(
        BLOCK_Q=4, NUM_SEGMENTS_PER_SEQ=segs, USE_FP8=False, FP8_MIN=-240.0, FP8_MAX=240.0
    )
    if not L.reference:
        return

    def f(v):
        return v.astype(np.float32).astype(np.float64)

    out = np.zeros((N, H, D))
    mag = np.zeros_like(out)
    for n in range(N):
        k = act[n]
        w = np.exp(f(pm[n, :, :k]) - f(pm[n, :, :k]).max(1, keepdims=True))
        z = (w * f(pe[n, :, :k])).sum(1)
        out[n] = np.einsum("hs,hsd->hd", w, f(po[n, :, :k])) / z[:, None]
        mag[n] = np.einsum("hs,hsd->hd", w, np.abs(f(po[n, :, :k]))) / z[:, None]
    L.want("out", out, 2.0**-8 * 1.01, 1e-30, slack=mag * 2e-6)


@kernel(
    KERNELS,
    "merge_attn_states",
    "vllm",
    "vllm/v1/attention/ops/triton_merge_attn_states.py",
    "merge_attn_states_kernel",
    {},
    {"small": dict(tokens=16), "prod": dict(tokens=4096, big=True)},
    "chunked-context MLA prefill of DeepSeek V3 on 8 ranks: 16 heads of 128, bf16 parts, f32 LSE [heads, tokens]; all"
    " but the last two tokens have a prefix",
)
def merge(L, rng, tokens, heads=16, d=128):
    ctx = tokens - 2
    o = L.out("output", (tokens, heads, d), "bf16")
    ol = L.out("output_lse", (heads, tokens), "f32")
    p = L.random("prefix", (tokens, heads, d), "bf16", rng)
    pl = L.random("prefix_lse", (heads, tokens), "f32", rng, 2.0, 5.0)
    s = L.random("suffix", (tokens, heads, d), "bf16", rng)
    sl = L.random("suffix_lse", (heads, tokens), "f32", rng, 2.0, 5.0)
    L.grid = (tokens, heads)
    L.a(
        output=o,
        output_lse=ol,
        prefix_output=p,
        prefix_lse=pl,
        suffix_output=s,
        suffix_lse=sl,
        prefix_head_stride=d,
        output_head_stride=d,
        prefix_lse_head_stride=tokens,
        prefix_lse_token_stride=1,
        suffix_lse_head_stride=tokens,
        suffix_lse_token_stride=1,
        output_lse_head_stride=tokens,
        output_lse_token_stride=1,
        output_scale=None,
        prefill_tokens_with_context=ctx,
    ).c(HEAD_SIZE=d, PADDED_HEAD_SIZE=d, OUTPUT_LSE=True, USE_FP8=False, FP8_MIN=-240.0, FP8_MAX=240.0)
    if not L.reference:
        return
    P, PL, S, SL = (L.value(n).astype(np.float64) for n in ("prefix", "prefix_lse", "suffix", "suffix_lse"))
    z = np.logaddexp(PL, SL)
    z[:, ctx:] = SL[:, ctx:]
    a, b = np.exp(PL - z).T[..., None], np.exp(SL - z).T[..., None]
    a[ctx:] = 0
    b[ctx:] = 1
    L.want("output_lse", z, 1e-6, 2e-6)
    L.want("output", P * a + S * b, 2.0**-8 * 1.01, 1e-30, slack=(np.abs(P * a) + np.abs(S * b)) * 3e-6)
