"""Samples of predictions whose errors are shared: the error of a machine's constants, a size or an algorithm's form is drawn once.

    log(sample / predicted) = half width / 1.645 x (sum of root(share) x component + root(1 - shares) x own)

Components are standard normal. Each is drawn by the seed and its name, and along the size it is an Ornstein-Uhlenbeck
process on octaves. Shares and decays: data/measurements/shared-errors.csv.
"""
from __future__ import annotations

import csv
import functools
import hashlib
import pathlib
from typing import Any

import numpy as np

from . import _core

NINE_IN_TEN = 1.6448536269514722  # standard deviations of a normal distribution on either side
OCTAVES = 64


@functools.cache
def _shares(folder: str) -> dict[str, tuple[float, float]]:
    """Share of the variance and decay in octaves (infinite: none) by group."""
    lines = (pathlib.Path(folder) / "measurements" / "shared-errors.csv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return {row["shared_by"]: (float(row["share"]), float(row["octaves"] or "inf")) for row in rows}


def _normals(seed: int, name: str, shape: tuple[int, ...]) -> np.ndarray:
    digest = hashlib.blake2b(f"{seed} {name}".encode(), digest_size=16).digest()
    out: np.ndarray = np.random.Generator(np.random.Philox(key=np.frombuffer(digest, dtype=np.uint64))).standard_normal(shape)
    return out


def _along_sizes(seed: int, name: str, count: int, octaves: float) -> np.ndarray:
    """Samples by octave: neighbours correlate by exp(-1 / octaves)."""
    draws = _normals(seed, name, (OCTAVES, count))
    keep = float(np.exp(-1 / octaves))
    for i in range(1, OCTAVES):
        draws[i] = keep * draws[i - 1] + np.sqrt(1 - keep * keep) * draws[i]
    return draws


def _at(draws: np.ndarray, size: float, octaves: float) -> np.ndarray:
    """Between octaves linearly, with the variance of one."""
    place = float(np.clip(np.log2(max(size, 1.0)), 0, OCTAVES - 1))
    below = min(int(place), OCTAVES - 2)
    part = place - below
    spread = np.sqrt(1 - 2 * part * (1 - part) * (1 - np.exp(-1 / octaves)))
    out: np.ndarray = ((1 - part) * draws[below] + part * draws[below + 1]) / spread
    return out


def errors(names: dict[str, str], size: float, own: str, count: int, seed: int, kept: dict[str, np.ndarray]) -> np.ndarray:
    """Standard normal errors of one prediction. names: of what it shares, by the rows of the table; kept: components drawn already."""
    shares = _shares(_core._data_directory())
    out = np.zeros(count)
    left = 1.0
    for what, (share, octaves) in shares.items():
        if what not in names:  # of steps
            continue
        key = f"{what}: {names[what]}"
        if key not in kept:
            kept[key] = _normals(seed, key, (count,)) if np.isinf(octaves) else _along_sizes(seed, key, count, octaves)
        out += np.sqrt(share) * (kept[key] if np.isinf(octaves) else _at(kept[key], size, octaves))
        left -= share
    own_part: np.ndarray = np.sqrt(max(0.0, left)) * _normals(seed, f"own: {own} {size!r}", (count,))
    return np.asarray(out + own_part)


def correlation(a: dict[str, str], size_a: float, b: dict[str, str], size_b: float) -> float:
    """The correlation of the errors of two predictions, which share each part that has one name in both."""
    octaves = abs(np.log2(size_a / size_b))
    return float(sum(share * np.exp(-octaves / decay) for what, (share, decay) in _shares(_core._data_directory()).items()
                     if what in a and a[what] == b.get(what)))


def sample(predictions: Any, count: Any, seed: Any = 0) -> np.ndarray:
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 1 <= count <= 10**6:
        raise _core.RequestError(f"count: {count!r} is not a whole number from 1 to 1,000,000")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise _core.RequestError(f"seed: {seed!r} is not a whole number")
    seconds = np.asarray(predictions.seconds, dtype=float)
    if seconds.size * int(count) > 10**9:
        raise _core.RequestError(f"count: {count} samples of {seconds.size} predictions are more than 10^9 numbers")
    shape = seconds.shape
    flat = {name: np.broadcast_to(np.asarray(getattr(predictions, name)), shape).ravel()
            for name in ("seconds", "bytes", "ranks", "nodes", "algorithm", "protocol", "high_seconds", "least_seconds")}
    system, operation = predictions.system, type(predictions.operation).__name__
    constants = system.calibration
    identity = hashlib.blake2b(system.to_yaml().encode(), digest_size=8).hexdigest()
    kept: dict[str, np.ndarray] = {}
    out = np.empty((int(count), seconds.size))
    for i in range(seconds.size):
        across = int(flat["nodes"][i]) > 1
        machine = f"{constants} {[t.transport for t in system.tiers if getattr(t, 'transport', '')] if across else ''}"
        ran = f"{operation} {flat['algorithm'][i]} {flat['protocol'][i]} {'across' if across else 'inside'}"
        place = f"{machine} {operation} {int(flat['ranks'][i])} {int(flat['nodes'][i])}"
        names = {"machine": machine, "machine size": machine, "form size": ran, "place size": place}
        half = float(np.log(flat["high_seconds"][i] / flat["seconds"][i])) if flat["seconds"][i] > 0 else 0.0
        drawn = errors(names, float(flat["bytes"][i]), f"{identity} {place}", int(count), int(seed), kept)
        out[:, i] = np.maximum(flat["seconds"][i] * np.exp(half / NINE_IN_TEN * drawn), flat["least_seconds"][i])
    return out.reshape((int(count), *shape))
