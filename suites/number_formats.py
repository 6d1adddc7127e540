"""bf16 and fp8 e4m3fnuz bit patterns, as NumPy has neither."""

import numpy as np


def bf16_bits(values):
    """float array -> bf16 bit patterns (uint16), rounded to nearest even; every NaN becomes 0x7FC0."""
    narrow = np.ascontiguousarray(np.asarray(values, np.float32))
    bits = narrow.view(np.uint32)
    # NaN payloads may wrap around in the sum; they are replaced below.
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(narrow), 0x7FC0, rounded).astype(np.uint16)


def bf16_val(bits):
    """bf16 bit patterns -> float32."""
    return (np.asarray(bits, np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def bf16_round(values):
    """float array -> the float32 values of the nearest bf16."""
    return bf16_val(bf16_bits(values))


def _fp8_table():
    """Value of each e4m3fnuz code: bias 8, no infinity, 0x80 is the only NaN, no negative zero, largest 240."""
    code = np.arange(256)
    sign, exponent, mantissa = code >> 7, (code >> 3) & 15, code & 7
    value = np.where(exponent > 0, (1 + mantissa / 8) * 2.0 ** (exponent - 8.0), (mantissa / 8) * 2.0**-7)
    value = np.where(sign == 1, -value, value)
    value[0x80] = np.nan
    return value


FP8 = _fp8_table()
FP8_MAX = 240.0


def fp8_val(codes):
    """e4m3fnuz codes -> float32."""
    return FP8[np.asarray(codes, np.uint8)].astype(np.float32)


def fp8_codes(values):
    """float array -> nearest e4m3fnuz codes, ties to the even code, saturating at 240."""
    positive = FP8[:128]
    values = np.asarray(values, np.float64)
    size = np.minimum(np.abs(values), FP8_MAX)
    high = np.clip(np.searchsorted(positive, size), 0, 127)
    low = np.clip(high - 1, 0, 127)
    down, up = size - positive[low], positive[high] - size
    code = np.where((down < up) | ((down == up) & (low % 2 == 0)), low, high).astype(np.uint8)
    return np.where((values < 0) & (code != 0), code | 0x80, code).astype(np.uint8)
