"""Logits processing before sampling: repetition, frequency and presence penalties (vLLM)."""

from triton_case import *  # noqa: F403: the vocabulary of launches

KERNELS = {}


@kernel(
    KERNELS,
    "penalties_f32",
    "vllm",
    "vllm/v1/worker/gpu/sample/penalties.py",
    "_penalties_kernel",
    {},
    {"small": dict(tokens=4, vocab=20000), "prod": dict(tokens=256, vocab=128256, big=True)},
    "Llama 3 vocabulary 128256; BLOCK_SIZE 8192 (PENALTIES_BLOCK_SIZE); logits are updated in place; one request has"
    " draft tokens, one no penalties",
    lds=1024,
)
def penalties(L, rng, tokens, vocab, block=8192):
    reqs = max(tokens - 1, 2)
    words = -(-vocab // 32)
    lg = L.random("logits", (tokens, vocab), "f32", rng, 3.0)
    req = np.minimum(np.arange(tokens), reqs - 1)
    pos = np.zeros(tokens, int)
    pos[-1] = 1  # the last two tokens belong to one request: the second sees the first's draft
    ids = rng.integers(0, vocab, tokens)
    rep = rng.choice([1.0, 1.1, 1.3], reqs)
    fr = rng.choice([0.0, 0.5], reqs)
    pr = rng.choice([0.0, 0.25], reqs)
    rep[0] = 1.0
    fr[0] = pr[0] = 0.0
    rep[-1], fr[-1], pr[-1] = 1.2, 0.5, 0.3
    if reqs > 2:
        rep[1] = 1.3
    idx = L.data("idx_mapping", req, "i32")
    ti = L.data("token_ids", ids, "i32")
    lp = L.data("local_pos", pos, "i32")
    a, b, c = L.data("repetition", rep, "f32"), L.data("frequency", fr, "f32"), L.data("presence", pr, "f32")
    mask = rng.random((reqs, words * 32)) < 0.02
    counts = np.where(rng.random((reqs, vocab)) < 0.01, rng.integers(1, 4, (reqs, vocab)), 0)
    packed = (
        (mask.reshape(reqs, words, 32).astype(np.uint32) << np.arange(32, dtype=np.uint32))
        .sum(2, dtype=np.uint32)
        .view(np.int32)
    )
    pm = L.data("prompt_mask", packed, "i32")
    oc = L.data("output_counts", counts, "i32")
    L.grid = (tokens, -(-vocab // block))
    L.a(
        logits_ptr=lg,
        logits_stride=vocab,
        expanded_idx_mapping_ptr=idx,
        token_ids_ptr=ti,
        expanded_local_pos_ptr=lp,
        repetition_penalty_ptr=a,
        frequency_penalty_ptr=b,
        presence_penalty_ptr=c,
        prompt_bin_mask_ptr=pm,
        prompt_bin_mask_stride=words,
        output_bin_counts_ptr=oc,
        output_bin_counts_stride=vocab,
        vocab_size=vocab,
    ).c(BLOCK_SIZE=block)
    if not L.reference:
        return
    out = L.value("logits").astype(np.float64).copy()

    def f32(v):
        return float(np.float32(v))

    for t in range(tokens):
        r = req[t]
        cnt = counts[r].copy()
        for p in range(pos[t]):
            cnt[ids[t - pos[t] + p + 1]] += 1
        seen = mask[r, :vocab] | (cnt > 0)
        sc = np.where(seen, f32(rep[r]), 1.0)
        out[t] = np.where(out[t] > 0, out[t] / sc, out[t] * sc) - f32(fr[r]) * cnt - f32(pr[r]) * (cnt > 0)
    L.want("logits", out, 4e-7, 1e-6)


def murmur3(seed, pos, off):
    """32-bit Murmur3 over (seed lo, seed hi, position, token), as the sampler keys its noise."""
    M = np.uint32

    def rot(v, r):
        return (v << M(r)) | (v >> M(32 - r))

    h = np.zeros(np.broadcast(seed, off).shape, M)
    with np.errstate(over="ignore"):
        for k in (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF, pos & 0xFFFFFFFF, off):
            k = np.asarray(k).astype(M) * M(0xCC9E2D51)
            h = h ^ (rot(k, 15) * M(0x1B873593))
            h = rot(h, 13) * M(5) + M(0xE6546B64)
        h = h ^ M(16)
        h = (h ^ (h >> M(16))) * M(0x85EBCA6B)
        h = (h ^ (h >> M(13))) * M(0xC2B2AE35)
    return h ^ (h >> M(16))


@kernel(
    KERNELS,
    "gumbel_sample_f32",
    "vllm",
    "vllm/v1/worker/gpu/sample/gumbel.py",
    "_gumbel_sample_kernel",
    {},
    {"small": dict(tokens=4, vocab=5008), "prod": dict(tokens=256, vocab=128256, big=True)},
    "first pass of Gumbel-max sampling: argmax of a block of 1024 noised logits; noise from a Murmur3 hash of (seed,"
    " position, token); no logits cache, temperature already applied; one greedy request",
    lds=32,
)
def gumbel(L, rng, tokens, vocab, block=1024):
    nb = -(-vocab // block)
    am = L.out("local_argmax", (tokens, nb), "i64")
    mx = L.out("local_max", (tokens, nb), "f32")
    lg = L.random("logits", (tokens, vocab), "f32", rng, 3.0)
    req = rng.permutation(tokens)
    seed = rng.integers(-(2**62), 2**62, tokens)
    pos = rng.integers(0, 100000, tokens)
    temp = rng.uniform(0.3, 1.2, tokens).astype(np.float32)
    temp[req[0]] = 0
    ix, sd, ps, tp = (
        L.data("idx_mapping", req, "i32"),
        L.data("seeds", seed, "i64"),
        L.data("pos", pos, "i64"),
        L.data("temperature", temp, "f32"),
    )
    L.grid = (tokens, nb)
    L.a(
        local_argmax_ptr=am,
        local_argmax_stride=nb,
        local_max_ptr=mx,
        local_max_stride=nb,
        logits_cache_ptr=None,
        logits_cache_stride_0=0,
        logits_cache_stride_1=0,
        logits_cache_col_ptr=None,
        logits_cache_source_ptr=None,
        logits_cache_source_stride=0,
        logits_ptr=lg,
        logits_stride=vocab,
        expanded_idx_mapping_ptr=ix,
        seeds_ptr=sd,
        pos_ptr=ps,
        temp_ptr=tp,
        vocab_size=vocab,
    )
    L.c(BLOCK_SIZE=block, IS_DRAFTING=False, APPLY_TEMPERATURE=False, USE_FP64=False, PER_TOKEN_COL=False)
    if not L.reference:
        return
    x = np.full((tokens, nb * block), -np.inf)
    x[:, :vocab] = L.value("logits")
    off = np.arange(vocab, dtype=np.uint32)
    for t in range(tokens):
        r = req[t]
        if temp[r] == 0:
            continue
        h = murmur3(seed[r], pos[t], off)
        hi, lo = (h >> np.uint32(16)).astype(np.float32), (h & np.uint32(0xFFFF)).astype(np.float32)
        u = (hi * np.float32(2.0**-16) + (lo + np.float32(0.5)) * np.float32(2.0**-32)).astype(np.float64)
        x[t, :vocab] += -np.log(-np.log(np.maximum(1 - u, 2.0**-24)))
    x = x.reshape(tokens, nb, block)
    top = np.sort(x, 2)[..., -2:]
    clear = top[..., 1] - top[..., 0] > 1e-4
    L.want("local_max", x.max(2), 2e-6, 2e-5)
    L.want(
        "local_argmax", x.argmax(2) + np.arange(nb) * block, 0, 0, slack=np.where(clear, 0, vocab)
    )  # a tie within rounding may go either way
