"""Rotary embedding in place on q and k: multimodal sections, NeoX halves (vLLM)."""

from triton_case import *  # noqa: F403: the vocabulary of launches

KERNELS = {}


@kernel(
    KERNELS,
    "mrope_bf16",
    "vllm",
    "vllm/model_executor/layers/rotary_embedding/mrope.py",
    "_triton_mrope_forward",
    {"num_warps": 4},
    {"small": dict(tokens=32), "prod": dict(tokens=8192, big=True)},
    "Qwen2.5-VL 7B: 28 query and 4 key heads of 128, sections 16/24/24; q and k are slices of the fused qkv projection"
    " (row stride 4608); cos/sin in the model's bf16",
)
def mrope(L, rng, tokens, nq=28, nk=4, hd=128, sec=(16, 24, 24)):
    stride = (nq + 2 * nk) * hd
    half = hd // 2
    qkv = L.random("qkv", (tokens, stride), "bf16", rng)
    pos = rng.integers(0, 4000, (3, tokens, 1))
    ang = pos * (1e6 ** (-np.arange(half) / half))
    cos = L.data("cos", np.cos(ang), "bf16")
    sin = L.data("sin", np.sin(ang), "bf16")
    k = Ptr("qkv", "bf16", qkv.nbytes - nq * hd * 2, nq * hd * 2)
    L.grid = (tokens,)
    L.a(q_ptr=qkv, k_ptr=k, cos=cos, sin=sin, num_tokens=tokens, q_token_stride=stride, k_token_stride=stride)
    L.c(
        n_qh=nq,
        n_kh=nk,
        hd=hd,
        rd=hd,
        pad_n_qh=32,
        pad_n_kh=4,
        pad_rd=128,
        mrope_section_t=sec[0],
        mrope_section_h=sec[1],
        mrope_section_w=sec[2],
        is_interleaved=False,
        is_neox_style=True,
    )
    if not L.reference:
        return
    sel = np.repeat([0, 1, 2], sec)
    C = L.value("cos")[sel, :, np.arange(half)].T
    S = L.value("sin")[sel, :, np.arange(half)].T
    v = L.value("qkv").astype(np.float64).reshape(tokens, nq + 2 * nk, hd)
    out = v.copy()
    slack = np.zeros_like(v)
    x1, x2 = v[:, : nq + nk, :half], v[:, : nq + nk, half:]
    c, s = C[:, None].astype(np.float64), S[:, None].astype(np.float64)
    out[:, : nq + nk, :half] = x1 * c - x2 * s
    out[:, : nq + nk, half:] = x2 * c + x1 * s
    # each product and the sum are bf16 operations
    slack[:, : nq + nk, :half] = (np.abs(x1 * c) + np.abs(x2 * s)) * 2.0**-8
    slack[:, : nq + nk, half:] = (np.abs(x2 * c) + np.abs(x1 * s)) * 2.0**-8
    L.want("qkv", out.reshape(tokens, stride), 2.0**-8 * 1.02, 1e-30, slack=slack.reshape(tokens, stride))
