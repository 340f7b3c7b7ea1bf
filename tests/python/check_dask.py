"""A sweep on a real cluster of processes (dask.distributed), one of which is killed half way: nothing lost, nothing twice.

Run by ./quickstart check; needs distributed and pyarrow. Prints what it saw, fails otherwise.
"""
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time

import numpy as np

import fabricost as fc


def slow(columns):
    """A part that takes long enough for its worker to be killed in it."""
    time.sleep(0.25)
    return {"square": columns["i"].astype(float) ** 2, "worker": np.full(len(columns["i"]), os.getpid())}


def main() -> int:
    from distributed import Client, LocalCluster

    here = pathlib.Path(__file__).resolve().parent
    os.environ["PYTHONPATH"] = os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])
    sys.path.insert(0, str(here))
    import check_dask  # importable by name in the workers

    with tempfile.TemporaryDirectory() as folder, \
            LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as client:
        out = pathlib.Path(folder) / "squares"
        written: dict[str, int] = {}
        killed: list[int] = []

        def watch() -> None:
            while len(written) < 40:
                for path in out.glob("part-*.parquet"):
                    at = path.stat().st_mtime_ns
                    assert written.setdefault(path.name, at) == at, f"{path.name} was written twice"
                if len(written) >= 12 and not killed:
                    victim = next(iter(client.run(os.getpid).values()))
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)
                time.sleep(0.02)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        done = fc.sweep({"i": np.arange(4000)}, out, of=check_dask.slow, client=client, part=100, progress=False)
        watcher.join(10)
        table = done.to_table()
        assert killed, "no worker was killed"
        assert table["i"].to_pylist() == list(range(4000)), "rows lost or twice"
        assert table["square"].to_pylist() == [float(i) ** 2 for i in range(4000)]
        assert len(written) == 40, f"{len(written)} of 40 parts seen"
        by = set(table["worker"].to_pylist())
        print(f"4000 rows in 40 parts by {len(by)} processes, process {killed[0]} killed after {12} parts: nothing lost, nothing twice")

        axes = {"system": ["dgx-h100", "dgx-b200"], "operation": ["all_reduce", "all_to_all"], "ranks": [8, 64, 256],
                "bytes": np.geomspace(1e3, 1e10, 20000)}
        begun = time.perf_counter()
        there = fc.sweep(axes, pathlib.Path(folder) / "cluster", client=client, part=30000, progress=False).to_table()
        took = time.perf_counter() - begun
        here_too = fc.sweep(axes, pathlib.Path(folder) / "threads", part=30000, progress=False).to_table()
        assert there.equals(here_too), "the cluster's answers differ from the threads'"
        print(f"{there.num_rows:,} predictions on the cluster in {took:.2f} s, equal to those of threads")

        asked = {"vary": {"nic_bandwidth": "10:110:+1GB/s per direction", "domain": [8, 16, 32], "batch": [64, 128]}, "gpus": 64}
        out, stop, gone = pathlib.Path(folder) / "points", threading.Event(), []

        def kill_at_random() -> None:
            random = np.random.default_rng(3)
            while not stop.wait(1.5 + 2 * random.random()) and len(gone) < 3:
                alive = list(client.run(os.getpid).values())
                gone.append(alive[int(random.integers(len(alive)))])
                os.kill(gone[-1], signal.SIGKILL)

        killer = threading.Thread(target=kill_at_random, daemon=True)
        killer.start()
        space = fc.explore("dgx-h100", "llama3-8b", out=out, client=client, part=6, **asked)
        stop.set()
        killer.join(10)
        alone = fc.explore("dgx-h100", "llama3-8b", **asked)
        assert len(space) == len(alone) == 606 and space.front == alone.front
        assert np.array_equal(space["step_seconds"], alone["step_seconds"]), "points lost, twice or in another order"
        assert len(list(out.glob("part-*.parquet"))) == 101
        print(f"{len(space):,} points of explore on the cluster, {len(gone)} processes killed at random: nothing lost, nothing twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
