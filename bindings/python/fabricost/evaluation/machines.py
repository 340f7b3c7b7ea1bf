"""The machine of a published row, from its GPU's name and a description of its interconnect, and the peak that its MFU divides by."""

from __future__ import annotations

import re
from functools import cache

import fabricost as fc

from ._table import Skipped

# GPU, machine, dense peaks that publications print in 16, 8 and 4 bit (TFLOP/s; 0: none), GPUs of a node
_MACHINES = (("a100", "dgx-a100", (312, 312, 312), 8), ("h100", "dgx-h100", (989.5, 1979, 1979), 8), ("h200", "dgx-h200", (989.5, 1979, 1979), 8),
             ("h800", "deepseek-v3-h800", (989.5, 1979, 1979), 8), ("gb200", "gb200-nvl72", (2500, 5000, 10000), 4), ("gb300", "gb300-nvl72", (2500, 5000, 15000), 4),
             ("b200", "dgx-b200", (2250, 4500, 9000), 8), ("b300", "dgx-b300", (2250, 4500, 14000), 8), ("mi300x", "mi300x-8", (1307.4, 2614.9, 2614.9), 8),
             ("mi325x", "mi325x-8", (1307.4, 2614.9, 2614.9), 8), ("mi350x", "mi350x-8", (2306.9, 4613.7, 9227.5), 8),
             ("mi355x", "mi355x-8", (2516.6, 5033.2, 10066.3), 8), ("h20", "hgx-h20", (0, 0, 0), 8), ("l40s", "l40s-pcie", (0, 0, 0), 8),
             ("t4", "aws-g4dn", (0, 0, 0), 8), ("gaudi2", "gaudi-2", (432, 865, 865), 8), ("tpuv4", "tpu-v4-cube", (275, 275, 275), 4),
             ("v5e", "tpu-v5e-pod", (197, 394, 394), 4), ("v5p", "tpu-v5p-cube", (459, 918, 918), 4), ("v6e", "tpu-v6e-pod", (918, 1836, 1836), 4))
_INFINIBAND = {"100": "edr", "200": "hdr", "400": "ndr", "800": "xdr"}
_EFA = {"100": "efa-v2", "200": "efa-v3", "400": "efa-v4"}

load = cache(lambda system, overrides=(): fc.load_system(system, list(overrides)))


@cache
def machine_of(gpu: str, wires: str = "", gpus_per_node: int = 0) -> tuple[str, tuple[str, ...], float]:
    """System, overrides, and bytes/s of memory where the row states them (else 0). gpu: in any case, with additions ("DGX-GB200", "A100-40G", "H100
    (96GB HBM2e 2.4TB/s, 500W)"). wires: "NVLink4 900GB/s in node + 8x400G NDR IB per node", "16x400G EFA". Raises Skipped for an unknown GPU."""
    name = gpu.lower()
    known = next((m for m in _MACHINES if re.search(f"(?<![a-z0-9]){m[0]}(?![a-z0-9])", name)), None)
    if known is None:
        raise Skipped(f'no machine known with a GPU "{gpu[:40]}"')
    short, system, _, gpus = known
    overrides = ["gpu=a100-sxm-40"] if short == "a100" and "40g" in name else []
    memory = re.search(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)tb/s", name)
    if "96gb" in name:  # nvidia-smi shows 97,871 MiB on parts sold with 96 GB (data/gpus/gh200.yaml)
        overrides.append("gpu.memory=97871 MiB")
    if watts := re.search(r"(\d{2,4})w\b", name):
        overrides.append(f"gpu.power={watts[1]} W")
    if gpus == 8 and 0 < gpus_per_node < 8 and system.startswith("dgx-"):
        gpus = gpus_per_node
        overrides += [f"gpus={gpus}", *(f"tiers.{tier}.endpoints={gpus}" for tier in ("nvlink", "pcie", "nic"))]
    # "8x400G": Gbit/s of ports; rates in bytes and of links inside the domain are written as GB/s. At most four ports per GPU of a node (32 x 100G on a p5)
    ports = re.search(r"(\d{1,3}) ?x ?(\d{2,4}) ?G(?!B|iB|T)", wires)
    if ports and 1 <= int(ports[1]) <= 4 * gpus:
        rate = ports[2]
        link = "omnipath-100" if "Omni-Path" in wires else _EFA.get(rate, "") if "EFA" in wires else f"infiniband-{_INFINIBAND[rate]}" if rate in _INFINIBAND else ""
        overrides.append(f"tiers.nic.endpoints={ports[1]}")
        if link:
            overrides.append(f"tiers.nic.link={link}")
        if link.startswith("efa"):
            overrides.append(f"tiers.nic.transport={link}")
    if "RoCE" in wires:
        overrides.append("tiers.nic.transport=roce")
    return system, tuple(overrides), 1e12 * float(memory[1]) if memory else 0.0


def published_peak(system: str, bits: int) -> float:
    """FLOP/s that published MFUs are relative to: the usual round figures. 0: none is known. bits: 16, 8 or 4."""
    return next((1e12 * peaks[(16, 8, 4).index(bits)] for _, known, peaks, _ in _MACHINES if known == system), 0.0)
