"""Arrays in any field: the result of each element alone, in the shape NumPy's broadcasting has."""
import threading

import numpy as np
import pytest
from conftest import COLLECTIVES

import fabricost as fc

SIZES = 2.0 ** np.arange(3, 35)


def same_as_one_by_one(system, grid, operation, bytes, ranks=0, nodes=0, **how):
    for at in np.ndindex(grid.shape):
        b, r, n = (np.broadcast_to(x, grid.shape)[at] for x in (bytes, ranks, nodes))
        one = fc.predict(system, operation(float(b), ranks=int(r), nodes=int(n)), **how)
        assert grid.seconds[at] == pytest.approx(one.seconds, rel=1e-9, abs=0)
        assert (grid.algorithm[at], grid.protocol[at], grid.bottleneck[at]) == (one.algorithm, one.protocol, one.bottleneck.tier)
        for name in ("low_seconds", "high_seconds", "bus_bytes_per_second", "algorithm_bytes_per_second"):
            assert getattr(grid, name)[at] == pytest.approx(getattr(one, name), rel=1e-9, abs=0)


@pytest.mark.parametrize("choice", ["nccl", "fastest"])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_each_element_is_what_it_is_alone(h100, name, choice):
    ranks = np.array([8, 16, 64])[:, None]
    grid = fc.predict(h100, COLLECTIVES[name](SIZES, ranks=ranks), choice=choice)
    assert grid.shape == (3, 32) and grid.seconds.dtype == np.float64
    same_as_one_by_one(h100, grid, COLLECTIVES[name], SIZES, ranks, choice=choice)


def test_a_release_of_nccl_and_lost_nics_go_together(h100):
    how = {"library": "nccl-2.27", "lost_rails": 1}
    same_as_one_by_one(h100, fc.predict(h100, fc.AllReduce(SIZES[::8], nodes=4), **how), fc.AllReduce, SIZES[::8], nodes=4, **how)


def test_lost_nics_are_refused_where_none_is_used(h100):
    for sizes in (1e6, SIZES[:2]):
        with pytest.raises(fc.RequestError, match="lost_rails: nothing crosses the NICs here"):
            fc.predict(h100, fc.AllReduce(sizes, ranks=8), lost_rails=1)
    assert fc.predict(h100, fc.AllReduce(1e6, ranks=[8, 16]), lost_rails=1).shape == (2,)


def test_any_field_broadcasts(h100):
    one_size = fc.predict(h100, fc.AllReduce(1e8, ranks=[8, 16, 32]))
    same_as_one_by_one(h100, one_size, fc.AllReduce, 1e8, np.array([8, 16, 32]))
    nodes = np.array([1, 2, 4])[:, None, None]
    cube = fc.predict(h100, fc.AllGather(SIZES[:4], nodes=nodes, ranks=np.array([[0], [0]])))
    assert cube.shape == (3, 2, 4)
    same_as_one_by_one(h100, cube, fc.AllGather, SIZES[:4], 0, nodes)
    path = fc.predict(h100, fc.SendRecv(SIZES, path="gpu-host"))
    assert path.bottleneck[-1] == fc.predict(h100, fc.SendRecv(SIZES[-1], path="gpu-host")).bottleneck.tier


