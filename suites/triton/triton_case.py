"""A launch of a Triton kernel: buffers, arguments, kernarg layout, expectations; written as a dispatch folder, and
checked after a run.

A kernel (one code object) has several cases (launches). A kernel is declared by a function that fills a Launch:
buffers, arguments in the order of the kernel's Python signature, grid. The same declaration tells build.py what to compile
(it applies Triton's own specialisation rules to the argument values) and `write` where every argument lies in the
kernarg segment.
"""

import json
import os
import sys
import numpy as np


sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from number_formats import FP8, FP8_MAX, bf16_bits, bf16_round, bf16_val, fp8_codes, fp8_val  # noqa: E402,F401


def fp8_round(y):
    """Nearest e4m3fnuz values of y, and one step of slack where y lies so close to a rounding boundary (1e-5 of a step)
    that the kernel's own float32 rounding of y decides."""
    q = fp8_val(fp8_codes(y)).astype(np.float64)
    step = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(y), 2.0**-7))) - 3)
    return q, np.where(np.abs(y - q) > (0.5 - 1e-5) * step, step, 0.0)


NP = {
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "f16": np.float16,
    "bf16": np.uint16,
    "f32": np.float32,
    "f64": np.float64,
    "fp8_e4m3fnuz": np.uint8,
}
# dispatch dtype -> torch's name for it, which is what Triton's type mangling looks at
TORCH = {
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u64": "uint64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "fp8_e4m3fnuz": "float8_e4m3fnuz",
    "bool": "bool",
}


def encode(x, dtype):
    """float values -> storage of dtype."""
    if dtype == "bf16":
        return bf16_bits(x)
    if dtype == "fp8_e4m3fnuz":
        return fp8_codes(x)
    return np.asarray(x).astype(NP[dtype])


def decode(raw, dtype):
    """storage -> values (float32 for the narrow formats)."""
    raw = np.asarray(raw)
    if dtype == "bf16":
        return bf16_val(raw)
    if dtype == "fp8_e4m3fnuz":
        return fp8_val(raw)
    return raw


SPECIAL = {
    "bf16": ([0, 0x8000, 1, 0x8001, 0x7F7F, 0xFF7F], [0x7F80, 0xFF80, 0x7FC1, 0xFFA5]),
    "f16": ([0, 0x8000, 1, 0x8001, 0x7BFF, 0xFBFF], [0x7C00, 0xFC00, 0x7E01, 0xFD05]),
    "f32": ([0, 0x80000000, 1, 0x80012345, 0x7F7FFFFF, 0xFF7FFFFF], [0x7F800000, 0xFF800000, 0x7FC00001, 0xFFA00005]),
    "fp8_e4m3fnuz": ([0, 1, 0x81, 0x7F, 0xFF], [0x80]),
}


