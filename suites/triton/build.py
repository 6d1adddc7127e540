#!/usr/bin/env python3
"""Compiles the suite's kernels from the packages' own Triton sources to gfx942 code objects; needs triton and NumPy, no
torch, no GPU.

usage: build.py OUT [--root FOLDER]... [--pip CACHE] [--only NAME]... [--list]

--root: a folder with an unpacked wheel or sdist (it contains vllm/, sglang/ or aiter/). --pip: fetch what is missing
with pip into CACHE (versions below). For every kernel OUT gets <kernel>.hsaco and <kernel>.json (symbol, sizes, kernarg
layout).

Nothing of the packages is kept in this project: functions are cut out of a package's file by name (ast), together with
the jit helpers and module constants they reach, written to OUT/_src, imported from there and compiled. Module level
code that needs torch or a device sees small stand-ins (class Stub). Specialisation (ints equal to 1, divisibility by
16, pointer range below 2 GiB) comes from Triton's own binder applied to the argument values of the case, so the object
is the one the JIT would build.
"""

import argparse
import ast
import hashlib
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ.setdefault(
    "TRITON_DISABLE_LINE_INFO", "1"
)  # no file names in the object: the bytes depend on the source only
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # what every Triton up to 3.9 does by default
from triton_case import Const, Int, Ptr, TORCH

PIP = {"vllm": "vllm==0.33.0", "sglang": "sglang==0.5.23", "aiter": "amd-aiter==0.1.7.post2.dev18"}
FAMILIES = [
    "norm",
    "activation",
    "quant",
    "gemm",
    "moe",
    "attention",
    "rope",
    "kvcache",
    "sampling",
    "linear_attention",
]


