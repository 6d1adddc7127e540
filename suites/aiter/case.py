"""One launch of an AITer object: buffers, kernarg, expectations; written as a dispatch folder, and checked after a run.

Three sizes of launches:
- small ones, with a NumPy reference; candidates are verified on them. Among them are ragged edges and loops that run
  every step of the unrolled body and its back edge.
- `-prod`: the timed ones, shapes that models deploy. Their contents are named generators of dispatch.json rather than
  files, and they have no NumPy reference: a result is compared with K0 on them.
- `-deep`: the production launch with fewer workgroups, the work of each as long as there, with a NumPy reference.
"""

import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from number_formats import bf16_val  # noqa: E402

BITWISE = {"bitwise": True}


def ceil_div(a, b):
    return -(-a // b)


def shuffle_weight(matrix):
    """AITer's "(16,16) shuffle" of an [N, K] matrix.

    The matrix is cut into tiles of 16 rows by 32 elements; inside a tile the 16-byte pieces of a row (four for bf16,
    two for 8-bit) become the outer index and the 16 rows the inner one. Tiles of one 16-row strip follow each other
    along K.
    """
    piece = 16 // matrix.dtype.itemsize
    n, k = matrix.shape
    assert n % 16 == 0 and k % 32 == 0
    tiles = matrix.reshape(n // 16, 16, k // 32, 32 // piece, piece).transpose(0, 2, 3, 1, 4)
    return np.ascontiguousarray(tiles).reshape(matrix.shape)


DECODE = {
    "bf16": lambda raw: bf16_val(raw.view(np.uint16)).astype(np.float64),
    "f32": lambda raw: raw.view(np.float32).astype(np.float64),
    "i32": lambda raw: raw.view(np.int32).astype(np.float64),
    "u32": lambda raw: raw.view(np.uint32).astype(np.float64),
}


class Case:
    """`groups`: workgroups per dimension; `segment`: bytes of the kernel's kernarg segment where the host passes more."""

    def __init__(self, folder, symbol_base, workgroup, groups, segment=None, object_name=None):
        self.object = f"hsa/gfx942/{folder}/{object_name or symbol_base}.co"
        self.kernel = f"_ZN5aiter{len(symbol_base)}{symbol_base}E"
        self.workgroup, self.groups, self.segment = list(workgroup), list(groups), segment
        self.buffers, self.kernarg, self.compare, self.expectations = {}, [], {}, {}
        self.seeds = 0

    # ---- buffers
    def data(self, name, array, dtype, compare=BITWISE):
        self.buffers[name] = {"dtype": dtype, "array": np.ascontiguousarray(array)}
        if compare:
            self.compare[name] = compare

    def fill(self, name, shape, dtype, init):
        self.buffers[name] = {"dtype": dtype, "shape": [int(n) for n in shape], "init": init}

    def uniform(self, name, shape, dtype, low, high):
        """Contents that nothing depends on but sums: a generator of dispatch.json, so no file is needed."""
        self.seeds += 1
        self.fill(name, shape, dtype, {"uniform": {"lo": low, "hi": high, "seed": self.seeds}})
        self.compare[name] = BITWISE

    # ---- kernel arguments; every one of these objects has 16 bytes per argument
    def pointers(self, places):
        for at, name in places:
            self.kernarg.append({"at": at, "buffer": name} if name else {"at": at, "u64": 0})

    def words(self, places):
        for at, value in places:
            self.kernarg.append({"at": at, "u32": int(value)})

    def real(self, at, value):
        self.kernarg.append({"at": at, "f32": float(np.float32(value))})

    # ---- expectations
    def expect(self, name, value, rtol, atol, mask=None, l2=None, order_free=False):
        """`l2` bounds the relative L2 error. `order_free`: atomics make the bits depend on the order of workgroups."""
        self.expectations[name] = {
            "value": np.asarray(value, np.float64),
            "rtol": rtol,
            "atol": atol,
            "mask": mask,
            "l2": l2,
        }
        self.tolerate(name, rtol, atol, order_free)

    def tolerate(self, name, rtol, atol, order_free):
        self.compare[name] = {"rtol": rtol, "atol": atol} if order_free else BITWISE

    def dispatch(self):
        buffers = {}
        for name, buffer in self.buffers.items():
            if "array" in buffer:
                shape = [int(n) for n in buffer["array"].shape]
                buffers[name] = {"dtype": buffer["dtype"], "shape": shape, "init": {"file": name + ".in.bin"}}
            else:
                buffers[name] = buffer
        passed = (a for a in self.kernarg if self.segment is None or a["at"] < self.segment)
        return {
            "asmevo_dispatch": 1,
            "kernel": self.kernel,
            "workgroup_size": self.workgroup,
            "grid_size": [g * w for g, w in zip(self.groups, self.workgroup)],
            "buffers": buffers,
            "kernarg": sorted(passed, key=lambda a: a["at"]),
            "compare": self.compare,
        }

    def write(self, folder, name, seed, why):
        os.makedirs(folder, exist_ok=True)
        for buffer_name, buffer in self.buffers.items():
            if "array" in buffer:
                buffer["array"].tofile(os.path.join(folder, buffer_name + ".in.bin"))
        description = self.dispatch()
        if why:
            description["comment"] = why
        with open(os.path.join(folder, "dispatch.json"), "w", encoding="utf-8") as file:
            json.dump(description, file, indent=1)
        expected = {
            n: {"shape": list(e["value"].shape), "rtol": e["rtol"], "atol": e["atol"], "l2": e["l2"]}
            for n, e in self.expectations.items()
        }
        with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as file:
            json.dump({"object": self.object, "case": name, "seed": seed, "expected": expected}, file, indent=1)

    def check(self, results):
        """Compares `results`, a folder that `asmevo run --out` wrote, with the reference; prints, returns success."""
        good = True
        for name, wanted in self.expectations.items():
            raw = np.fromfile(os.path.join(results, name + ".bin"), np.uint8)
            got = DECODE[self.buffers[name]["dtype"]](raw).reshape(wanted["value"].shape)
            mask = np.ones(got.shape, bool) if wanted["mask"] is None else np.broadcast_to(wanted["mask"], got.shape)
            got, want = got[mask], wanted["value"][mask]
            error = np.abs(got - want)
            outside = int(np.sum(~(error <= wanted["atol"] + wanted["rtol"] * np.abs(want))))
            l2 = float(np.sqrt(np.sum(error**2) / max(np.sum(want**2), 1e-300)))
            fine = got.size > 0 and outside == 0 and (wanted["l2"] is None or l2 <= wanted["l2"])
            good &= fine
            print(
                f"{name}: {got.size} elements, largest error {error.max():.3e}, relative L2 {l2:.3e}, "
                f"{outside} outside the tolerance: {'PASS' if fine else 'FAIL'}"
            )
        for name, buffer in self.buffers.items():
            path = os.path.join(results, name + ".bin")
            if "array" in buffer and name not in self.expectations and os.path.exists(path):
                if not np.array_equal(np.fromfile(path, np.uint8), buffer["array"].view(np.uint8).reshape(-1)):
                    print(f"{name}: an input was changed: FAIL")
                    good = False
        return good