def specials(a, dtype):
    """Zeros, denormals, largest values in the rows 1 mod 4, infinities and NaNs in the rows 3 mod 4 (rows: the first
    dimension of more than 3, else the last), five elements each; the other rows stay ordinary."""
    a = np.ascontiguousarray(a).copy()
    b = a.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[a.dtype.itemsize])
    rng = np.random.default_rng(a.size)
    ax = next((i for i, n in enumerate(a.shape) if n > 3), a.ndim - 1)
    rows = np.moveaxis(b, ax, 0)
    for i in range(1, rows.shape[0], 2):
        for v in rng.choice(SPECIAL[dtype][(i // 2) % 2], 5):
            rows[(i,) + tuple(rng.integers(0, n) for n in rows.shape[1:])] = v
    return a


# ---- the generators of dispatch.json -----------------------------------------------------------------
def splitmix(seed, n, start=0):
    """Draws start .. start+n-1 of SplitMix64."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(start + 1, start + n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _draw(init, dtype, start, n):
    """Elements start .. start+n-1 (start even)."""
    if "uniform" in init:
        p = init["uniform"]
        z = splitmix(p["seed"], n, start)
        if dtype[0] in "iu":
            return ((z % np.uint64(p["hi"] - p["lo"] + 1)).astype(np.int64) + p["lo"]).astype(NP[dtype])
        return encode(p["lo"] + (p["hi"] - p["lo"]) * ((z >> np.uint64(11)).astype(np.float64) / 2.0**53), dtype)
    p = init["normal"]
    m = n + n % 2
    u = (splitmix(p["seed"], m, start) >> np.uint64(11)).astype(np.float64) / 2.0**53
    r = np.sqrt(-2 * np.log(np.maximum(u[0::2], 2.0**-53)))
    t = 2 * np.pi * u[1::2]
    v = np.empty(m)
    v[0::2] = r * np.cos(t)
    v[1::2] = r * np.sin(t)
    return encode(p["mean"] + p["std"] * v[:n], dtype)


def generate(init, shape, dtype):
    """Storage array of a dispatch.json init (those used here)."""
    if init == "zero":
        return np.zeros(shape, NP[dtype])
    if init == "poison":
        return None
    if "constant" in init:
        return encode(np.full(shape, init["constant"]), dtype)
    n, step = int(np.prod(shape)), 1 << 22
    out = np.empty(n, NP[dtype])
    for i in range(0, n, step):
        out[i : i + step] = _draw(init, dtype, i, min(step, n - i))
    return out.reshape(shape)


# ---- launch -------------------------------------------------------------------------------------------
class Ptr:
    """A pointer argument: a buffer plus an offset in bytes.  aligned: what torch's allocator gives (16 bytes)."""

    def __init__(self, name, dtype, nbytes, offset=0):
        self.name, self.dtype, self.nbytes, self.offset = name, dtype, nbytes, offset


class Const:
    """A tl.constexpr parameter.  A string starting with "tl." names a Triton type."""

    def __init__(self, value):
        self.value = value


class Int:
    """An integer argument whose parameter is annotated (ty) or excluded from specialisation."""

    def __init__(self, value, ty=None, no_spec=False):
        self.value, self.ty, self.no_spec = int(value), ty, no_spec


class Launch:
    def __init__(self, big, edge=False):
        self.big = big  # production size: generated inputs instead of files
        self.edge = edge  # special values among the inputs; no NumPy reference, only K0's own bits
        self.bufs, self.args, self.cmp, self.expect, self.grid, self._seed = {}, [], {}, {}, None, 1000

    def special(self, name):
        return self.edge is True or (self.edge and name in self.edge)

    # buffers
    def data(self, name, values, dtype, compare=None):
        """Small input: values are encoded and stored in a file."""
        if self.special(name) and dtype == "fp8_e4m3fnuz":
            values = specials(values, dtype)
        a = np.ascontiguousarray(
            values if isinstance(values, np.ndarray) and values.dtype == NP[dtype] else encode(values, dtype)
        )
        self.bufs[name] = dict(dtype=dtype, shape=a.shape, array=a)
        if compare is not None:
            self.cmp[name] = compare
        return Ptr(name, dtype, a.nbytes)

    def fill(self, name, shape, dtype, init, compare=None):
        self.bufs[name] = dict(dtype=dtype, shape=tuple(shape), init=init)
        if compare is not None:
            self.cmp[name] = compare
        return Ptr(name, dtype, int(np.prod(shape)) * np.dtype(NP[dtype]).itemsize)

    def random(self, name, shape, dtype, rng, std=1.0, mean=0.0):
        """Normal input: from the case's own generator in a file, or by dispatch.json's generator for production
        sizes."""
        if not self.big:
            a = encode(rng.normal(mean, std, shape).astype(np.float32), dtype)
            return self.data(name, specials(a, dtype) if self.special(name) and dtype != "fp8_e4m3fnuz" else a, dtype)
        self._seed += 1
        return self.fill(name, shape, dtype, {"normal": {"mean": mean, "std": std, "seed": self._seed}})

    def out(self, name, shape, dtype, init="poison"):
        return self.fill(name, shape, dtype, init)

    def value(self, name):
        """The input's values as the kernel sees them."""
        b = self.bufs[name]
        if "array" not in b:
            return decode(generate(b["init"], b["shape"], b["dtype"]), b["dtype"])
        return decode(b["array"], b["dtype"])

    # arguments, in signature order
    def a(self, **kw):
        self.args += list(kw.items())
        return self

    def c(self, **kw):
        self.args += [(k, Const(v)) for k, v in kw.items()]
        return self

    def want(self, name, value, rtol, atol, what=None, mask=None, l2=None, slack=None, order_free=False):
        """value: expectation; slack: additional absolute tolerance per element; l2: bound on the relative L2 error."""
        self.expect[name] = dict(
            value=np.asarray(value, np.float64), rtol=rtol, atol=atol, what=what or name, mask=mask, l2=l2, slack=slack
        )
        self.cmp[name] = {"rtol": rtol, "atol": atol} if order_free else {"bitwise": True}

    # kernarg
    def layout(self):
        """[(parameter, offset, size, kind, value)] and the segment size: constexprs, None and ints equal to 1 vanish,
        natural alignment, then the two scratch pointers Triton appends."""
        at, out = 0, []
        for n, v in self.args:
            if isinstance(v, Const) or v is None:
                continue
            if isinstance(v, Ptr):
                k, sz = "ptr", 8
            elif isinstance(v, float):
                k, sz = "f32", 4
            else:
                i = v if isinstance(v, Int) else Int(v)
                if i.value == 1 and not i.ty and not i.no_spec:
                    continue
                k = i.ty or ("i32" if -(2**31) <= i.value < 2**31 else "i64")
                sz = {"i32": 4, "i64": 8}[k]
                v = i.value
            at = -(-at // sz) * sz
            out.append((n, at, sz, k, v))
            at += sz
        at = -(-at // 8) * 8
        for n in ("global_scratch", "profile_scratch"):
            out.append((n, at, 8, "null", 0))
            at += 8
        return out, at


class Kernel:
    def __init__(self, name, package, file, function, options, fill, cases, note="", edge=True, lds=0):
        cases = dict(cases)
        if "small" in cases and edge:
            cases["edge"] = dict(cases["small"], edge=edge)  # True or the names of the buffers that get special values
        self.__dict__.update(
            name=name,
            package=package,
            file=file,
            function=function,
            options=options,
            fill=fill,
            cases=cases,
            note=note,
            lds=lds,
        )

    def launch(self, case, seed=1, reference=True):
        p = dict(self.cases[case])
        big, edge = p.pop("big", False), p.pop("edge", False)
        L = Launch(big, edge)
        L.reference = reference and not edge
        self.fill(L, np.random.default_rng(seed), **p)
        return L


def kernel(table, name, package, file, function, options, cases, note="", edge=True, lds=0):
    """Decorator: register a fill function.  lds: bytes of LDS (build.py checks it): Triton's objects declare none, the
    launch asks for it."""

    def deco(f):
        table[name] = Kernel(name, package, file, function, options, f, cases, note, edge, lds)
        return f

    return deco


def dispatch(k, L):
    wg = [64 * k.options.get("num_warps", 4), 1, 1]
    g = list(L.grid) + [1] * (3 - len(L.grid))
    bufs = {}
    for n, b in L.bufs.items():
        bufs[n] = {
            "dtype": b["dtype"],
            "shape": [int(v) for v in b["shape"]],
            "init": {"file": n + ".in.bin"} if "array" in b else b["init"],
        }
    karg = []
    for n, at, sz, kind, v in L.layout()[0]:
        if kind == "ptr":
            e = {"at": at, "buffer": v.name}
            if v.offset:
                e["offset"] = v.offset
        elif kind == "null":
            e = {"at": at, "u64": 0}
        else:
            e = {"at": at, kind: v}
        karg.append(e)
    return {
        "asmevo_dispatch": 1,
        "kernel": k.function,
        "workgroup_size": wg,
        "grid_size": [int(a * b) for a, b in zip(g, wg)],
        "dynamic_lds_bytes": k.lds,
        "buffers": bufs,
        "kernarg": karg,
        "compare": L.cmp,
    }


def write(k, case, L, d, seed):
    os.makedirs(d, exist_ok=True)
    for n, b in L.bufs.items():
        if "array" in b:
            b["array"].tofile(os.path.join(d, n + ".in.bin"))
    json.dump(dispatch(k, L), open(os.path.join(d, "dispatch.json"), "w"), indent=1)
    json.dump(
        {
            "code_object": k.name + ".hsaco",
            "kernel": k.name,
            "case": case,
            "seed": seed,
            "package": k.package,
            "expected": {
                n: {"shape": list(e["value"].shape), "rtol": e["rtol"], "atol": e["atol"], "l2": e["l2"]}
                for n, e in L.expect.items()
            },
        },
        open(os.path.join(d, "case.json"), "w"),
        indent=1,
    )


def check(L, d):
    ok = True
    if L.edge:
        print("special values: no reference, outputs are compared with the original object's only")
    for n, e in L.expect.items():
        b = L.bufs[n]
        raw = np.fromfile(os.path.join(d, n + ".bin"), NP[b["dtype"]])
        got = decode(raw, b["dtype"]).reshape(b["shape"]).astype(np.float64)
        want = e["value"].reshape(b["shape"])
        m = np.ones(want.shape, bool) if e["mask"] is None else np.broadcast_to(e["mask"], want.shape)
        g, w = got[m], want[m]
        lim = e["atol"] + e["rtol"] * np.abs(w)
        if e["slack"] is not None:
            lim = lim + np.broadcast_to(e["slack"], want.shape)[m]
        nan = int(np.sum(np.isnan(g) != np.isnan(w)))
        f = np.isfinite(w) & np.isfinite(g)
        inf = int(np.sum(~f & ~(np.isnan(g) & np.isnan(w)) & (g != w)))
        err = np.abs(g[f] - w[f])
        bad = int(np.sum(err > lim[f])) + inf
        l2 = float(np.sqrt(np.sum(err**2) / max(np.sum(w[f] ** 2), 1e-300)))
        good = g.size > 0 and bad == 0 and nan == 0 and (e["l2"] is None or l2 <= e["l2"])
        rel = err / np.maximum(np.abs(w[f]), 1e-30)
        ok &= good
        print(
            f"{e['what']}: n={g.size} max_abs={err.max() if err.size else 0:.3e}"
            f" max_rel={rel.max() if rel.size else 0:.3e} rel_l2={l2:.3e} out_of_tolerance={bad} nan_mismatch={nan}"
            f" (rtol={e['rtol']:g} atol={e['atol']:g}"
            + (f" l2<={e['l2']:g}" if e["l2"] else "")
            + f") {'PASS' if good else 'FAIL'}"
        )
        if (
            e["mask"] is not None and b.get("init") == "poison" and not m.all()
        ):  # what is not written must keep its pattern
            ini = os.path.join(d, n + ".init.tmp")
            if os.path.exists(ini):
                old = np.fromfile(ini, NP[b["dtype"]]).reshape(b["shape"])[~m]
                same = old.tobytes() == raw.reshape(b["shape"])[~m].tobytes()
                if not same:
                    print(f"{n}: written outside the expected region FAIL")
                    ok = False
    for n, b in L.bufs.items():  # inputs must come back untouched
        p = os.path.join(d, n + ".bin")
        if (
            "array" in b
            and n not in L.expect
            and not L.edge
            and not L.cmp.get(n, {}).get("ignore")
            and os.path.exists(p)
        ):
            if not np.array_equal(np.fromfile(p, np.uint8), b["array"].view(np.uint8).reshape(-1)):
                print(f"{n}: input buffer was modified FAIL")
                ok = False
    print("PASS" if ok else "FAIL")
    return ok
