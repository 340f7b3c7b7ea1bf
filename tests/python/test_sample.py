"""Predictions.sample: shapes, seeds, intervals, physical ends; what predictions share cancels in their difference, as much as measured."""
import csv
import os
import pathlib

import numpy as np
import pytest

import fabricost as fc
from fabricost import _sample

SIZES = np.array([1e4, 1e6, 1e8])


def of(name="dgx-h100", operation=fc.AllReduce, **more):
    return fc.predict(fc.load_system(name), operation(bytes=SIZES, **more))


def test_shape_and_seed():
    p = of(ranks=np.array([[4], [8]]))
    assert p.sample(50).shape == (50, 2, 3)
    assert np.array_equal(p.sample(50, seed=3), p.sample(50, seed=3))
    assert not np.array_equal(p.sample(50, seed=3), p.sample(50, seed=4))
    one = fc.predict(fc.load_system("dgx-h100"), fc.AllReduce(bytes=SIZES[2:], ranks=8))
    assert np.array_equal(p.sample(50)[:, 1, 2], one.sample(50)[:, 0])


def test_nine_in_ten_samples_are_inside_and_none_beats_the_links():
    p = of(ranks=8)
    drawn = p.sample(20000, seed=1)
    inside = ((drawn >= p.low_seconds) & (drawn <= p.high_seconds)).mean(axis=0)
    assert np.all(np.abs(inside - 0.9) < 0.05)
    assert np.all(drawn >= p.least_seconds) and np.all(p.least_seconds > 0)
    assert np.median(drawn, axis=0) == pytest.approx(p.seconds, rel=0.02)


def logs(p, seed=5):
    return np.log(p.sample(20000, seed=seed))


def test_siblings_share_errors_and_strangers_do_not():
    own = logs(of(ranks=8))[:, 1]
    same_machine = np.corrcoef(own, logs(of(ranks=4))[:, 1])[0, 1]
    faster_nic = fc.predict(fc.load_system("dgx-h100").with_(nic_bandwidth=100e9), fc.AllReduce(bytes=SIZES, ranks=8))
    turned = np.corrcoef(own, logs(faster_nic)[:, 1])[0, 1]
    stranger = np.corrcoef(own, logs(of("mi300x-8", fc.AllGather, ranks=8))[:, 1])[0, 1]
    assert turned > same_machine > 0.1
    assert abs(stranger) < 0.05
    near, far = (np.corrcoef(own, logs(of(ranks=8))[:, i])[0, 1] for i in (0, 2))
    assert 0.05 < min(near, far) < 0.6


@pytest.mark.parametrize("count, seed", [(0, 0), (1.5, 0), (True, 0), (10, 0.5), (10**7, 0)])
def test_what_cannot_be_drawn_is_refused(count, seed):
    with pytest.raises(fc.RequestError):
        of(ranks=8).sample(count, seed)


MEASURED = os.environ.get("FABRICOST_MEASUREMENTS", "")


@pytest.mark.skipif(not MEASURED, reason="FABRICOST_MEASUREMENTS is not set: no measured points")
def test_differences_between_siblings_are_covered_and_narrower_than_as_if_independent():
    """Measured points of one installation that differ in ranks, size or operation alone: nine in ten of their log ratios are inside."""
    files = ("dgx-a100.nccl.csv", "dgx-b200.nccl.csv", "dgx-h100.nccl.csv", "second/dgx-h200.nccl.csv", "second/dgx-b300.nccl.csv",
             "second/gb200-nvl72.nccl.csv", "multinode/points_healthy.csv")
    rng = np.random.default_rng(2)
    seen = {"ranks": [], "sizes": [], "operations": []}
    for file in files:
        table = fc.validate(pathlib.Path(MEASURED) / file).to_pandas()
        half = np.log(table.high_seconds / table.predicted_seconds).to_numpy()
        error = np.log(table.measured_seconds / table.predicted_seconds).to_numpy()
        size = table.bytes.to_numpy()
        names = [{"machine": row.source, "machine size": row.source, "form size": f"{row.operation} {row.algorithm} {row.protocol}",
                  "place size": f"{row.source} {row.operation} {row.ranks} {row.nodes}"} for row in table.itertuples()]
        kinds = {"ranks": ["source", "operation", "bytes"], "sizes": ["source", "operation", "ranks", "nodes"],
                 "operations": ["source", "bytes", "ranks", "nodes"]}
        for kind, keys in kinds.items():
            groups = [places for places in table.groupby(keys).indices.values() if len(places) > 1]
            for group in (groups[i] for i in rng.integers(0, len(groups), 300 if groups else 0)):
                i, j = rng.choice(group, 2, replace=False)
                shared = _sample.correlation(names[i], size[i], names[j], size[j])
                apart = np.hypot(half[i], half[j])
                width = np.sqrt(half[i] ** 2 + half[j] ** 2 - 2 * shared * half[i] * half[j])
                off = abs(error[i] - error[j])
                seen[kind].append((off <= width, off <= apart, width / apart))
    for kind, rows in seen.items():
        inside, independent, narrower = np.mean(rows, axis=0)
        print(f"{kind}: {len(rows)} pairs, {inside:.3f} inside, {independent:.3f} as if independent, {narrower:.2f} as wide")
        assert 0.85 <= inside <= 0.95, kind
        assert narrower < 0.97, kind


def test_the_shares_leave_something_to_each_point():
    table = pathlib.Path(__file__).resolve().parents[2] / "data" / "measurements" / "shared-errors.csv"
    rows = list(csv.DictReader(line for line in table.read_text().splitlines() if not line.startswith("#")))
    collectives = [float(row["share"]) for row in rows if not row["shared_by"].startswith("steps")]
    assert all(0 < share < 1 for share in collectives) and sum(collectives) < 0.9
    assert all(row["why"] for row in rows)
