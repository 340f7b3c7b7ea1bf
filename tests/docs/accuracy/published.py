"""Invented runs for the tests of examples/accuracy_page/from_sources.py: tables as nccl-tests prints them, and lists that name them."""
import pathlib
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "examples/accuracy_page"))
import from_sources  # noqa: E402
import published_sources  # noqa: E402

HEAD = """#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""


def table(scale=1.0, sizes=(2**20, 2**24, 2**28), ranks=8):
    """An all-reduce: 20 us and 400 GB/s, times `scale`."""
    text = "# nThread 1 nGpus 1 minBytes 8 maxBytes 268435456 step: 16(factor) warmup iters: 5 iters: 20 agg iters: 1 graph: 0\n" + HEAD
    for size in sizes:
        us = round(scale * (20 + size / 400e3), 2)
        alg = size / us * 1e-3
        rates = f"{alg:.2f}  {alg * 2 * (ranks - 1) / ranks:.2f}      0"
        text += f"{size:12d} {size // 4:12d}     float     sum      -1 {us:8.2f}  {rates} {us:8.2f}  {rates}\n"
    return text


def run(name, text, **more):
    """The run of sources.yaml that a table is."""
    said = {"id": name, "path": f"logs/{name}.txt", "system": "dgx-h100", "nodes": 1, "gpus_per_node": 8, "health": "healthy", **more}
    points, _ = published_sources.read_text({**said, "rows": 1, "sha256": ""}, text)
    return {**said, "rows": len(points), "sha256": published_sources.checksum(published_sources.lines_of(points))}


def write_sources(path, *runs, **more):
    source = {"url": "https://github.com/someone/measured", "commit": "0123456789", "licence": "not recorded", **more, "runs": list(runs)}
    pathlib.Path(path).write_text(yaml.safe_dump({"sources": [source]}, sort_keys=False), encoding="utf-8")
    return str(path)


class Made:
    """The output of one call of the command: printed lines and the page."""

    def __init__(self, capsys, folder, sources, *more):
        self.page = pathlib.Path(folder).parent / "page.md"
        self.status = from_sources.main(["--folder", str(folder), "--sources", sources, "--out", str(self.page), "--whole", *more])
        printed = capsys.readouterr()
        self.said = printed.err.splitlines()
        self.text = self.page.read_text(encoding="utf-8") if self.page.is_file() else ""
        assert not printed.out
        assert not [p for p in pathlib.Path(folder).parent.rglob(".*") if p.is_file()], "something half written was left behind"