# ---- where the sources are ------------------------------------------------------------------------
def fetch(package, cache):
    """pip download without installing or building: the wheel, or (vllm) the sdist that pip leaves behind when its
    build step fails."""
    dst = os.path.join(cache, package)
    os.makedirs(dst, exist_ok=True)
    if os.path.exists(os.path.join(dst, package)):
        return dst
    tmp = os.path.join(cache, "tmp")
    os.makedirs(tmp, exist_ok=True)
    env = dict(os.environ, TMPDIR=tmp)
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", tmp]
    if package == "vllm":
        subprocess.run(
            pip + ["--no-binary", ":all:", "--no-build-isolation", "--no-clean", PIP[package]],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for root, dirs, files in os.walk(tmp):
            if "PKG-INFO" in files and "vllm" in dirs:
                os.rename(os.path.join(root, "vllm"), os.path.join(dst, "vllm"))
                return dst
        sys.exit("no vllm source distribution came")
    subprocess.run(pip + ["--only-binary", ":all:", PIP[package]], env=env, check=True, stdout=subprocess.DEVNULL)
    for f in os.listdir(tmp):
        if f.endswith(".whl") and f.startswith(PIP[package].split("==")[0].replace("-", "_")):
            with zipfile.ZipFile(os.path.join(tmp, f)) as z:
                z.extractall(dst, [n for n in z.namelist() if n.endswith((".py", ".json"))])
    return dst


class Sources:
    def __init__(self, roots, cache):
        self.roots, self.cache, self.found = roots, cache, {}

    def root(self, package):
        if package not in self.found:
            for r in self.roots:
                if os.path.isdir(os.path.join(r, package)):
                    self.found[package] = r
                    break
            else:
                if not self.cache:
                    sys.exit(f"{package}: not below any --root, and no --pip")
                self.found[package] = fetch(package, self.cache)
        return self.found[package]


# ---- stand-ins for what module level code touches ---------------------------------------------------
class Stub:
    """Answers everything with itself; enough for decorators, loggers and flags that kernels do not use."""

    def __getattr__(self, n):
        return self

    def __call__(self, *a, **k):
        return self

    def __bool__(self):
        return False


class _Finfo:
    def __init__(self, d):
        self.max = {"float8_e4m3fnuz": 240.0, "float8_e4m3fn": 448.0, "float32": 3.4028234663852886e38}[d]
        self.min = -self.max


class _Torch(Stub):
    def finfo(self, d):
        return _Finfo(d)

    def __getattr__(self, n):
        return n if re.match(r"(float|bfloat|int|uint)\d", n) else Stub()


class _Platform(Stub):  # vLLM on an MI300X
    def fp8_dtype(self):
        return "float8_e4m3fnuz"

    def is_rocm(self):
        return True

    def is_cuda_alike(self):
        return True

    def has_device_capability(self, c):
        return c <= 94

    def get_device_capability(self):
        return (9, 4)


STUBS = {
    "torch": _Torch(),
    "current_platform": _Platform(),
    "get_fp8_min_max": lambda: (-224.0, 224.0),
    "TRITON3": True,
}


# ---- cutting functions out of a file -------------------------------------------------------------------
class Cutter:
    def __init__(self, src, out):
        self.src, self.out, self.mods = src, out, {}

    def path(self, dotted, package):
        base = os.path.join(self.src.root(package), *dotted.split("."))
        return base + ".py" if os.path.exists(base + ".py") else os.path.join(base, "__init__.py")

    def module(self, dotted):
        if dotted not in self.mods:
            self.mods[dotted] = Cut(self, dotted)
        return self.mods[dotted]

    def get(self, dotted, name):
        m = self.module(dotted)
        m.need(name)
        for x in list(self.mods.values()):
            x.emit()
        if self.out not in sys.path:
            sys.path.insert(0, self.out)
        importlib.invalidate_caches()
        for x in self.mods.values():
            sys.modules.pop(x.pyname, None)
        return getattr(importlib.import_module(m.pyname), name)


class Cut:
    """The wanted part of one source file."""

    def __init__(self, cutter, dotted):
        self.c, self.dotted, self.package = cutter, dotted, dotted.split(".")[0]
        self.pyname = "cut_" + dotted.replace(".", "_")
        self.file = cutter.path(dotted, self.package)
        self.text = open(self.file, encoding="utf-8").read()
        self.defs, self.order, self.taken, self.header = {}, [], {}, []

        def walk(body):
            for n in body:
                if isinstance(n, (ast.FunctionDef, ast.ClassDef)):
                    self.defs.setdefault(n.name, n)
                elif isinstance(n, ast.Assign):
                    for t in n.targets:
                        for x in ast.walk(t):
                            if isinstance(x, ast.Name):
                                self.defs.setdefault(x.id, n)
                elif isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name):
                    self.defs.setdefault(n.target.id, n)
                elif isinstance(n, (ast.Import, ast.ImportFrom)):
                    for a in n.names:
                        self.defs.setdefault((a.asname or a.name).split(".")[0], (n, a))
                elif isinstance(n, ast.If):  # environment switches are taken as unset
                    off = "os.environ" in ast.unparse(n.test) or ast.unparse(n.test).startswith("not ")
                    for part in ((n.orelse, n.body) if off else (n.body, n.orelse)):
                        walk(part)
                elif isinstance(n, ast.Try):
                    walk(n.body)

        walk(ast.parse(self.text).body)

    def need(self, name):
        if name in self.taken or name in ("triton", "tl"):
            return
        if name in STUBS:
            self.taken[name] = None
            self.header.append(f"{name} = build_stubs[{name!r}]")
            return
        d = self.defs.get(name)
        if d is None:
            return  # builtin or local name
        self.taken[name] = d
        if isinstance(d, tuple):
            n, a = d
            as_ = a.asname or a.name
            if isinstance(n, ast.ImportFrom):
                mod = n.module or ""
                if n.level:
                    up = self.dotted.split(".")
                    up = up[: len(up) - n.level + (1 if self.file.endswith("__init__.py") else 0)]
                    mod = ".".join(up + ([mod] if mod else []))
                if mod.split(".")[0] in ("vllm", "sglang", "aiter"):
                    if a.name in ("tldevice", "libdevice"):
                        self.header.append(f"from triton.language.extra import libdevice as {as_}")
                        return
                    if os.path.exists(self.c.path(mod, self.package)) and a.name in self.c.module(mod).defs:
                        m = self.c.module(mod)
                        m.need(a.name)
                        if isinstance(m.taken.get(a.name), ast.FunctionDef) or a.name in m.taken:
                            self.header.append(f"from {m.pyname} import {a.name} as {as_}")
                            return
                    self.header.append(f"{as_} = build_stub")
                    return
                if mod.split(".")[0] in ("triton", "math", "typing", "functools"):
                    self.header.append(f"from {mod} import {a.name} as {as_}")
                    return
            elif a.name.split(".")[0] in ("triton", "math", "os"):
                self.header.append(f"import {a.name}" + (f" as {a.asname}" if a.asname else ""))
                return
            self.header.append(f"{as_} = build_stub")
            return
        if isinstance(d, ast.FunctionDef) and not self.jit(d):
            self.header.append(f"{name} = build_stub")
            return
        if isinstance(d, ast.ClassDef):
            self.header.append(f"{name} = build_stub")
            return
        for x in ast.walk(d):
            if isinstance(x, ast.Name):
                self.need(x.id)
        self.order.append(d)

    @staticmethod
    def jit(d):
        for x in d.decorator_list:
            f = x.func if isinstance(x, ast.Call) else x
            if isinstance(f, ast.Attribute) and f.attr in ("jit", "constexpr_function"):
                return x
        return None

    def emit(self):
        body = []
        for d in sorted({id(d): d for d in self.order}.values(), key=lambda d: d.lineno):
            if isinstance(d, ast.FunctionDef):
                j = self.jit(d)
                deco = "@" + ast.unparse(j.func if isinstance(j, ast.Call) else j)
                if isinstance(j, ast.Call):
                    kw = [
                        k
                        for k in j.keywords
                        if k.arg in ("do_not_specialize", "do_not_specialize_on_alignment", "noinline")
                    ]
                    if kw:
                        deco += "(" + ", ".join(f"{k.arg}={ast.unparse(k.value)}" for k in kw) + ")"
                lines = self.text.splitlines()[d.lineno - 1 : d.end_lineno]
                ind = len(lines[0]) - len(lines[0].lstrip())
                body.append("\n".join([deco] + [l[ind:] for l in lines]))
            else:
                body.append(
                    "\n".join(
                        l.strip() if i == 0 else l
                        for i, l in enumerate(self.text.splitlines()[d.lineno - 1 : d.end_lineno])
                    )
                )
        os.makedirs(self.c.out, exist_ok=True)
        head = ["import triton, triton.language as tl", "from cut_stubs import build_stubs, build_stub"]
        # plain assignments first where functions use them as default values; source order keeps them before their users
        open(os.path.join(self.c.out, self.pyname + ".py"), "w").write(
            "\n".join(head + self.header) + "\n\n" + "\n\n".join(body) + "\n"
        )


