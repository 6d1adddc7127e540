"""Activation quantisation to fp8 e4m3fnuz: per token group (vLLM) and per token (aiter)."""

from triton_case import *  # noqa: F403: the vocabulary of launches

KERNELS = {}


@kernel(
    KERNELS,
    "per_token_group_quant_fp8",
    "vllm",
    "vllm/model_executor/layers/quantization/utils/fp8_utils.py",
    "_per_token_group_quant_fp8",
    {"num_warps": 1, "num_stages": 1},
    {"small": dict(rows=5), "prod": dict(rows=4096, big=True)},
    "group 128 of the 1536 q_a columns of DeepSeek's fused qkv_a output (row stride 2112): the non-contiguous case is"
    " the one that reaches Triton; num_warps = max(BLOCK // 256, 1); fp8 range 224 on fnuz",
)
def group_quant(L, rng, rows, cols=1536, stride=2112, group=128):
    x = L.random("x", (rows, stride), "bf16", rng, 3.0)
    q = L.out("q", (rows, cols), "fp8_e4m3fnuz")
    s = L.out("scale", (rows, cols // group), "f32")
    L.grid = (rows * cols // group,)
    L.a(y_ptr=x, y_q_ptr=q, y_s_ptr=s, group_size=group, y_num_columns=cols, y_row_stride=stride, eps=1e-10).c(
        fp8_min=-224.0, fp8_max=224.0, use_ue8m0=False, BLOCK=128
    )
    if not L.reference:
        return
    v = L.value("x")[:, :cols].astype(np.float64).reshape(rows, -1, group)
    sc = np.maximum(np.abs(v).max(2), 1e-10) / 224.0
    y = np.clip(v / sc[..., None], -224, 224)
    q, slack = fp8_round(y.reshape(rows, cols))
    L.want("scale", sc, 1e-6, 0)
    L.want("q", q, 0, 0, slack=slack)


@kernel(
    KERNELS,
    "per_token_quant_fp8_7168",
    "aiter",
    "aiter/ops/triton/_triton_kernels/quant.py",
    "_dynamic_per_token_quant_fp8_i8_kernel",
    {},
    {"small": dict(rows=16), "prod": dict(rows=4096, big=True)},
    "hidden 7168 (DeepSeek V3): NUM_COL_POW2 8192, masked; DTYPE_MAX 240 from torch.finfo. The source assumes pid > 0"
    " although program 0 exists",
    lds=16,
)
def token_quant(L, rng, rows, cols=7168):
    q = L.out("q", (rows, cols), "fp8_e4m3fnuz")
    s = L.out("scale", (rows,), "f32")
    x = L.random("x", (rows, cols), "bf16", rng, 3.0)
    L.grid = (rows,)
    L.a(qx_ptr=q, scale_out_ptr=s, x_in_ptr=x, cols=cols, x_in_stride_r=cols).c(NUM_COL_POW2=8192, DTYPE_MAX=240.0)
    if not L.reference:
        return
    v = L.value("x").astype(np.float64)
    sc = np.abs(v).max(1) / 240.0
    y = v / sc[:, None]
    q, slack = fp8_round(y.reshape(rows, cols))
    L.want("scale", sc, 1e-6, 0)
    L.want("q", q, 0, 0, slack=slack)
