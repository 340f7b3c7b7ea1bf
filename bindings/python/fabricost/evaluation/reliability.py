"""Figures of failures, goodput, power and checkpoints beside the model.

    failure counts, MTTF, failures per node-day   rate of the fleet of the row's source x nodes x time (data/workloads/reliability.yaml)
    goodput, effective training time of a run     fc.goodput with background checkpoints at the best interval
    size of a checkpoint                          14 bytes a parameter, 2 of its 16-bit weights
    power of a GPU, node, rack                    data/gpus, data/systems; for a measured maximum: load x rated

What a fleet's own paper counts is what its rate was taken from, so nothing is predicted there; nor are observations that follow from
nothing else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import fabricost as fc

from ._data import data
from ._table import Row, Skipped, frame_of, number_of

COLUMNS = ["id", "group", "source", "topic", "system", "gpus", "model", "quantity", "value"]
NINE_IN_TEN = 1.645  # standard deviations on each side

# words that all occur in the quantity, and whose power it is; the first match is used
_RACKS = (("gb200 nvl72", "gb200-nvl72"), ("gb300 nvl72", "gb300-nvl72"), ("nvl144", "vera-rubin-nvl72"), ("nvl576", "kyber-nvl576"),
          ("cloudmatrix", "cloudmatrix384"), ("8xh100 node", "dgx-h100"), ("dgx h100", "dgx-h100"), ("dgx b200", "dgx-b200"),
          ("dgx b300", "dgx-b300"), ("dgx a100", "dgx-a100"), ("8xh200 node", "dgx-h200"), ("8xb200 node", "dgx-b200"),
          ("8xa100 node", "dgx-a100"), ("8xb300 node", "dgx-b300"), ("8xmi300x node", "mi300x-8"))
_CARDS = (("gb300", "gb300"), ("gb200", "gb200"), ("b300", "b300-sxm"), ("b200", "b200-sxm"), ("h200", "h200-sxm"), ("h100", "h100-sxm"),
          ("a100", "a100-sxm-80"), ("h800", "h800-sxm"), ("h20", "h20"), ("mi300x", "mi300x"), ("v100", "v100-sxm"))


def _named(pairs: Sequence[tuple[str, str]], text: str) -> str:
    return next((spec for words, spec in pairs if all(word in text.lower() for word in words.split())), "")


def _watts(folder: str, name: str) -> float:
    spec = data(f"{folder}/{name}.yaml")
    while "power" not in spec:
        spec = data(f"{folder}/{spec['extends']}.yaml")
    value, unit = (spec["power"]["value"] if isinstance(spec["power"], dict) else spec["power"]).split()
    return float(value) * {"W": 1, "kW": 1e3, "MW": 1e6}[unit]


def _around(value: float, share: float) -> tuple[float, float, float]:
    return value, value * (1 - share), value * (1 + share)


def _exact(value: float) -> tuple[float, float, float]:
    """A specification."""
    return _around(value, 1e-9)


def _printed(value: float) -> tuple[float, float, float]:
    """Derived from a figure printed with three digits."""
    return _around(value, 0.005)


def _counted(value: float) -> tuple[float, float, float]:
    """A random count: nine of ten are within NINE_IN_TEN / 2 of its square root (Anscombe 1948)."""
    return value, max(0.0, math.sqrt(value) - NINE_IN_TEN / 2) ** 2, (math.sqrt(value) + NINE_IN_TEN / 2) ** 2


def _known_itself() -> NoReturn:
    raise Skipped("stands in data/workloads/reliability.yaml itself, so that nothing is predicted")


def _same_cause(a: str, b: str) -> bool:
    """The same letters and digits but for a plural, or one in the other where that is long enough to be specific."""
    x, y = (re.sub("[^a-z0-9]", "", text.lower()).removesuffix("s") for text in (a, b))
    return x == y or (min(len(x), len(y)) >= 6 and (x in y or y in x))


class _Fleet:
    def __init__(self, name: str, facts: dict[str, Any]) -> None:
        self.name, self.causes = name, facts.get("causes", [])
        self.gpus, self.gpus_per_node, self.days, self.planned = facts["gpus"], facts["gpus_per_node"], facts.get("days", 0), facts.get("planned", 0)
        self.failures: float = sum(c["count"] for c in self.causes)
        thousand = facts.get("failures_per_thousand_node_days")
        self.per_node_day = thousand / 1000 if thousand is not None else self.failures / (self.days * self.gpus / self.gpus_per_node)


class _Model:
    def __init__(self) -> None:
        self.fleets = {name: _Fleet(name, facts) for name, facts in data("workloads/reliability.yaml")["fleets"].items()}

    def fleet(self, row: Row) -> _Fleet | None:
        source = row["source"].lower()
        name = ("llama3" if "llama 3" in source else "opt-175b" if "opt-175b" in source else "" if "2410.21680" not in source
                else "rsc-observed" if "observed;" in row["notes"].lower() else "rsc-2" if "rsc-2" in (row["system"] + row["quantity"]).lower() else "rsc-1")
        return self.fleets.get(name)

    def __call__(self, row: Row) -> Any:
        topic, unit = row["topic"].lower(), row["unit"].lower()
        if "failure count" in topic:
            return self.count(row)
        if "1000 node-days" in unit or "failure rate" in topic and "mtbf" not in topic and "mttf" not in topic:
            return self.rate(row)
        if "mtbf" in topic or "mttf" in topic:
            return self.mttf(row)
        if "goodput" in topic or "ettr" in topic:
            return self.goodput(row)
        if "power" in topic:
            return self.power(row)
        if "checkpoint" in topic:
            return self.checkpoint(row)
        if "straggler" in topic:
            raise Skipped("an observation of a fleet: the shares of slow ranks are inputs")
        raise Skipped("an observation that follows from nothing else in the row")

    def count(self, row: Row) -> Any:
        """Rate of the cause x GPUs x days, for another run than the one that was counted."""
        fleet, gpus, quantity = self.fleet(row), row.number("gpus", 1e8), row["quantity"].lower()
        said = re.search(r"in (\S+) day", row["unit"])
        days = (number_of(said[1]) or 0) if said else 0
        if not fleet or not fleet.days or days <= 0 or gpus <= 0:
            raise Skipped("no rates are known of this fleet")
        exposure = days * gpus / (fleet.days * fleet.gpus)
        if abs(exposure - 1) < 1e-9:
            _known_itself()
        for cause in fleet.causes:
            if _same_cause(cause["cause"], quantity):
                return _counted(cause["count"] * exposure)
        for words, counted in ((("unexpected", "unplanned"), fleet.failures), (("planned",), fleet.planned), (("total",), fleet.failures + fleet.planned)):
            if any(word in quantity for word in words):
                return _counted(counted * exposure)
        raise Skipped("a cause of failures without a rate")

    def mttf(self, row: Row) -> Any:
        fleet, gpus, unit = self.fleet(row), row.number("gpus", 1e8), row["unit"].lower()
        if not fleet or gpus <= 0:
            raise Skipped("no rates are known of this fleet")
        seconds = 3600 / gpus if "gpu-h" in unit else 3600 if unit == "h" else 86400 if "day" in unit else 0
        if not seconds:
            raise Skipped("a time to failure in a unit that is not known")
        planned = "including planned" in row["quantity"].lower()
        all_of_them = fleet.failures + (fleet.planned if planned else 0)
        value = 86400 / (gpus / fleet.gpus_per_node * fleet.per_node_day) * (fleet.failures / all_of_them if planned else 1) / seconds
        if not all_of_them:  # published as a rate
            return value if fleet.name == "rsc-observed" else _printed(value)
        _, low, high = _counted(all_of_them)
        return value, value * all_of_them / high, value * all_of_them / low

    def rate(self, row: Row) -> Any:
        fleet = self.fleet(row)
        if not fleet or "1000 node-days" not in row["unit"]:
            raise Skipped("no rates are known of this fleet")
        if not fleet.failures:  # a fleet with a published rate instead of counts
            _known_itself()
        return _printed(1000 * fleet.per_node_day)

    def goodput(self, row: Row) -> float:
        gpus, fleet = row.number("gpus", 1e8), self.fleet(row)
        if "fraction" not in row["unit"]:
            raise Skipped("a bound or a time that was measured, not a share of the job's time")
        if gpus <= 0:
            raise Skipped("the number of GPUs is not given")
        if "slowdown" in row["quantity"].lower():
            raise Skipped("an observation of a fleet: the shares of slow ranks are inputs")
        return fc.goodput(gpus=int(gpus), gpus_per_node=(fleet or self.fleets["llama3"]).gpus_per_node, fleet=fleet.name if fleet else "llama3", background=True).goodput

    def power(self, row: Row) -> Any:
        unit = {"kW": 1e3, "W": 1, "MW": 1e6}.get(row["unit"])
        if not unit:
            raise Skipped("a power in a unit that is not known")
        quantity, measured = row["quantity"], "measured" in row["quantity"].lower()
        if machine := _named(_RACKS, quantity):
            rated = _watts("systems", machine) / unit / (fc.load_system(machine, calibration="none").gpus if "per gpu" in quantity.lower() else 1)
            return data("prices/default.yaml")["load"]["value"] * rated if measured else _exact(rated)
        card = _named(_CARDS, row["system"] if row["topic"] == "power" and quantity.startswith("GPU TDP") else quantity)
        if not card or measured:
            raise Skipped("the power of something without a specification here")
        return _exact(_watts("gpus", card) / unit)

    def checkpoint(self, row: Row) -> float:
        """Sizes are in powers of 1024, as file tools print them: BLOOM's 16-bit weights, 352.5e9 bytes, are published as 329 GB."""
        quantity = row["quantity"].lower()
        if "checkpoint size" not in quantity and "weights" not in quantity:
            raise Skipped("depends on a storage and a network that the row does not describe")
        try:
            parameters = fc.load_model(row["model"]).parameters.total
        except fc.RequestError:
            raise Skipped("the model has no shape here") from None
        unit = {"TB": fc.TiB, "GB": fc.GiB}.get(row["unit"])
        if not unit:
            raise Skipped("a size in a unit that is not known")
        return (2 if "weights" in quantity else 14) * parameters / unit


def predicted(rows: Sequence[Row]) -> Any:
    return frame_of(rows, "quantity", _Model())