# ---- compiling as the JIT would --------------------------------------------------------------------------
class Tensor:
    """What the binder asks of a torch tensor."""

    def __init__(self, p):
        self.dtype, self.n, self.off = "torch." + TORCH[p.dtype], p.nbytes, p.offset

    def data_ptr(self):
        return 0x10000 + self.off

    def ptr_range(self):
        return self.n


def compile_kernel(k, cutter):
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, make_backend
    from triton.runtime.jit import create_function_from_signature

    target = GPUTarget("hip", "gfx942", 64)
    backend = make_backend(target)
    fn = cutter.get(k.file[:-3].replace("/", "."), k.function)
    first = None
    for case in k.cases:
        L = k.launch(case, reference=False)
        names = [n for n, _ in L.args]
        params = [p.name for p in fn.params]
        assert (
            names == params[: len(names)]
        ), f"{k.name}: arguments {[ (a, b) for a, b in zip(names, params) if a != b][:3]} {names[len(params):]}"
        rest = [p.name for p in fn.params[len(names) :] if not p.is_constexpr]
        assert not rest, f"{k.name}: parameters left to their defaults also take kernarg space: {rest}"

        def val(v):
            if isinstance(v, Ptr):
                return Tensor(v)
            if isinstance(v, Int):
                return v.value
            if isinstance(v, Const):
                if isinstance(v.value, str) and v.value.startswith("tl."):
                    return getattr(tl, v.value[3:])
                return v.value
            return v

        binder = create_function_from_signature(fn.signature, fn.params, backend)
        bound, spec, opts = binder(*[val(v) for _, v in L.args], **k.options)
        options, sig, const, attrs = fn._pack_args(backend, dict(k.options, debug=False), bound, spec, opts)
        key = (repr(sig), repr(sorted(const.items(), key=str)), repr(sorted(attrs.items(), key=str)))
        if first is None:
            first = (key, sig, const, attrs, options)
        else:
            assert key == first[0], f"{k.name}: cases specialise differently:\n" + "\n".join(
                f"{a}\n{b}" for a, b in zip(key, first[0]) if a != b
            )
    _, sig, const, attrs, options = first
    out = triton.compile(ASTSource(fn, sig, const, attrs), target=target, options=options.__dict__)
    return out, sig, const, attrs, L


def notes(path):
    """kernel metadata of a code object by llvm-readelf (any version on the path)."""
    for exe in ["llvm-readelf-22", "llvm-readelf"]:
        try:
            t = subprocess.run([exe, "--notes", path], capture_output=True, text=True).stdout
        except FileNotFoundError:
            continue
        args = re.findall(r"\.offset:\s*(\d+)\n\s*\.size:\s*(\d+)\n\s*\.value_kind:\s*(\S+)", t)
        f = {
            m: int(v)
            for m, v in re.findall(
                r"\.(kernarg_segment_size|group_segment_fixed_size|private_segment_fixed_size|sgpr_count|vgpr_count"
                r"|agpr_count|sgpr_spill_count|vgpr_spill_count|max_flat_workgroup_size):\s*(\d+)",
                t,
            )
        }
        return [(int(o), int(s), kind) for o, s, kind in args], f
    return None, {}


