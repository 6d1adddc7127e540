#!/usr/bin/env python3
"""Matrix instruction vectors from a random seed, run through the emulator: test_emulator's comparison with
mfma_reference.py on records that no one has seen before. ASMEVO_SEED repeats a run; the seed is printed first.

    mfma_fresh_vectors_test.py TEST_EMULATOR [COUNT]
"""
import os, random, subprocess, sys, tempfile

program, count = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "192"
seed = os.environ.get("ASMEVO_SEED") or str(random.SystemRandom().getrandbits(32))
print(f"ASMEVO_SEED={seed}", flush=True)
oracle = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mfma_vectors.py")
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, oracle, folder, count, seed], check=True)
    run = subprocess.run([program, "--gtest_filter=Mfma.ArithmeticMatchesTheReferenceToTheBit", "--gtest_brief=1"],
                         env={**os.environ, "ASMEVO_MFMA_VECTORS": folder}, stdout=subprocess.PIPE, text=True)
print(run.stdout)
sys.exit(run.returncode or "1 test ran" not in run.stdout and "[  PASSED  ] 1 test" not in run.stdout)
