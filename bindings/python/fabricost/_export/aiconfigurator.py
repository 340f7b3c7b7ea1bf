"""aiconfigurator's (AISimulate's) performance database for a machine that it lacks: a system file and tables of kernels.

    NAME.yaml                                           rates of GPU, node and network in bytes/s
    data/NAME/comm/nccl/VERSION/nccl_perf.parquet       NCCL's collectives: message_size bytes, latency ms
    data/NAME/comm/ENGINE/VERSION/custom_allreduce_perf.parquet     the engine's own all-reduce
    data/NAME/gemm/..., data/NAME/attention/...         products and attention, a coarse grid that HYBRID extends

Each row says in `device` that it is predicted: nothing in these tables was collected on hardware.
"""
from __future__ import annotations

import io
from typing import Any

import numpy as np

from .. import _core
from .._extras import module
from ..names import operations
from .shared import Format, Made, Option, described, powers_up_to, yaml_text

_TYPES = {"half": "half", "int8": "int8"}  # of NCCL's table
_NCCL = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
_SIDES = (1, 16, 64, 256, 1024, 4096, 16384)
_WIDTHS = (512, 1024, 2048, 4096, 8192, 16384, 32768)
_HEADS = ((8, 1), (8, 8), (16, 2), (32, 4), (32, 8), (64, 8), (64, 64))
_ENGINES = ("vllm", "sglang", "trtllm")


def _parquet(columns: dict[str, Any]) -> bytes:
    arrow, parquet = module("pyarrow"), module("pyarrow.parquet")
    out = io.BytesIO()
    parquet.write_table(arrow.table({name: np.atleast_1d(values) for name, values in columns.items()}), out)
    return out.getvalue()


def _table(who: dict[str, str], rows: list[dict[str, Any]]) -> bytes:
    return _parquet({**{key: np.array([value] * len(rows)) for key, value in who.items()},
                     **{key: np.array([row[key] for row in rows]) for key in rows[0]}})


