"""Gated delta rule (Qwen3-Next), chunked prefill: state recurrence over chunks, output of a chunk (vLLM's copy of
FLA)."""

from triton_case import *  # noqa: F403: the vocabulary of launches

KERNELS = {}
DIR = "vllm/third_party/flash_linear_attention/ops/"


def chunks(lens, bt=64):
    cu = np.concatenate([[0], np.cumsum(lens)])
    idx = [(n, i) for n, l in enumerate(lens) for i in range(-(-l // bt))]
    off = np.concatenate([[0], np.cumsum([-(-l // bt) for l in lens])])
    return cu, np.array(idx), off


def decay(rng, T, H):
    """cumulative log decay inside each 64-chunk, as chunk_local_cumsum leaves it"""
    return -rng.uniform(0.001, 0.1, (T, H))


def local_cumsum(g, cu):
    out = np.zeros_like(g)
    for b, e in zip(cu[:-1], cu[1:]):
        for c in range(b, e, 64):
            out[c : min(c + 64, e)] = np.cumsum(g[c : min(c + 64, e)], 0)
    return out


@kernel(
    KERNELS,
    "gdn_chunk_fwd_o",
    "vllm",
    DIR + "chunk_o.py",
    "chunk_fwd_kernel_o",
    {"num_warps": 4, "num_stages": 2},
    {
        "small": dict(lens=(100, 64, 30), H=4, ratio=2),
        "prod": dict(lens=(4096, 2048, 1024, 1024), H=4, ratio=2, big=True),
    },
    "Qwen3-Next on 8 ranks: 4 value heads, 2 key heads of 128; varlen; BK = BV = 64, 4 warps, 2 stages: one of the"
    " autotuner's candidates on a 64 KiB LDS",
    edge=("q", "h"),
    lds=24576,
)
def chunk_o(L, rng, lens, H, ratio, K=128, V=128, BT=64):
    cu, idx, _ = chunks(lens)
    T = int(cu[-1])
    Hg = H // ratio
    NT = len(idx)
    sc = K**-0.5
    q = L.random("q", (1, T, Hg, K), "bf16", rng, 1.0)
    k = L.random("k", (1, T, Hg, K), "bf16", rng, K**-0.5)
    v = L.random("v", (1, T, H, V), "bf16", rng)
    h = L.random("h", (1, NT, H, V, K), "bf16", rng, 0.3)
    gv = local_cumsum(decay(rng, T, H), cu).astype(np.float32)
    g = L.data("g", gv, "f32")
    o = L.out("o", (1, T, H, V), "bf16")
    c = L.data("cu_seqlens", cu, "i32")
    ci = L.data("chunk_indices", idx, "i32")
    L.grid = (V // 64, NT, H)
    L.a(q=q, k=k, v=v, h=h, g=g, o=o, cu_seqlens=c, chunk_indices=ci, scale=float(sc), T=Int(T, no_spec=True)).c(
        H=H, Hg=Hg, K=K, V=V, BT=BT, BK=64, BV=64, USE_G=True, IS_VARLEN=True
    )
    if not L.reference:
        return
    Q, Kk, Vv, Hh = (L.value(n)[0].astype(np.float64) for n in ("q", "k", "v", "h"))
    out = np.zeros((T, H, V))
    mag = np.zeros_like(out)
    for t, (n, i) in enumerate(idx):
        a = cu[n] + 64 * i
        e = min(a + 64, cu[n + 1])
        tri = np.tril(np.ones((e - a, e - a)))
        for hh in range(H):
            gg = gv[a:e, hh].astype(np.float64)
            qq, kk, vv = Q[a:e, hh // ratio], Kk[a:e, hh // ratio], Vv[a:e, hh]
            A = (qq @ kk.T) * np.exp(gg[:, None] - gg[None, :]) * tri
            I = (qq @ Hh[t, hh].T) * np.exp(gg)[:, None]
            out[a:e, hh] = (I + A @ vv) * sc
            mag[a:e, hh] = (np.abs(I) + np.abs(A) @ np.abs(vv)) * sc
    L.want(
        "o", out[None], 2.0**-8 * 1.01, 1e-6, slack=mag[None] * 2.0**-8, l2=4e-3
    )  # A is rounded to bf16 before the second product


@kernel(
    KERNELS,
    "gdn_chunk_delta_h",
    "vllm",
    DIR + "chunk_delta_h.py",
    "chunk_gated_delta_rule_fwd_kernel_h_blockdim64",
    {"num_warps": 4, "num_stages": 2},
    {"small": dict(lens=(150, 64), H=4, ratio=2), "prod": dict(lens=(4096, 2048, 1024, 1024), H=4, ratio=2, big=True)},
    "state recurrence before gdn_chunk_fwd_o; BV = 32, 4 warps, 2 stages (autotuner candidate); f32 initial and final"
    " states; H is a constexpr, hence one object per H",
    edge=("u", "h0"),
    lds=40960,
)
def chunk_h(L, rng, lens, H, ratio, K=128, V=128, BT=64):
    cu, idx, off = chunks(lens)
    T = int(cu[-1])
    Hg = H // ratio
    NT = len(idx)
    N = len(lens)
    k = L.random("k", (1, T, Hg, K), "bf16", rng, K**-0.5)
    v = L.random("u", (1, T, H, V), "bf16", rng)
    w = L.random("w", (1, T, H, K), "bf16", rng, 0.5 * K**-0.5)
    vn = L.out("v_new", (1, T, H, V), "bf16")
    gv = local_cumsum(decay(rng, T, H), cu).astype(np.float32)
    g = L.data("g", gv, "f32")
    h = L.out("h", (1, NT, H, V, K), "bf16")
    h0 = L.random("h0", (N, H, V, K), "f32", rng, 0.3)
    ht = L.out("ht", (N, H, V, K), "f32")
    c = L.data("cu_seqlens", cu, "i32")
    co = L.data("chunk_offsets", off, "i32")
    L.grid = (V // 32, N * H)
    L.a(
        k=k, v=v, w=w, v_new=vn, g=g, gk=None, h=h, h0=h0, ht=ht, cu_seqlens=c, chunk_offsets=co, T=Int(T, no_spec=True)
    )
    L.c(
        H=H,
        Hg=Hg,
        K=K,
        V=V,
        BT=BT,
        BV=32,
        USE_G=True,
        USE_GK=False,
        USE_INITIAL_STATE=True,
        STORE_FINAL_STATE=True,
        SAVE_NEW_VALUE=True,
        IS_VARLEN=True,
        USE_EXP2=False,
    )
    if not L.reference:
        return
    Kk, U, W = (L.value(n)[0].astype(np.float64) for n in ("k", "u", "w"))
    H0 = L.value("h0").astype(np.float64)
    hs, vs, fin = np.zeros((NT, H, V, K)), np.zeros((T, H, V)), np.zeros((N, H, V, K))
    for n in range(N):
        for hh in range(H):
            S = H0[n, hh].copy()
            for i in range(-(-lens[n] // 64)):
                a = cu[n] + 64 * i
                e = min(a + 64, cu[n + 1])
                hs[off[n] + i, hh] = S
                gg = gv[a:e, hh].astype(np.float64)
                b = U[a:e, hh] - W[a:e, hh] @ bf16_round(S).astype(np.float64).T
                vs[a:e, hh] = b
                bd = bf16_round(b * np.exp(gg[-1] - gg)[:, None]).astype(np.float64)
                S = S * np.exp(gg[-1]) + (Kk[a:e, hh // ratio].T @ bd).T
            fin[n, hh] = S
    # bf16 roundings of state and decayed values feed the recurrence: a value near a boundary may round the other way
    L.want("h", hs[None], 2.0**-8 * 1.01, 4e-3, l2=3e-3)
    L.want("v_new", vs[None], 2.0**-8 * 1.01, 4e-3, l2=3e-3)
    L.want("ht", fin, 1e-3, 4e-3, l2=1e-3)


@kernel(
    KERNELS,
    "gdn_recurrent_decode",
    "vllm",
    DIR + "fused_recurrent.py",
    "fused_recurrent_gated_delta_rule_fwd_kernel",
    {"num_warps": 1, "num_stages": 3},
    {"small": dict(N=5), "prod": dict(N=128, big=True)},
    "decode step of Qwen3-Next on 8 ranks: one token per sequence, f32 state updated in place through an index table,"
    " q/k normalised in the kernel; BV 32, 1 warp, 3 stages as the launcher sets them",
    edge=("v", "state"),
    lds=64,
)
def recurrent(L, rng, N, H=2, HV=4, K=128, V=128):
    slots = N + 2
    q = L.random("q", (1, N, H, K), "bf16", rng)
    k = L.random("k", (1, N, H, K), "bf16", rng)
    v = L.random("v", (1, N, HV, V), "bf16", rng)
    g = L.data("g", -rng.uniform(0.001, 2, (1, N, HV)), "f32")
    be = L.data("beta", rng.uniform(0.1, 0.9, (1, N, HV)), "bf16")
    o = L.out("o", (1, N, HV, V), "bf16")
    st = L.random("state", (slots, HV, V, K), "f32", rng, 0.3)
    cu = L.data("cu_seqlens", np.arange(N + 1), "i32")
    idx = 1 + rng.permutation(slots - 1)[:N]
    idx[2 % N] = 0
    ix = L.data("state_indices", idx, "i32")
    L.grid = (1, V // 32, N * HV)
    sc = K**-0.5
    L.a(
        q=q,
        k=k,
        v=v,
        g=g,
        beta=be,
        o=o,
        h0=st,
        ht=st,
        cu_seqlens=cu,
        ssm_state_indices=ix,
        num_accepted_tokens=None,
        scale=float(sc),
        N=Int(N, "i64"),
        T=Int(N, "i64"),
    )
    L.c(
        B=1,
        H=H,
        HV=HV,
        K=K,
        V=V,
        BK=K,
        BV=32,
        stride_init_state_token=HV * V * K,
        stride_final_state_token=HV * V * K,
        stride_indices_seq=1,
        stride_indices_tok=1,
        USE_INITIAL_STATE=True,
        INPLACE_FINAL_STATE=True,
        IS_BETA_HEADWISE=False,
        USE_QK_L2NORM_IN_KERNEL=True,
        IS_VARLEN=True,
        IS_CONTINUOUS_BATCHING=True,
        IS_SPEC_DECODING=False,
        IS_KDA=False,
    )
    if not L.reference:
        return
    Q, Kk, Vv, G, B = (L.value(n)[0].astype(np.float64) for n in ("q", "k", "v", "g", "beta"))
    S = L.value("state").astype(np.float64)
    out = np.zeros((N, HV, V))
    m = (idx > 0)[:, None, None]
    new = S.copy()
    sl = np.zeros_like(S)

    def nrm(x):
        return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)

    for n in range(N):
        if idx[n] == 0:
            continue  # null block: nothing is read or written
        qq, kk = np.repeat(nrm(Q[n]), HV // H, 0) * sc, np.repeat(nrm(Kk[n]), HV // H, 0)
        h = S[idx[n]] * np.exp(G[n])[:, None, None]
        d = (Vv[n] - np.einsum("hvk,hk->hv", h, kk)) * B[n][:, None]
        h = h + d[:, :, None] * kk[:, None, :]
        new[idx[n]] = h
        out[n] = np.einsum("hvk,hk->hv", h, qq)
        sl[idx[n]] = (np.abs(h).max() + 1) * 2e-6
    L.want("state", new, 2e-6, 0, slack=sl)
    L.want("o", out[None], 2.0**-8 * 1.01, 1e-5, mask=m[None])
