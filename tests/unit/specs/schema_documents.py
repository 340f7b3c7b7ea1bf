"""A good document of every kind, as full as the format allows: schema and loader take it, and each check spoils one value or key of it."""
import yaml

KINDS = {"gpu": ["gpus"], "link": ["links"], "switch": ["switches"], "system": ["systems", "clusters"], "transport": ["transports"],
         "calibration": ["calibrations"], "model": ["models"], "diagnosis": ["diagnosis"]}
# Compiled in by the build (cmake/shipped_numbers.cmake): no command reads these
COMPILED = {"prior": ["priors"], "tuner": ["tuners"], "engine": ["engines"], "policy": ["policies"],
            "plugin": ["plugins"]}

# Calibrations have different keys by what they hold; after the point stands which (or parts: all of them in one file)
CALIBRATIONS = ["scale_up", "pcie", "transport"]


class Plain(yaml.SafeLoader):
    """YAML as the loader has it: a date is a text."""


Plain.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def plain(text):
    return yaml.load(text, Plain)


GOOD = {
    "gpu": """
name: card
title: A card
vendor: nvidia
generation: hopper
source: a test
confidence: assumed
memory: 80 GB
hbm: {bandwidth: 3350 GB/s, latency: 560 ns}
l2: {size: 50 MB, bandwidth: 5500 GB/s, latency: 150 ns}
compute: {fp16: 989 TFLOP/s}
units: 132
clock: 1830 MHz
power: 700 W
price: 2.95 USD/h
scale_up: {link: nvlink-4, links: 18, bridge: false}
host: {link: pcie-5, lanes: 16}
c2c: {link: nvlink-c2c, links: 10}
identity:
  arch: sm_90
  names: [CARD 9]
  pci: ["10de:ffff"]
  stands_in_for: [{what: a card, names: [CARD 8], pci: ["10de:fffe"]}]
  clues: [{arch: sm_90, links: [13, 18], gpus: 8, sockets: 2, per_processor: 1, pcie: 5, wiring: direct, remark: "; so"}]
  instances: [{name: c1.large, gpus: 8, nics: 4}]
""",
    "link": """
name: wire
title: A wire
family: nvlink
source: a test
confidence: assumed
lanes: 2
lane_rate: 100 Gbit/s per direction
encoding: 1
bandwidth: 25 GB/s per direction
usable: 20 GB/s per direction
packet: {payload: 256 B, header: 24 B}
latency: 150 ns
usual_beside: [hopper]
""",
    "switch": """
name: chip
title: A chip
source: a test
confidence: assumed
link: nvlink-4
ports: 64
per_board: 4
latency: 150 ns
in_network: [reduction, multicast]
""",
    "system": """
name: box
title: A box
aliases: [crate]
usual_for: [h100-sxm]
bridge_of: [h100-pcie]
source: a test
confidence: assumed
gpu: h100-sxm
gpus: 8
dials:
  rating: {title: what it draws, unit: kW, values: [8, 16], set: {power: "{} kW"}, source: a test, confidence: assumed}
tiers:
  - {name: nvlink, role: scale_up, kind: switch, endpoints: 8, link: nvlink-4, links: 18, switch: nvswitch-3, switches: 4}
  - {name: nic, role: nic, kind: rails, endpoints: 8, link: infiniband-ndr, transport: infiniband, path: pxb, gdr: true}
""",
}

GOOD["transport"] = """
name: net
title: A network
source: a test
confidence: assumed
notes: a note
network: lossless
relative: roce
older: {transport: roce, until: "2.22", source: a test, confidence: measured}
sockets: false
roce: true
switch_ports: infiniband
protocols: {ll128: false}
adapters:
  reason: "{device} is one"
  links: [ethernet-400]
  rate: the rate of a net
  one_rate: true
  clues:
  - {pci: ["15b3", "1d0f:efa9"], names: [net], class: "0200", gpus: amd, beside: [hopper], instance: large, nics: 2, weight: 9, reason: so}
library: nccl
measured: {most_nodes: 2}
constants: {tree_step: 4.4 us, efficiency: 0.985}
intervals: {tree_ll: 0.21}
"""