def test_forms_of_arrays_do_not_matter(h100):
    flat = fc.predict(h100, fc.AllReduce(SIZES)).seconds

    def seconds(sizes):
        return fc.predict(h100, fc.AllReduce(sizes)).seconds

    assert (seconds(SIZES.reshape(4, 8)) == flat.reshape(4, 8)).all()
    assert (seconds(SIZES.astype(np.int64)) == flat).all()
    assert (seconds(SIZES[::-2]) == flat[::-2]).all()
    # an array may be read from a curve's table, a single size never is: within 1e-9
    np.testing.assert_allclose(seconds(SIZES.reshape(4, 8).T), flat.reshape(4, 8).T, rtol=1e-9)
    assert (seconds(SIZES.astype(">f4")) == flat).all()
    assert (seconds(list(SIZES)) == flat).all()
    assert seconds(np.zeros((0, 3))).shape == (0, 3)
    unaligned = np.frombuffer(b"x" + SIZES.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    assert (seconds(unaligned) == flat).all()
    for scalar in (1024, np.int64(1024), np.float32(1024), np.array(1024.0)):
        assert isinstance(fc.predict(h100, fc.AllReduce(scalar)), fc.Prediction)
    assert isinstance(fc.predict(h100, fc.AllReduce([1024])), fc.Predictions)


def test_what_happens_to_an_array_later_changes_no_question_and_no_answer(h100):
    sizes, ranks, nodes = SIZES.copy(), np.full(32, 16), np.full(32, 2)
    for given in (sizes, sizes[::2], sizes.reshape(4, 8).T):
        op = fc.AllReduce(given)
        before, grid = np.array(given), fc.predict(h100, op)
        low, table = grid.low_seconds.copy(), grid.to_pandas()
        given *= 2**20
        assert (op.bytes == before).all() and (grid.bytes == before).all() and (grid.operation.bytes == before).all()
        assert grid == fc.predict(h100, fc.AllReduce(before)) and (fc.predict(h100, op).seconds == grid.seconds).all()
        assert (grid.low_seconds == low).all() and grid.to_pandas().equals(table)
        given /= 2**20
    op = fc.AllReduce(1e6, ranks=ranks, nodes=nodes)
    ranks[:], nodes[:] = -1, 7
    assert (op.ranks == 16).all() and (op.nodes == 2).all()


def test_no_array_of_a_question_or_an_answer_can_be_written_to(h100):
    op = fc.AllReduce(SIZES.copy(), ranks=np.array([8, 16])[:, None])
    grid = fc.predict(h100, op)
    part = grid[grid.seconds > 1e-4]
    for array in (op.bytes, op.ranks, *(getattr(one, name) for one in (grid, grid[0], part) for name in (
            "bytes", "ranks", "nodes", "seconds", "low_seconds", "high_seconds", "bus_bytes_per_second", "algorithm_bytes_per_second",
            "algorithm", "protocol", "bottleneck", "basis", "extrapolated")), part.operation.bytes, part.operation.ranks):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array
    assert grid.seconds is grid.seconds


def test_an_array_that_repeats_itself_is_not_written_out(h100):
    """10^12 elements of one size each: only differing elements are kept."""
    op = fc.AllReduce(np.broadcast_to(SIZES[:, None], (32, 10**10)), ranks=np.broadcast_to(8, (32, 10**10)))
    assert op.bytes.shape == (32, 10**10) and op.bytes[3, 5] == SIZES[3] and op.ranks.strides == (0, 0)


def test_indices_are_numpys(h100):
    grid = fc.predict(h100, fc.AllReduce(SIZES, ranks=np.array([8, 16, 64])[:, None]))
    assert grid[1, 4] == fc.predict(h100, fc.AllReduce(float(SIZES[4]), ranks=16))
    for key in (0, -1, slice(None, None, 2), (slice(1, 3), 5), (..., 3), (None, 0), (np.array([0, 2]), slice(2, 9)), grid.seconds > 1e-4):
        part = grid[key]
        assert isinstance(part, fc.Predictions) and (part.seconds == grid.seconds[key]).all()
        assert (part.bottleneck == grid.bottleneck[key]).all() and part.shape == grid.seconds[key].shape
    assert len(grid) == 3 and [p.shape for p in grid] == [(32,)] * 3
    assert [p.seconds for p in grid[0]] == pytest.approx(list(grid.seconds[0]), rel=1e-12)
    for key in (3, (0, 32), "x", 1.5):
        with pytest.raises((IndexError, TypeError)):
            grid[key]


def test_as_a_table(h100):
    pd = pytest.importorskip("pandas")
    table = fc.predict(h100, fc.AllReduce(SIZES, ranks=np.array([8, 16])[:, None])).to_pandas()
    assert isinstance(table, pd.DataFrame) and len(table) == 64
    assert list(table.columns) == ["bytes", "ranks", "nodes", "seconds", "low_seconds", "high_seconds", "algorithm_bytes_per_second",
                                   "bus_bytes_per_second", "algorithm", "protocol", "bottleneck", "basis", "extrapolated"]
    assert (table.ranks.iloc[:32] == 8).all() and table.bytes.iloc[33] == SIZES[1]


@pytest.mark.parametrize("asked", [
    dict(), dict(ranks=64), dict(nodes=4), dict(ranks=np.array([8, 16, 512])[:, None]), dict(nodes=np.array([1, 4, 128])[:, None]),
    dict(ranks=np.array([0, 4, 64])[:, None], nodes=np.array([4, 2, 0])[:, None])])
def test_every_answer_says_who_takes_part_and_how_sure_it_is(h100, asked):
    grid = fc.predict(h100, fc.AllReduce([8.0, 1e6, 2.0**40], **asked))
    table = grid.to_pandas()
    for i, at in enumerate(np.ndindex(grid.shape)):
        one = grid[at]
        assert (grid.ranks[at], grid.nodes[at], grid.basis[at]) == (one.ranks, one.nodes, one.basis)
        assert grid.extrapolated[at].split() == one.extrapolated
        row = table.iloc[i]
        assert row[["ranks", "nodes", "basis", "extrapolated"]].tolist() == [one.ranks, one.nodes, one.basis, " ".join(one.extrapolated)]
    assert (grid.ranks > 0).all() and (grid.nodes > 0).all() and "sizes" in grid.extrapolated[..., -1].ravel()[0]
    pair = fc.predict(h100, fc.SendRecv([1e3, 1e6], path="gpu-host"))
    assert (pair.ranks == pair[0].ranks).all() and (pair.nodes == 1).all()
    none = fc.predict(h100, fc.AllReduce(np.zeros((0, 2))))
    assert none.ranks.shape == none.basis.shape == (0, 2)


@pytest.mark.parametrize("says, ask", [
    (r"bytes\[1\]: -2 is not between", dict(bytes=[1, -2])), (r"bytes\[0, 1\]: nan", dict(bytes=[[1.0, np.nan]])),
    (r"bytes\[0\]: inf", dict(bytes=[np.inf])), (r"do not broadcast: bytes \(3,\), ranks \(2,\)", dict(bytes=[1, 2, 3], ranks=[8, 16])),
    (r"ranks 13, nodes 0 at \[1\]", dict(bytes=1, ranks=[8, 13])), (r"ranks\[1\]: -8 is negative", dict(bytes=1, ranks=np.array([8, -8]))),
    ("nodes: 1.5 is not a whole", dict(bytes=1, nodes=[1.5])),
    ("ranks: 9.22.*e.18 is not", dict(bytes=1, ranks=np.array([2**63], np.uint64))),
    (r"nodes\[0\]: 4294967296 is too many", dict(bytes=1, nodes=np.array([2**32]))),
    (r"ranks\[1\]: 20000000 is too many; at most 10000000", dict(bytes=1, ranks=[8, 20_000_000])), ("how much", dict(ranks=[8, 16])),
])
def test_what_cannot_be_asked_is_named(h100, says, ask):
    with pytest.raises(fc.RequestError, match=says):
        fc.predict(h100, fc.AllReduce(**ask))


@pytest.mark.parametrize("array", [["a"], [True], [[1], [1, 2]], [None], [1j], np.array(["2020-01-01"], "M8[D]"), [10**30], {"a": 1}, {1}])
@pytest.mark.parametrize("field", ["bytes", "ranks", "nodes"])
def test_what_is_no_array_of_numbers_is_named(array, field):
    with pytest.raises((TypeError, ValueError), match=field):
        fc.AllReduce(**{field: array})


def test_one_question_is_wanted_where_there_is_one_answer(h100):
    for ask in (lambda op: fc.explain(h100, op), h100.svg):
        with pytest.raises(fc.RequestError, match="is an array"):
            ask(fc.AllReduce([1, 2]))


def test_threads_predict_at_once(h100):
    sizes = np.linspace(1, 1e9, 100_000)
    wanted, got = fc.predict(h100, fc.AllReduce(sizes)).seconds, [None] * 4

    def work(i):
        got[i] = fc.predict(h100, fc.AllReduce(sizes)).seconds

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((one == wanted).all() for one in got)


def shuffled(rows):
    """A table as people have them: every row with sizes, ranks and nodes of its own, in no order."""
    draw = np.random.default_rng(1)
    nodes = draw.choice([1, 2, 4, 8, 16, 32, 64], rows)
    return 2.0 ** draw.uniform(10, 34, rows), nodes * draw.choice([2, 4, 8], rows), nodes


def test_rows_in_any_order_are_what_each_is_alone(h100):
    bytes, ranks, nodes = shuffled(400)
    bytes[7], ranks[7], nodes[7] = 3.0, 24, 3  # a shape of its own
    grid = fc.predict(h100, fc.AllReduce(bytes, ranks=ranks, nodes=nodes))
    same_as_one_by_one(h100, grid, fc.AllReduce, bytes, ranks, nodes)
    assert (grid.ranks == ranks).all() and (grid.nodes == nodes).all()
    # by columns of two, and backwards
    folded = fc.predict(h100, fc.AllReduce(bytes.reshape(200, 2), ranks=ranks[::2, None], nodes=nodes[::2, None]))
    same_as_one_by_one(h100, folded, fc.AllReduce, bytes.reshape(200, 2), ranks[::2, None], nodes[::2, None])
    turned = fc.predict(h100, fc.AllReduce(bytes[::-1], ranks=ranks[::-1], nodes=nodes[::-1]))
    np.testing.assert_allclose(turned.seconds, grid.seconds[::-1], rtol=1e-9)


def test_many_rows_of_many_shapes_are_the_same_in_blocks_and_in_one(h100):
    """More rows than are sorted at a time, more shapes than are kept."""
    draw = np.random.default_rng(2)
    ranks = 8 * draw.integers(1, 1000, 1_200_000)
    sizes = 2.0 ** draw.integers(3, 34, ranks.size)
    grid = fc.predict(h100, fc.AllReduce(sizes, ranks=ranks))
    order = np.lexsort((sizes, ranks))
    shapes, first = np.unique(ranks[order], return_index=True)
    for at in draw.integers(0, shapes.size - 1, 20):
        rows = order[first[at]:first[at + 1]]
        alone = fc.predict(h100, fc.AllReduce(sizes[rows], ranks=int(shapes[at])))
        np.testing.assert_allclose(grid.seconds[rows], alone.seconds, rtol=1e-9)
        np.testing.assert_allclose(grid.bus_bytes_per_second[rows], alone.bus_bytes_per_second, rtol=1e-9)


def test_a_fault_in_a_shuffled_table_says_its_row(h100):
    bytes, ranks, nodes = shuffled(1000)
    for array, wrong, says in [(bytes, -2.0, r"bytes\[617\]: -2 is not"), (ranks, 1, r"ranks 1, nodes \d+ at \[617\]"),
                               (nodes, -3, r"nodes\[617\]: -3 is negative")]:
        array[617], kept = wrong, array[617]
        nodes[617] = max(nodes[617], 2) if array is ranks else nodes[617]
        with pytest.raises(fc.RequestError, match=says):
            fc.predict(h100, fc.AllReduce(bytes, ranks=ranks, nodes=nodes))
        array[617] = kept
