"""Times of one GPU's kernels under PyTorch, in the columns of `calibrate --from`.

    python -m fabricost.kernels kernels.csv
    fabricost calibrate --from kernels.csv --stack pytorch-2026 -o mine.yaml

Products, experts, causal attention and its backward, the optimizer and copies are timed as a training step calls them; the file needs PyTorch
only, so it may be copied to a machine where nothing else is installed. A time is the median of repetitions between two events of the device,
each of at most a second for a kind and shape. What a GPU or PyTorch cannot do is said, and has no row.
"""
from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

COLUMNS = ("id", "group", "source", "gpu", "interconnect", "op", "hidden", "ffn", "heads", "kv_heads", "tokens", "bytes", "time_us", "notes")
KINDS = ("gemm", "experts", "attention", "optimizer", "memory")

#: columns and inner dimension of a layer's products: 8B, 70B and the output table of a model
_PRODUCTS = ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (10240, 8192), (57344, 8192), (8192, 28672), (128256, 4096))
_ROWS = (16, 256, 1024, 4096, 16384)
#: sequences, heads, length and width of a head
_ATTENTION = ((1, 32, 2048, 128), (4, 32, 2048, 128), (1, 32, 8192, 128), (1, 64, 8192, 128), (1, 16, 16384, 128), (8, 16, 1024, 64),
              (2, 16, 8192, 64))
#: hidden and expert width, experts of a rank, all experts, chosen ones
_EXPERTS = ((2048, 768, 16, 128, 8), (4096, 1536, 16, 128, 8), (7168, 2048, 8, 256, 8), (4096, 14336, 2, 8, 2))

Row = dict[str, object]


def measure_kernels(kinds: Sequence[str] = KINDS, *, gpu: str | None = None, say: Callable[[str], None] = print) -> list[Row]:
    """Rows of timed kernels of the current device.

    kinds: of KINDS. gpu: its name, default as PyTorch has it. say: is given what is left out, and why.

    Raises RuntimeError if PyTorch finds no GPU, ValueError for an unknown kind.
    """
    import torch

    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ValueError(f"no kind of kernel is called {unknown[0]}: {', '.join(KINDS)}")
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch finds no GPU here")
    name = gpu or torch.cuda.get_device_name()
    source = f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}" if torch.version.cuda else f"PyTorch {torch.__version__}"
    rows: list[Row] = []
    measures: dict[str, Callable[[Any], Iterator[Row]]] = {
        "gemm": _products, "experts": _experts, "attention": _attention, "optimizer": _optimizer, "memory": _memory}
    for kind in kinds:
        try:
            for row in measures[kind](torch):
                rows.append({"id": f"K{len(rows) + 1}", "group": "own", "source": source, "gpu": name, **row})
        except (RuntimeError, AttributeError) as error:  # out of memory, or unknown to this GPU or PyTorch
            say(f"{kind}: {str(error).splitlines()[0]}")
        torch.cuda.empty_cache()
    return rows


def _microseconds(torch: Any, call: Callable[[], object]) -> float:
    """The median of some 0.3 s of calls, at least 5 and at most 50, after two."""
    began = time.perf_counter()
    for _ in range(2):
        call()
    torch.cuda.synchronize()
    once = (time.perf_counter() - began) / 2
    count = max(5, min(50, int(0.3 / max(once, 1e-6))))
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(count)]
    for start, end in events:
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return float(round(1e3 * statistics.median(start.elapsed_time(end) for start, end in events), 3))


def _fits(torch: Any, size: float) -> bool:
    return bool(size < 0.8 * torch.cuda.mem_get_info()[0])


def _products(torch: Any) -> Iterator[Row]:
    for columns, inner in _PRODUCTS:
        for rows in _ROWS:
            if not _fits(torch, 2.0 * (rows * inner + columns * inner + rows * columns)):
                continue
            a = torch.randn(rows, inner, device="cuda", dtype=torch.bfloat16)
            b = torch.randn(columns, inner, device="cuda", dtype=torch.bfloat16)
            yield {"op": f"matmul M={rows} K={inner} N={columns} bf16", "time_us": _microseconds(torch, partial(torch.nn.functional.linear, a, b))}
    if torch.version.cuda and torch.cuda.get_device_capability() < (8, 9):
        raise NotImplementedError("this GPU has no products in fp8")
    one = torch.ones((), device="cuda")
    for columns, inner in _PRODUCTS:
        for rows in _ROWS[1:]:
            a = torch.randn(rows, inner, device="cuda").to(torch.float8_e4m3fn)
            b = torch.randn(columns, inner, device="cuda").to(torch.float8_e4m3fn)
            yield {"op": f"matmul M={rows} K={inner} N={columns} fp8", "notes": "scaled by tensor, result in bf16",
                   "time_us": _microseconds(torch, partial(torch._scaled_mm, a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16))}


