"""KV-cache write: scatter this step's keys and values into the paged cache, converting to fp8 (vLLM)."""

from triton_case import *  # noqa: F403: the vocabulary of launches

KERNELS = {}


@kernel(
    KERNELS,
    "reshape_and_cache_fp8",
    "vllm",
    "vllm/v1/attention/ops/triton_reshape_and_cache_flash.py",
    "reshape_and_cache_kernel_flash",
    {"num_warps": 8, "num_stages": 4},
    {"small": dict(tokens=24, blocks=8), "prod": dict(tokens=8192, blocks=2048, big=True)},
    "Llama 8B: 8 kv heads of 128, pages of 16 tokens, bf16 in, fp8 e4m3fnuz cache with per-tensor scales; TILE_SIZE ="
    " heads * size = 1024; ROCm heuristic 8 warps, 4 stages",
)
def reshape_and_cache(L, rng, tokens, blocks, heads=8, hd=128, page=16):
    n = heads * hd
    row = n * 6  # key and value are slices of the qkv row (32 query heads)
    qkv = L.random("qkv", (tokens, row), "bf16", rng, 2.0)
    kc = L.out("key_cache", (blocks, page, heads, hd), "fp8_e4m3fnuz")
    vc = L.out("value_cache", (blocks, page, heads, hd), "fp8_e4m3fnuz")
    slots = rng.permutation(blocks * page)[:tokens]
    if tokens > 4:
        slots[3] = -1  # padding token
    sl = L.data("slot_mapping", slots, "i64")
    ks = L.data("k_scale", np.array([0.05]), "f32")
    vs = L.data("v_scale", np.array([0.07]), "f32")
    k = Ptr("qkv", "bf16", qkv.nbytes, 4 * n * 2)
    v = Ptr("qkv", "bf16", qkv.nbytes, 5 * n * 2)
    L.grid = (tokens, 1)

    def i(x):
        return Int(x, "i64")

    L.a(
        key_ptr=k,
        value_ptr=v,
        key_cache_ptr=kc,
        value_cache_ptr=vc,
        slot_mapping_ptr=sl,
        k_scale=ks,
        v_scale=vs,
        key_stride=i(row),
        value_stride=i(row),
        block_stride=i(page * n),
        head_stride=i(hd),
        dim_stride_k=i(0),
        dim_stride_v=i(0),
        page_stride=i(n),
    )
    L.c(
        num_heads=heads,
        head_size=hd,
        block_size=page,
        x=1,
        USE_HEAD_MAJOR_LAYOUT=False,
        INTERLEAVED_V_PACK_FACTOR=0,
        FP8_KV_CACHE=True,
        TILE_SIZE=1024,
    )
    if not L.reference:
        return
    x = L.value("qkv").astype(np.float64)
    for name, off, sc in (("key_cache", 4, L.value("k_scale")[0]), ("value_cache", 5, L.value("v_scale")[0])):
        out = np.zeros((blocks * page, n))
        m = np.zeros((blocks * page, 1), bool)
        sk = np.zeros_like(out)
        live = slots >= 0
        q, slack = fp8_round(x[live, off * n : (off + 1) * n] / float(sc))
        out[slots[live]] = q
        m[slots[live]] = True
        sk[slots[live]] = slack
        sh = (blocks, page, heads, hd)
        L.want(
            name, out.reshape(sh), 0, 0, mask=np.broadcast_to(m, (blocks * page, n)).reshape(sh), slack=sk.reshape(sh)
        )
