"""Normalisation: fused residual add + RMSNorm, LayerNorm (aiter's Triton kernels, which vLLM and SGLang call through
aiter)."""

from triton_case import *  # noqa: F403: the vocabulary of launches

KERNELS = {}


@kernel(
    KERNELS,
    "fused_add_rmsnorm_bf16_8192",
    "aiter",
    "aiter/ops/triton/_triton_kernels/rmsnorm.py",
    "_fused_add_rmsnorm_kernel",
    {},
    {"small": dict(rows=320), "prod": dict(rows=4096, big=True)},
    "hidden 8192 (Llama 70B); BLOCK_SIZE = next power of two; NUM_PRGMS = min(rows, 304 CUs), so both cases have more"
    " than 304 rows",
    lds=16,
)
def fused_add_rmsnorm(L, rng, rows, cols=8192, eps=1e-5):
    x = L.random("x", (rows, cols), "bf16", rng)
    y = L.out("y", (rows, cols), "bf16")
    r = L.random("res_in", (rows, cols), "bf16", rng)
    s = L.out("res_out", (rows, cols), "bf16")
    g = L.random("weight", (cols,), "bf16", rng, 0.1, 1.0)
    rs = L.out("rsigma", (rows,), "f32")
    L.grid = (min(rows, 304),)
    L.a(
        input_ptr=x,
        output_ptr=y,
        res_in_ptr=r,
        res_out_ptr=s,
        g_ptr=g,
        rsigma_ptr=rs,
        input_row_stride=cols,
        output_row_stride=cols,
        n_rows=rows,
        n_cols=cols,
        epsilon=float(eps),
    ).c(BLOCK_SIZE=8192, USE_BLOCKED=False, NUM_PRGMS=304)
    if not L.reference:
        return
    sm = bf16_round(L.value("x") + L.value("res_in")).astype(np.float64)
    inv = 1 / np.sqrt((sm**2).mean(1) + eps)
    L.want("res_out", sm, 0, 0)
    L.want("rsigma", inv, 2e-6, 0)
    L.want("y", sm * inv[:, None] * L.value("weight"), 2.0**-8 * 1.01, 1e-30)


@kernel(
    KERNELS,
    "layernorm_bf16_5120",
    "aiter",
    "aiter/ops/triton/_triton_kernels/norm.py",
    "_layernorm_kernel",
    {},
    {"small": dict(rows=16), "prod": dict(rows=4096, big=True)},
    "hidden 5120: BLOCK_SIZE 8192, so the last load is masked; one program per row",
    lds=16,
)
def layernorm(L, rng, rows, cols=5120, eps=1e-5):
    x = L.random("x", (rows, cols), "bf16", rng, 1.0, 0.3)
    y = L.out("y", (rows, cols), "bf16")
    w = L.random("weight", (cols,), "bf16", rng, 0.1, 1.0)
    b = L.random("bias", (cols,), "bf16", rng, 0.1)
    m = L.out("mean", (rows,), "f32")
    r = L.out("rstd", (rows,), "f32")
    L.grid = (rows,)
    L.a(
        x_ptr=x,
        y_ptr=y,
        w_ptr=w,
        b_ptr=b,
        mean_ptr=m,
        rstd_ptr=r,
        x_row_stride=cols,
        y_row_stride=cols,
        n_rows=rows,
        n_cols=cols,
        eps=float(eps),
    ).c(BLOCK_SIZE=8192)
    if not L.reference:
        return
    v = L.value("x").astype(np.float64)
    mu = v.mean(1)
    rstd = 1 / np.sqrt(v.var(1) + eps)
    L.want("mean", mu, 1e-6, 1e-6)
    L.want("rstd", rstd, 2e-6, 0)
    n = (v - mu[:, None]) * rstd[:, None] * L.value("weight")
    out = n + L.value("bias")
    L.want("y", out, 2.0**-8 * 1.01, 1e-6, slack=np.abs(n) * 4e-6)