def _experts(torch: Any) -> Iterator[Row]:
    """Two grouped products with the gate between them; tokens are gathered by expert before and added up after."""
    from torch.nn.functional import silu

    for hidden, width, here, experts, top in _EXPERTS:
        up = torch.randn(here, hidden, 2 * width, device="cuda", dtype=torch.bfloat16)
        down = torch.randn(here, width, hidden, device="cuda", dtype=torch.bfloat16)
        for tokens in (1024, 4096, 16384):
            rows = tokens * top * here // experts // here * here
            ends = torch.arange(1, here + 1, device="cuda", dtype=torch.int32) * (rows // here)
            chosen = torch.arange(rows, device="cuda") % tokens
            x = torch.randn(tokens, hidden, device="cuda", dtype=torch.bfloat16)

            def layer(x: Any = x, up: Any = up, down: Any = down, ends: Any = ends, chosen: Any = chosen, width: int = width) -> Any:
                both = torch._grouped_mm(x[chosen], up, offs=ends)
                result = torch._grouped_mm(silu(both[:, :width]) * both[:, width:], down, offs=ends)
                return torch.zeros_like(x).index_add_(0, chosen, result)

            yield {"op": "moe_bf16", "hidden": hidden, "ffn": width, "tokens": tokens, "time_us": _microseconds(torch, layer),
                   "notes": f"{experts} experts over {experts // here} ranks, top {top}, balanced"}


def _attention(torch: Any) -> Iterator[Row]:
    attention = torch.nn.functional.scaled_dot_product_attention
    for batch, heads, length, width in _ATTENTION:
        q, k, v = (torch.randn(batch, heads, length, width, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
        shape = {"heads": heads, "kv_heads": heads, "notes": f"batch {batch}, sequence {length}, head {width}, causal"}
        with torch.no_grad():
            yield {"op": "attention forward", **shape, "time_us": _microseconds(torch, partial(attention, q, k, v, is_causal=True))}
        result = attention(q, k, v, is_causal=True)
        slope = torch.randn_like(result)
        yield {"op": "attention backward", **shape, "time_us": _microseconds(
            torch, partial(torch.autograd.grad, result, (q, k, v), slope, retain_graph=True))}


def _optimizer(torch: Any) -> Iterator[Row]:
    """Fused AdamW: weight, gradient and two moments are read, all but the gradient written."""
    for dtype, layers in ((torch.bfloat16, 1), (torch.bfloat16, 4), (torch.bfloat16, 16), (torch.float32, 1), (torch.float32, 3), (torch.float32, 8)):
        weights = [torch.nn.Parameter(torch.randn(4096, 14336, device="cuda", dtype=dtype)) for _ in range(layers)]
        for weight in weights:
            weight.grad = torch.randn_like(weight)
        update = torch.optim.AdamW(weights, lr=1e-5, fused=True)
        yield {"op": "optimizer", "bytes": 7 * sum(w.numel() * w.element_size() for w in weights), "time_us": _microseconds(torch, update.step),
               "notes": f"AdamW, fused, {str(dtype).removeprefix('torch.')}"}
        del weights, update


def _memory(torch: Any) -> Iterator[Row]:
    for size in (2**28, 2**30, 2**32):
        if not _fits(torch, 2 * size):
            continue
        a = torch.empty(size, dtype=torch.uint8, device="cuda")
        b = torch.empty_like(a)
        yield {"op": "hbm_copy", "bytes": size, "time_us": _microseconds(torch, partial(b.copy_, a))}
        yield {"op": "hbm_write", "bytes": size, "time_us": _microseconds(torch, a.zero_)}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m fabricost.kernels", description="Time this GPU's kernels with PyTorch, for calibrate --from")
    parser.add_argument("out", type=Path, metavar="FILE", help="the table, as in kernels.csv")
    parser.add_argument("--only", nargs="+", metavar="KIND", choices=KINDS, default=list(KINDS), help=f"kinds to time: {' '.join(KINDS)}; default all")
    parser.add_argument("--gpu", metavar="NAME", help="its name in data/gpus; default as PyTorch has it")
    asked = parser.parse_args(arguments)
    if not asked.out.absolute().parent.is_dir() or asked.out.exists() and not asked.out.is_file():
        parser.error(f"{asked.out}: no file can be written there")  # before the minutes that it takes
    try:
        rows = measure_kernels(asked.only, gpu=asked.gpu, say=lambda text: print(text, file=sys.stderr))
        with asked.out.open("w", newline="") as file:
            table = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    except (ImportError, RuntimeError, OSError) as error:
        print(f"fabricost.kernels: {error}", file=sys.stderr)
        return 2
    print(f"{len(rows)} kernels of {rows[0]['gpu'] if rows else 'no GPU'} in {asked.out}")
    return 0 if rows else 2


if __name__ == "__main__":
    sys.exit(main())