GOOD["model"] = """
name: shape-1.5
title: A shape
aliases: [A/Shape]
source: a test
confidence: assumed
layers: 12
hidden: 1024
vocab: 32000
positions: 0
tied: true
biases: false
attention: {heads: 16, kv_heads: 4, head_dim: 64}
ffn: {width: 4096, gated: true}
experts: {count: 8, top_k: 2, width: 2048, shared: 1, first_dense: 1, groups: 4, group_limit: 2}
window: {size: 128, layers: 4}
index: {heads: 4, head_dim: 64, tokens: 64}
mixer: {kind: mamba2, layers: 4, inner: 2048, keys: 128, heads: 32, state: 128}
predict_layers: 1
fp8_block: 128
published: {parameters: 1.5e9, active: 0.5e9, other: 1e6}
"""

GOOD["diagnosis"] = """
name: extra
title: One more file of rules
source: a test
confidence: assumed
notes: a note
order: 9
other_runs: true
signs:
  lost_gpu: [fallen off the bus, {all: ["xid", "79"], none: [injected], any_case: true}]
signals:
  slower_version: {ratio: {value: 1.25, source: a test, confidence: assumed}}
rules:
- cause: other
  as: proof
  evidence: "{line}: gone"
  remedy: reset it
  first_of:
  - {when: [lost_gpu, not bond or one_node], weight: 0.9, reason: a test}
  - {words: [GPU is lost], when: slower_between_nodes, at: {least: 1.5}, weight: 0.5, evidence: "{against}"}
settings:
  evidence: "{line}: {what}"
  remedy: unset {variable}
  variables:
  - {variable: NCCL_X, value: ["0", "off"], most: 8, when: one_node, cause: other, weight: 0.5, as: hint, what: nothing}
helps:
- {variable: NCCL_Y, starts: a, not_starts: ab, holds: c, cause: iommu}
"""

CALIBRATION_HEAD = """
name: mine
title: A machine
systems: [dgx-h100]
source: a test
confidence: measured
date: 2026-01-31
notes: a note
"""
CALIBRATION_PARTS = {
    "scale_up": """
kind: scale_up
library: nccl
generation: hopper
measured: {bandwidth: 450 GB/s per direction, smallest: 512 B, largest: 512 MiB, fewest_ranks: 2, most_ranks: 8}
constants:
  launch: 4.7 us
  ll: {hop: 0.82 us, channel_share: 0.44}
  ll128: {floor: 14.7 us}
  simple: {rate: 387 GB/s per direction, overlap: 1.09}
  nvls: {rate: 473 GB/s per direction, chunk: 26 KiB}
  all_to_all: {base: 6.3 us, rate: 343 GB/s per direction}
intervals: {ring_ll: 0.058, nvls: 0.06}
residuals:
  all: {points: 504, median: 2.4, mean: 3.2}
deviations:
  launch: 0.83
""",
    "pcie": """
kind: pcie
library: nccl
measured: {bandwidth: 31.5 GB/s per direction}
constants:
  ll_rate: {pair: 8.8 GB/s per direction}
  simple_rate: {pair: 19.7 GB/s per direction}
  launch: 5 us
  warm_bytes: 1 MiB
intervals: {pcie_ll: 0.08}
""",
    "transport": """
kind: transport
transport: infiniband
measured: {most_nodes: 10}
constants: {tree_step: 4.4 us, efficiency: 0.985}
intervals: {tree_ll: 0.21}
""",
}
for part, text in CALIBRATION_PARTS.items():
    GOOD["calibration." + part] = CALIBRATION_HEAD + text
all_parts = {"parts": [plain(part) for part in CALIBRATION_PARTS.values()]}
GOOD["calibration.parts"] = CALIBRATION_HEAD + yaml.safe_dump(all_parts, sort_keys=False)


def schema_of(kind):
    return kind.split(".")[0]
