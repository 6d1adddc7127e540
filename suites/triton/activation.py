"""Gated activation between the two expert GEMMs: silu(gate) * up (SGLang)."""

from triton_case import *  # noqa: F403: the vocabulary of launches

KERNELS = {}


@kernel(
    KERNELS,
    "silu_and_mul_bf16",
    "sglang",
    "sglang/kernels/ops/moe/fused_moe_triton_kernels.py",
    "act_and_mul_kernel",
    {},
    {"small": dict(rows=16, hidden=7168), "prod": dict(rows=4096, hidden=28672, big=True)},
    "one program per (token, expert) row; BLOCK_SIZE 512 and the expert filter as act_and_mul_triton sets them; hidden"
    " = 2 x intermediate (Mixtral 14336)",
)
def silu_and_mul(L, rng, rows, hidden):
    x = L.random("gateup", (rows, hidden), "bf16", rng, 2.0)
    y = L.out("out", (rows, hidden // 2), "bf16")
    ids = rng.integers(0, 8, rows)
    ids[::5] = -1  # -1: expert lives on another rank, row is skipped
    e = L.data("expert_ids", ids, "i32")
    L.grid = (rows,)
    L.a(gateup_output=x, down_input=y, hidden_size=hidden, expert_ids_ptr=e).c(
        expert_step=1,
        BLOCK_SIZE=512,
        ACTIVATION_TYPE="silu",
        SWIGLU_LIMIT=0.0,
        HAS_SWIGLU_LIMIT=False,
        HAS_EXPERT_FILTER=True,
    )
    if not L.reference:
        return
    v = L.value("gateup").astype(np.float64)
    g, u = v[:, : hidden // 2], v[:, hidden // 2 :]
    a = g / (1 + np.exp(-g))
    # the activated gate is rounded to bf16, then the product is: two roundings
    L.want("out", a * u, 2 * 2.0**-8 * 1.02, 1e-30, mask=(ids != -1)[:, None])