def disassembly_stats(path):
    for exe in ["llvm-objdump-22", "llvm-objdump"]:
        try:
            t = subprocess.run([exe, "-d", "--no-show-raw-insn", path], capture_output=True, text=True).stdout
        except FileNotFoundError:
            continue
        m = [l.split()[0] for l in t.splitlines() if l.startswith("\t")]
        m = [x for x in m if x not in ("s_nop", "s_code_end")]  # the preload prologue is padded with 50-odd s_nop
        return {"instructions": len(m), "mfma": sum("mfma" in x for x in m)}
    return {}


def build(kernels, src, out):
    os.makedirs(out, exist_ok=True)
    s = os.path.join(out, "_src")
    os.makedirs(s, exist_ok=True)
    open(os.path.join(s, "cut_stubs.py"), "w").write(
        "import sys\nm = sys.modules['__main__']\nb = m if hasattr(m, 'STUBS') else sys.modules['build']\nbuild_stubs,"
        " build_stub = b.STUBS, b.Stub()\n"
    )
    bad = 0
    for k in kernels:
        try:
            comp, sig, const, attrs, L = compile_kernel(k, Cutter(src, s))
        except Exception as e:
            print(f"{k.name}: FAILED {type(e).__name__}: {str(e)[:600]}")
            bad += 1
            continue
        p = os.path.join(out, k.name + ".hsaco")
        open(p, "wb").write(comp.asm["hsaco"])
        lay, size = L.layout()
        args, meta = notes(p)
        md = comp.metadata
        agree = args is None or [(o, z) for o, z, kind in args if not kind.startswith("hidden_")] == [
            (o, z) for _, o, z, _, _ in lay
        ]
        if not agree:
            print(
                f"{k.name}: kernarg layout differs:\n  object {args}\n  script {[(n, o, z) for n, o, z, _, _ in lay]}"
            )
            bad += 1
        if md.shared != k.lds:
            print(f"{k.name}: needs {md.shared} bytes of LDS, the script says {k.lds}")
            bad += 1
        names = list(sig)
        info = {
            "kernel": md.name,
            "sha256": hashlib.sha256(comp.asm["hsaco"]).hexdigest(),
            "package": k.package,
            "file": k.file,
            "function": k.function,
            "cases": list(k.cases),
            "num_warps": md.num_warps,
            "options": k.options,
            "shared": md.shared,
            "bytes": len(comp.asm["hsaco"]),
            "kernarg_size": size,
            "args": [
                (
                    {
                        "name": n,
                        "at": o,
                        "size": z,
                        "kind": kd,
                        **(
                            {"divisible_by_16": True}
                            if any(a[0] == "tt.divisibility" for a in attrs.get((names.index(n),), []))
                            else {}
                        ),
                    }
                    if n in names
                    else {"name": n, "at": o, "size": z, "kind": kd}
                )
                for n, o, z, kd, _ in lay
            ],
            "constexprs": {
                names[i[0]]: v if isinstance(v, (int, float, str, bool, type(None))) else str(v)
                for i, v in const.items()
            },
            "hidden_args": bool(args and any(kind.startswith("hidden_") for _, _, kind in args)),
            "metadata": meta,
            **disassembly_stats(p),
        }
        json.dump(info, open(os.path.join(out, k.name + ".json"), "w"), indent=1)
        print(
            f"{k.name}: {md.name} {info['bytes']} B, {info.get('instructions')} instructions, VGPR"
            f" {meta.get('vgpr_count')} AGPR {meta.get('agpr_count')} SGPR {meta.get('sgpr_count')} LDS {md.shared}"
            f" spill {meta.get('vgpr_spill_count')}/{meta.get('sgpr_spill_count')} scratch"
            f" {meta.get('private_segment_fixed_size')} mfma {info.get('mfma')}{'' if agree else ' ARGS DIFFER'}",
            flush=True,
        )
    return bad


def load(families, folder):
    table = {}
    sys.path.insert(0, folder)
    for f in families:
        table.update(importlib.import_module(f).KERNELS)
    return table


def main(families=FAMILIES, folder=HERE):
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("out", nargs="?")
    ap.add_argument("--root", action="append", default=[])
    ap.add_argument("--pip")
    ap.add_argument("--only", action="append")
    ap.add_argument("--list", action="store_true")
    a = ap.parse_args()
    table = load(families, folder)
    if a.list:
        for k in table.values():
            print(k.name, k.package, k.file, k.function, ",".join(k.cases))
        return 0
    if not a.out:
        ap.error("OUT is needed")
    return build([k for k in table.values() if not a.only or k.name in a.only], Sources(a.root, a.pip), a.out)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