def _nccl(system: Any, sizes: Any) -> list[dict[str, Any]]:
    rows = []
    for operation in _NCCL:
        for written, dtype in _TYPES.items():
            for n in powers_up_to(system.gpus):
                nodes = max(1, -(-n // system.gpus_per_node))
                times = _core.predict(system, operations[operation](bytes=sizes, ranks=n, nodes=nodes, dtype=dtype)).seconds
                rows += [{"op_name": "alltoall" if operation == "all_to_all" else operation, "kernel_source": "NCCL", "nccl_dtype": written,
                          "num_gpus": n, "message_size": int(size), "latency": float(time) * 1e3} for size, time in zip(sizes, times)]
    return rows


def _custom(system: Any, engine: str, kernels: dict[str, Any], sizes: Any) -> list[dict[str, Any]]:
    rows = []
    for n in powers_up_to(min(8, system.domain)):
        for size in sizes:
            found = _core.predict(system, operations["all_reduce"](bytes=float(size), ranks=n), library=engine)
            rows.append({"op_name": "all_reduce", "kernel_source": kernels["reduce"], "allreduce_dtype": "bfloat16", "num_gpus": n,
                         "message_size": int(size), "latency": float(found.seconds) * 1e3,
                         "implementation" if engine == "trtllm" else "backend": kernels["backend"]})
    return rows


def _gemm(system: Any, kernels: dict[str, str]) -> list[dict[str, Any]]:
    shapes = np.array([(m, n, k) for m in _SIDES for n in _WIDTHS for k in _WIDTHS], dtype=float)
    rows = []
    for dtype, precision in (("bfloat16", "bf16"), ("fp8", "fp8")):
        if precision not in system.flops_per_second and precision != "bf16":
            continue
        times = np.array(_core._product_seconds(system, precision, shapes[:, 0], shapes[:, 1], shapes[:, 2], 1.0))
        rows += [{"op_name": "gemm", "kernel_source": kernels[dtype], "gemm_dtype": dtype, "m": int(m), "n": int(n), "k": int(k),
                  "latency": float(time) * 1e3} for (m, n, k), time in zip(shapes, times)]
    return rows


def _attention(system: Any, phase: str, source: str) -> list[dict[str, Any]]:
    prompts = phase == "context"
    rows: list[dict[str, Any]] = []
    flops, cached = [], []
    for cache, width in (("bfloat16", 2), ("fp8", 1)):
        for heads, kv_heads in _HEADS:
            for batch in (1, 4, 16) if prompts else (1, 4, 16, 64, 256):
                for length in (256, 1024, 4096, 16384) if prompts else (127, 511, 2047, 8191, 32767):
                    tokens = length if prompts else 1
                    seen = length / 2 if prompts else length + 1  # of causal attention a token sees half of the prompt
                    flops.append(4.0 * batch * tokens * seen * heads * 128)
                    cached.append(2.0 * batch * (length if prompts else length + 1) * kv_heads * 128 * width)
                    rows.append({"op_name": f"{phase}_attention", "kernel_source": source, "batch_size": batch,
                                 "isl": length if prompts else 1, "num_heads": heads, "num_key_value_heads": kv_heads, "head_dim": 128,
                                 "beam_width": 1, "attn_dtype": "bfloat16", "kv_cache_dtype": cache, "step": 0 if prompts else length,
                                 "window_size": 0})
    for row, time in zip(rows, np.array(_core._attention_seconds(system, np.array(flops), np.array(cached)))):
        row["latency"] = float(time) * 1e3
    return rows


def _spec(system: Any, name: str, nccl: str) -> dict[str, Any]:
    facts, flops = _core._gpu_facts(system), system.flops_per_second
    nic = system.tiers["nic"] if "nic" in system.tiers else None
    inside = next(tier for tier in system.tiers if tier.name not in ("l2", "hbm"))
    bf16 = flops.get("bf16") or flops.get("fp16")
    if not bf16:
        raise _core.RequestError(f"system: the file of {system.gpu} names no 16-bit peak, on which the database rests")
    arch = facts["arch"].partition("_")[2]
    theirs = described("aiconfigurator")["defaults"]
    return {"data_dir": f"data/{name}",
            "gpu": {"mem_bw": round(system.tiers["hbm"].bytes_per_second),
                    **{key: theirs[key] for key in ("mem_bw_empirical_scaling_factor", "mem_empirical_constant_latency")}, "mem_capacity": round(system.memory_bytes), "bfloat16_tc_flops": round(bf16),
                    "int8_tc_flops": round(flops.get("int8", bf16)), "fp8_tc_flops": round(flops.get("fp8", bf16)),
                    **({"fp4_tc_flops": round(flops["fp4"])} if "fp4" in flops else {}), "power": round(facts["watts"]),
                    "sm_version": int(arch) if arch.isdigit() else 100},
            "node": {"num_gpus_per_node": system.domain if system.domain > 1 else system.gpus_per_node,
                     "inter_node_bw": round(nic.bytes_per_second * nic.endpoints / system.gpus_per_node) if nic else round(inside.bytes_per_second),
                     "intra_node_bw": round(inside.bytes_per_second),
                     "pcie_bw": round(system.tiers["pcie"].bytes_per_second) if "pcie" in system.tiers else round(inside.bytes_per_second),
                     "p2p_latency": theirs["p2p_latency"]},
            "misc": {"nccl_mem": {n: 0 if n == 1 else theirs["nccl_mem"] for n in (1, 2, 4, 8)}, "other_mem": theirs["other_mem"],
                     "nccl_version": nccl}}


def database(system: Any, name: str | None, engine: str, version: str | None, nccl: str | None, sizes: list[float]) -> Made:
    listed = described("aiconfigurator")["defaults"]
    kernels = listed["engines"][engine]
    version, nccl, name = version or kernels["version"], nccl or listed["nccl"], (name or system.name).replace("-", "_")
    device = f"{system.gpu}, predicted by fabricost {_core.__version__}"
    who, grid = {"framework": kernels["framework"], "version": version, "device": device}, np.array(sizes)
    tables = {f"comm/nccl/{nccl}/nccl_perf": ({**who, "framework": "NCCL", "version": nccl}, _nccl(system, grid)),
              f"comm/{engine}/{version}/custom_allreduce_perf": (who, _custom(system, engine, kernels, grid)),
              f"gemm/{engine}/{version}/gemm_perf": (who, _gemm(system, kernels["gemm"])),
              **{f"attention/{engine}/{version}/{phase}_attention_perf": (who, _attention(system, phase, kernels["attention"]))
                 for phase in ("context", "generation")}}
    note = f"# {system.name}: every number is from its data sheet or predicted by fabricost {_core.__version__}, none was collected on hardware.\n"
    files = {f"{name}.yaml": (note + yaml_text(_spec(system, name, nccl))).encode()}
    files |= {f"data/{name}/{path}.parquet": _table(who, rows) for path, (who, rows) in tables.items()}
    return Made(files, [f"{sum(len(rows) for _, rows in tables.values())} rows for {engine} {version}; kernels between the shapes are the "
                        "reader's estimate, so ask it for database mode HYBRID.",
                        f"aiconfigurator cli default --systems-paths default,FOLDER --system {name} --backend {engine} --database-mode HYBRID "
                        "--model Qwen/Qwen3-32B --total-gpus 8 --isl 2048 --osl 256"])


FORMATS = [Format("aiconfigurator", "aiconfigurator, AISimulate: a performance database for --systems-paths", database, (
    Option("name", "word", "of the machine there; default its name"),
    Option("engine", "word", "vllm sglang trtllm; default vllm", "vllm", tuple(_ENGINES)),
    Option("version", "word", "of the engine, one that the reader lists; default its current one"),
    Option("nccl", "word", "version under which NCCL's table stands; default 2.27.3"),
    Option("sizes", "sizes", "bytes of messages; default 256B:512MiB:x2", "256B:512MiB:x2")), folder=True,
    example="fabricost export aiconfigurator --system vera-rubin-nvl72 -o systems")]
