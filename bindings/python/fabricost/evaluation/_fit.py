"""Constants of compute, factors of stacks and constants of serving frameworks, fitted to questions: least squares on log(predicted / measured)."""

from __future__ import annotations

import datetime
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import fabricost as fc

from .. import _core
from ._data import data, files
from ._table import pd

NINE_IN_TEN = 1.645  # standard deviations on either side that hold nine tenths of a normal distribution
CONSTANTS = pd.DataFrame(_core._constant_columns(), columns=["set", "key", "least", "most", "spread", "fitted", "gone", "of_time"])
AT = {key: at for at, key in enumerate(CONSTANTS.key)}  # its column, by name
OF = {of: CONSTANTS[CONSTANTS.set == of] for of in ("compute", "serving_gpu", "serving_stack")}

_STEP_LOSS, _SERVING_LOSS = 0.06, 0.1  # steps repeat within a few per cent, serving runs within some 5 %; larger deviations are specific to a row
_STACKS_SPREAD = 0.15  # by which the factors of programs differ, in log
_UNSEEN_SPREAD = float(CONSTANTS.spread[AT["scale"]])  # of steps of programs without steps of their own, in log
_MOST_OF_GROUP = 40  # rows that a group counts as at most
_FEWEST_OF_PROGRAM = 5  # rows as many as its spread of unseen software counts for; with fewer, its factor is the common one
_TTFT_WEIGHT = 1.3
_OWN_SHARE = 0.5  # generations, and kernels of stacks, scatter half as widely around each other as around the prior
_OF_KERNELS = ("stretch", "prefill", "starts", "host_launch")  # frameworks call much the same kernels through PyTorch; what their servers and schedulers add is their own


@dataclass
class Minimum:
    unknowns: Any
    covariance: Any


def minimise(residuals: Callable[[Any], Any], jacobian: Callable[[Any, Any], Any], start: Any, weight: Any, most_steps: int = 200) -> Minimum:
    """Levenberg-Marquardt for sum w rho(r^2) + |u|^2, rho soft L1, as calibrate does it (include/fabricost/calibrate/least_squares.hpp)."""
    u, r = start, residuals(start)

    def cost_of(u: Any, r: Any) -> float:
        return float(u @ u + weight @ (2 * (np.sqrt(1 + r * r) - 1)))

    cost, damping, converged = cost_of(u, r), 1e-2, False
    for _ in range(most_steps):
        if converged:
            break
        j, w = jacobian(u, r), weight / np.sqrt(1 + r * r)
        normal = j.T @ (w[:, None] * j) + np.eye(len(u))
        gradient = j.T @ (w * r) + u
        for _ in range(12):
            there = u - np.linalg.solve(normal + damping * np.diag(np.diag(normal)), gradient)
            moved = residuals(there)
            new = cost_of(there, moved)
            if math.isfinite(new) and new < cost:
                converged = cost - new < 1e-6 * (1 + new)  # a millionth is far below the uncertainty of any constant
                u, r, cost, damping = there, moved, new, max(1e-9, damping / 4)
                break
            damping *= 4
        else:
            converged = True  # no step decreases the cost
    seen = weight > 0
    sizes = np.sort(np.abs(r[seen]))
    spread = 1.4826 * sizes[len(sizes) // 2] if len(sizes) else 0.0
    noise = (20 + seen.sum() * spread * spread) / (20 + seen.sum())  # few points do not determine it: one scale until there are about twenty
    j, w = jacobian(u, r), weight / np.sqrt(1 + r * r) / noise
    return Minimum(u, np.linalg.inv(j.T @ (w[:, None] * j) + np.eye(len(u))))


@dataclass
class Unknown:
    """log(constant / prior) over the spread of its prior, of the rows that have that constant in common."""

    column: int
    rows: Any  # True of those
    spread: float
    of: str = ""  # a generation, a framework, or the program or publisher whose factor it is; empty: of all
    held: bool = False  # at its prior


class Priced:
    """Rows as functions of unknowns."""

    def __init__(self, questions: Any, at: Any, per: Any, measured: Any, scale: float, base: Any, unknowns: list[Unknown]) -> None:
        self.questions, self.at, self.per, self.measured, self.scale, self.base, self.unknowns = questions, at, per, measured, scale, base, unknowns
        self.by_column: dict[int, list[int]] = {}
        for i, x in enumerate(unknowns):
            self.by_column.setdefault(x.column, []).append(i)

    def constant(self, column: int, u: Any, rows: Any) -> Any:
        out = self.base[rows, column]
        for i in self.by_column.get(column, ()):
            if not (x := self.unknowns[i]).held:
                its = x.rows[rows]
                out[its] = np.clip(out[its] * math.exp(x.spread * u[i]), CONSTANTS.least[column], CONSTANTS.most[column])
        return out

    def constants(self, u: Any, rows: Any) -> Any:
        out = self.base[rows]
        for column in self.by_column:
            out[:, column] = self.constant(column, u, rows)
        return out

    def ratios(self, constants: Any, rows: Any) -> Any:
        """Predicted over measured."""
        return self.questions.price(self.at[rows], constants) * self.per[rows] / self.measured[rows]

    def residuals(self, u: Any) -> Any:
        rows = np.arange(len(self.at))
        return np.log(self.ratios(self.constants(u, rows), rows)) / self.scale

    def jacobian(self, u: Any, here: Any) -> Any:
        step, out = 1e-3, np.zeros((len(self.at), len(u)))
        every = self.constants(u, np.arange(len(self.at)))
        for i, x in enumerate(self.unknowns):
            rows = np.flatnonzero(x.rows)
            if x.held or not len(rows):
                continue
            moved = u.copy()
            moved[i] += step
            constants = every[rows]
            constants[:, x.column] = self.constant(x.column, moved, rows)
            out[rows, i] = (np.log(self.ratios(constants, rows)) / self.scale - here[rows]) / step
        return out


def _starts(generations: list[str], most: dict[str, tuple[float, float]], hold: dict[str, float]) -> dict[str, Any]:
    """Priors of compute of each generation, with watts and peak of the GPU that most of its rows are of. They are a mean over generations, of GPUs that have the mean watts for a TFLOP/s: one with fewer starts as
    much lower as GPUs of one generation with fewer reach less."""
    out = {}
    known = [math.log(most[g][0]) for g in generations if most[g][0] > 0]
    for g in generations:
        row = out[g] = _core._compute_prior()
        watts, peak = most[g]
        row[AT["gemm_watts"]], row[AT["gemm_peak"]] = watts, peak if watts > 0 else 0
        if watts > 0 and len(known) > 1:
            more = (watts / math.exp(sum(known) / len(known))) ** row[AT["form.power"]]
            for key in ("gemm", "attention"):
                row[AT[key]] = min(1.0, row[AT[key]] * more)
            row[AT["elementwise"]] /= more
        for key, value in hold.items():
            row[AT[key]] = value
    return out


@cache
def _narrowed_to() -> float:
    """Of its prior's deviation: below, a constant is determined."""
    return float(data("policies/fits.yaml")["numbers"]["narrowed_to"]["value"])


def _unsaid(unknowns: list[Unknown], covariance: Any) -> list[int]:
    """Constants of compute on which the rows have no information, least known first: a constant may be known once another one is held."""
    information, left = np.linalg.inv(covariance), covariance.copy()
    out: list[int] = []
    of_compute = [i for i, x in enumerate(unknowns) if CONSTANTS.set[x.column] == "compute"]
    while True:
        open_ = [i for i in of_compute if i not in out and left[i, i] >= _narrowed_to() ** 2]
        if not open_:
            return out
        least = max(open_, key=lambda i: (left[i, i], i))
        out.append(least)
        information[least, :] = information[:, least] = 0
        information[least, least] = 1
        left = np.linalg.inv(information)


def _indistinct(unknowns: list[Unknown], found: Minimum) -> list[int]:
    """Constants of serving that differ from their prior, or from what all GPUs or frameworks have in common, by less than their standard error; the
    others follow each that is held."""
    u, left, out = found.unknowns.copy(), found.covariance.copy(), []
    open_ = [i for i, x in enumerate(unknowns) if CONSTANTS.set[x.column].startswith("serving")]
    while open_:
        least = min(open_, key=lambda i: u[i] ** 2 / left[i, i])
        if u[least] ** 2 >= left[least, least]:
            break
        out.append(least)
        open_.remove(least)
        along = left[:, least] / left[least, least]
        u, left = u - along * u[least], left - np.outer(along, left[least])
    return out


def _found(model: Priced, weight: Any) -> Minimum:
    """The least squares over the unknowns of which the rows say something; the others are held."""
    found = minimise(model.residuals, model.jacobian, np.zeros(len(model.unknowns)), weight)
    if held := _unsaid(model.unknowns, found.covariance) + _indistinct(model.unknowns, found):
        for i in held:
            model.unknowns[i].held, found.unknowns[i] = True, 0.0
        found = minimise(model.residuals, model.jacobian, found.unknowns, weight)
    return found


def _spread(sizes: Any, prior: float) -> float:
    """Nine of ten rows are within NINE_IN_TEN times this; with few rows that is uncertain, so the spread of unseen ones counts as five rows."""
    own, n = (np.quantile(sizes, 0.9) / NINE_IN_TEN if len(sizes) else 0.0), len(sizes)
    return math.sqrt((n * own * own + 5 * prior * prior) / (n + 5))


@dataclass
class Constant:
    """What kernels of a generation reach, as it was fitted: in SI units, with its standard error over the value. not determined: the data left it
    where it was."""

    value: float
    relative_error: float
    determined: bool
    shared: bool


@dataclass
class Generation:
    rows: int
    median_error: float
    mean_error: float
    systems: list[str]
    compute: list[float]
    constants: dict[str, Constant]


@dataclass
class Stack:
    """A software stack, or a publisher of kernels: the factor of its program, and what is left of its own rows."""

    name: str
    factor: str
    scale: float = 1.0
    relative_error: float = 0.0
    spread: float = _UNSEEN_SPREAD
    rows: int = 0
    generations: list[str] = field(default_factory=list)
    experts: bool = False
    fp4: bool = False


@dataclass
class Fit:
    """Constants fitted to training steps, kernels and serving runs. Errors are shares, of steps and kernels, or of serving runs where there are no others;
    save(folder) writes the constants as they lie in data/."""

    rows: int
    constants: int
    median_error: float
    mean_error: float
    generations: dict[str, Generation]
    stacks: list[Stack]
    skipped: dict[str, int]
    origin: str
    serving: Any = None  # constants of frameworks by stack and generation
    serving_gpus: dict[str, Any] = field(default_factory=dict)
    common: Any = None  # what all frameworks have in common
    unseen: dict[str, tuple[float, float]] = field(default_factory=dict)  # further spreads of TPOT and TTFT of what a framework was not fitted to

    @property
    def known(self) -> tuple[Any, Any]:
        """What steps are priced with."""
        return ({name: g.compute for name, g in self.generations.items()},
                [(s.name, s.factor, s.scale, s.spread, s.generations, s.experts, s.fp4) for s in self.stacks])

    def files(self) -> dict[str, str]:
        """calibrations/compute-GENERATION.yaml, workloads/stacks.yaml and serving.yaml, by their paths in data/."""
        out = {f"calibrations/compute-{name}.yaml": _core._compute_yaml(
            name, g.systems, g.compute, g.rows, 100 * g.median_error, 100 * g.mean_error,
            [(key, c.relative_error, c.determined, c.shared) for key, c in g.constants.items()], self.origin) for name, g in self.generations.items()}
        out |= self._of_unfitted()
        head = f'source: "{self.origin}"\nconfidence: measured\ndate: {datetime.date.today()}\n'
        if self.stacks:
            out["workloads/stacks.yaml"] = (
                f"name: stacks\ntitle: What published runs say of each software stack as a whole\n{head}notes: scale multiplies the times of kernels and launches; spread is "
                "the standard deviation, in log, of what is left; generations are those it was fitted on, experts is set where some of its rows are of models with experts\n"
                "stacks:\n" + "".join(
                    f"  {s.name}: {{{'' if s.factor == s.name else f'factor_of: {s.factor}, '}scale: {s.scale:.4g}, spread: {s.spread:.3g}, rows: {s.rows}, "
                    f"generations: [{', '.join(s.generations)}]{', experts: true' * s.experts}{', fp4: true' * s.fp4}}}\n" for s in sorted(self.stacks, key=lambda s: s.name)))
        if self.serving is not None:
            gpus = "".join(f"  {g}: {{{_cells('serving_gpu', row)}}}\n" for g, row in self.serving_gpus.items())
            stacks = ""
            for name, its in self.serving.sort_values("stack").groupby("stack"):
                stacks += f"  {name}:\n" + "".join(f"    {r.generation}: {{{_cells('serving_stack', r.constants)}, sequences: {r.sequences:.4g}, prompt: {r.prompt:.6g}, "
                                                   f"answer: {r.answer:.6g}, models: [{', '.join(r.models)}], gpus: [{', '.join(r.gpus)}]{', apart: true' * r.apart}, rows: {r.rows}}}\n" for r in its.sort_values("order").itertuples())
            out["workloads/serving.yaml"] = (f"name: serving\ntitle: What kernels of inference reach on each GPU generation, and what serving frameworks add\n{head}gpus:\n{gpus}"
                                             f"common: {{{_cells('serving_stack', self.common)}}}\nstacks:\n{stacks}unseen:\n"
                                             + "".join(f"  {of}: {{tpot: {tpot:.3g}, ttft: {ttft:.3g}}}\n" for of, (tpot, ttft) in self.unseen.items()))
        return out

    def _of_unfitted(self) -> dict[str, str]:
        """Calibrations of generations without rows here that state how far `gemm` is known and nothing of fp8, as their steps were all in fp8: that
        rate stays, and `gemm` follows by the ratio that all generations have in common."""
        shared = next((c.value for g in self.generations.values() for key, c in g.constants.items() if key == "gemm_fp8" and c.determined), None)
        if shared is None:
            return {}
        out = {}
        for name, spec in files("calibrations"):
            known = spec.get("deviations", {})
            if spec.get("kind") == "compute" and spec["generation"] not in self.generations and "gemm" in known and "gemm_fp8" not in known:
                text = (Path(_core._data_directory()) / "calibrations" / f"{name}.yaml").read_text()
                in_fp8 = spec["constants"]["gemm"] * spec["constants"]["gemm_fp8"]
                text = re.sub(r"(?m)^  gemm: .*$", f"  gemm: {in_fp8 / shared:.4g}", text, count=1)
                out[f"calibrations/{name}.yaml"] = re.sub(r"(?m)^  gemm_fp8: .*$", f"  gemm_fp8: {shared:.4g}", text, count=1)
        return out

    def save(self, folder: str | os.PathLike[str]) -> None:
        for name, text in self.files().items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def _cells(of: str, row: Any) -> str:
    def text(value: float, of_time: bool) -> str:
        if not of_time:
            return f"{value:.4g}"
        return f"{value:.4g} s" if value >= 1 else f"{1e3 * value:.4g} ms" if value >= 1e-3 else f"{1e6 * value:.4g} us"

    return ", ".join(f"{c.key}: {text(row[at], c.of_time)}" for at, c in zip(OF[of].index, OF[of].itertuples()))


def fit(steps: Any, kernels: Any, served: Any, questions: Any, leave_out: Sequence[str] = (), hold: dict[str, float] | None = None, factors: bool = True,
        every_group: bool = False, tables: Sequence[str] = ()) -> Fit:
    """`steps` as steps_of, `kernels` as kernels_of, `served` as runs_of makes them. every_group: also those that training-groups.yaml sets aside."""
    groups, hold, skipped = data("workloads/training-groups.yaml"), hold or {}, Counter[str]()

    def is_wanted(row: Any, known: Sequence[str] | None, aside: dict[str, str], whole: bool) -> bool:
        if why := (row.skipped or ("left out as asked" if row.group.startswith(tuple(leave_out)) else "") or ("" if whole else "not fully specified")
                   or ("" if every_group or known is None or row.group in known else next(
                       (reason for start, reason in aside.items() if row.group.startswith(start)), "group not known to be sound"))):
            skipped[why] += 1
        return not why

    rows: list[dict[str, Any]] = []
    for row in steps.itertuples():
        if is_wanted(row, groups["judged"] + groups["fitted"], groups["set_aside"], row.fully_specified):
            generation, watts, peak, stack, factor, experts, fp4 = questions.add_step(row.step)
            rows.append({"group": row.group, "measured": row.measured, "generation": generation, "watts": watts, "peak": peak, "stack": stack, "factor": factor, "step": True,
                         "experts": experts, "fp4": fp4, "system": row.system, "at": len(questions) - 1})
    for row in kernels.itertuples():
        if row.kind in ("all_reduce", "send_recv"):
            skipped[row.skipped or "a collective: fit it with the points of its machine"] += 1
        elif is_wanted(row, groups["kernels"], {}, True):
            generation, watts, peak = questions.add_kernel(row.kernel)
            rows.append({"group": row.group, "measured": row.measured, "generation": generation, "watts": watts, "peak": peak, "stack": row.group, "factor": row.group, "step": False,
                         "experts": False, "fp4": False, "system": row.system, "at": len(questions) - 1})
    jobs = pd.DataFrame(rows, columns=["group", "measured", "generation", "watts", "peak", "stack", "factor", "step", "experts", "fp4", "system", "at"])
    runs = served[np.array([is_wanted(row, None, {}, row.fully_specified) for row in served.itertuples()], bool)]
    if not len(jobs) and not len(runs):
        raise fc.RequestError("no row of the files can be fitted: fully specified steps, kernels of a known group, or serving runs are needed")
    return _fitted(jobs, runs, groups["unscaled"], questions, hold, factors, every_group, skipped, tables)


def _fitted(jobs: Any, runs: Any, unscaled: list[str], questions: Any, hold: dict[str, float], factors: bool, every_group: bool, skipped: Counter[str],
            tables: Sequence[str]) -> Fit:
    """Steps and kernels say what kernels reach, and serving runs, priced with that, what engines add: in runs the two cannot be told apart."""
    out = Fit(len(jobs) + len(runs), 0, math.nan, math.nan, {}, [], dict(skipped),
              f"fabricost calibrate, least squares on log(predicted/measured) of {len(jobs) + len(runs)} rows of {', '.join(os.path.basename(table) for table in tables)}")
    if len(jobs):
        _fit_kernels(out, jobs, unscaled, questions, hold, factors, every_group)
    if len(runs):
        _fit_serving(out, runs, questions)
    return out


def _fit_kernels(out: Fit, jobs: Any, unscaled: list[str], questions: Any, hold: dict[str, float], factors: bool, every_group: bool) -> None:
    n, generations, programs = len(jobs), list(dict.fromkeys(jobs.generation)), list(dict.fromkeys(jobs.factor))
    most = {g: min((-count, row) for row, count in its[["watts", "peak"]].value_counts().items())[1] for g, its in jobs.groupby("generation")}
    starts = _starts(generations, most, hold)
    of, factor = jobs.generation.to_numpy(), jobs.factor.to_numpy()
    compute = OF["compute"].index
    unknowns: list[Unknown] = []
    for at, c in zip(compute, OF["compute"].itertuples()):
        if c.fitted == "shared":
            unknowns.append(Unknown(at, np.ones(n, bool), c.spread, held=c.key in hold))
        elif c.fitted == "own":
            unknowns += [Unknown(at, of == g, c.spread, g, c.key in hold) for g in generations]
    # the factor of a generation's only program says as much of the generation
    scaled = jobs[jobs.step & ~jobs.factor.isin(unscaled)].groupby("generation").factor.unique()
    shares = {name for names in scaled for name in names if len(names) > 1}
    common = len(unknowns)
    unknowns.append(Unknown(AT["scale"], np.isin(factor, list(shares)), _STACKS_SPREAD, held=not factors))
    for name in programs:
        few = (jobs.factor == name).sum() < _FEWEST_OF_PROGRAM and not every_group
        unknowns.append(Unknown(AT["scale"], factor == name, _STACKS_SPREAD, name, not factors or few or name in unscaled))

    weight = np.sqrt(np.minimum(1.0, _MOST_OF_GROUP / jobs.group.map(jobs.group.value_counts()).to_numpy(float)))
    model = Priced(questions, jobs["at"].to_numpy(), np.ones(n), jobs.measured.to_numpy(float), _STEP_LOSS, np.array([starts[g] for g in of]), unknowns)
    found = _found(model, weight)
    every = np.arange(n)
    constants = model.constants(found.unknowns, every)
    ratio = model.ratios(constants, every)
    off = np.abs(ratio - 1)
    out.constants, out.median_error, out.mean_error = sum(not x.held for x in unknowns), float(np.median(off)), float(off.mean())
    for g in generations:
        mine = np.flatnonzero(of == g)
        fitted = {}
        for i, x in enumerate(unknowns[:common]):
            if not x.held and x.of in ("", g):
                narrowed = math.sqrt(found.covariance[i, i])
                fitted[CONSTANTS.key[x.column]] = Constant(float(constants[mine[0], x.column]), x.spread * narrowed, narrowed < _narrowed_to(), not x.of)
        out.generations[g] = Generation(len(mine), float(np.median(off[mine])), float(off[mine].mean()), sorted(set(jobs.system[mine])),
                                        constants[mine[0], compute].tolist(), fitted)
    out.stacks = _stacks_of(jobs, np.abs(np.log(ratio)), constants[:, AT["scale"]], unknowns, common, programs, shares, found, unscaled, factors, generations)


def _fit_serving(out: Fit, runs: Any, questions: Any) -> None:
    of, its_stack, compute = runs.generation.to_numpy(), runs["stack"].to_numpy(), OF["compute"].index
    base = np.array(list(runs.described))
    for g, its in out.generations.items():
        base[np.ix_(of == g, compute)] = its.compute
    all_runs, pairs = np.ones(len(runs), bool), list(dict.fromkeys(zip(its_stack, of)))
    unknowns: list[Unknown] = []
    for at, c in zip(OF["serving_gpu"].index, OF["serving_gpu"].itertuples()):
        if c.fitted != "held":  # the part common to all GPUs is learnt from all of them; a GPU with few measurements, or none, leans on it
            unknowns.append(Unknown(at, all_runs, c.spread))
            unknowns += [Unknown(at, of == g, _OWN_SHARE * c.spread, g) for g in dict.fromkeys(of) if c.fitted == "own"]
    for at, c in zip(OF["serving_stack"].index, OF["serving_stack"].itertuples()):
        if c.fitted != "held":
            kernels_alike = c.key in _OF_KERNELS
            if kernels_alike:
                unknowns.append(Unknown(at, all_runs, c.spread))
            unknowns += [Unknown(at, its_stack == name, (_OWN_SHARE if kernels_alike else 1) * c.spread, name) for name in dict.fromkeys(its_stack)]
            unknowns += [Unknown(at, (its_stack == name) & (of == g), _OWN_SHARE * c.spread, g) for name, g in pairs if c.fitted == "own"]

    in_group = runs.group.map(runs.group.value_counts()).to_numpy(float)
    weight = np.where(runs.figure == "ttft", _TTFT_WEIGHT, 1.0) * np.minimum(1.0, np.sqrt(_MOST_OF_GROUP / in_group))
    model = Priced(questions, runs["at"].to_numpy(), runs.per.to_numpy(), runs.measured.to_numpy(float), _SERVING_LOSS, base, unknowns)
    found = _found(model, weight)
    every = np.arange(len(runs))
    constants = model.constants(found.unknowns, every)
    out.constants += sum(not x.held for x in unknowns)
    ratio = model.ratios(constants, every)
    if math.isnan(out.median_error):
        out.median_error, out.mean_error = float(np.median(np.abs(ratio - 1))), float(np.abs(ratio - 1).mean())
    _add_serving(out, runs.assign(size=np.abs(np.log(ratio)), order=runs.generation.map(_core._generations().index)), constants)
    residuals = model.residuals(found.unknowns)
    out.unseen = _unseen(runs, found.unknowns, residuals, model.jacobian(found.unknowns, residuals), weight)
    out.common = np.array(_core._compute_prior())
    for i, x in enumerate(unknowns):
        if not x.of and not x.held and CONSTANTS.set[x.column] == "serving_stack":
            out.common[x.column] = np.clip(out.common[x.column] * math.exp(x.spread * found.unknowns[i]), CONSTANTS.least[x.column], CONSTANTS.most[x.column])


def _stacks_of(jobs: Any, size: Any, scale: Any, unknowns: list[Unknown], common: int, programs: list[str], shares: set[str], found: Minimum, unscaled: list[str],
               factors: bool, generations: list[str]) -> list[Stack]:
    cov, out = found.covariance, []
    if factors:  # what the factors of programs have in common: that of a program without steps
        out.append(Stack("unseen", "unseen", math.exp(_STACKS_SPREAD * found.unknowns[common]), _STACKS_SPREAD * math.sqrt(cov[common, common])))
    names = list(dict.fromkeys(jobs["stack"]))
    out += [Stack(name, name) for name in unscaled if name not in names]
    for name in names:
        its = np.flatnonzero(jobs["stack"] == name)
        first = jobs.iloc[its[-1]]
        i = common + 1 + programs.index(first.factor)
        variance = (0 if unknowns[i].held else cov[i, i]) + (cov[common, common] + 2 * cov[i, common] if first.factor in shares else 0)
        seen = set(jobs.generation.iloc[its])
        out.append(Stack(name, first.factor, float(scale[its[0]]), _STACKS_SPREAD * math.sqrt(variance), _spread(size[its], _UNSEEN_SPREAD), len(its),
                         [g for g in generations if g in seen], bool(jobs.experts.iloc[its].any()), bool(jobs.fp4.iloc[its].any())))
    return out


def _left_out(u: Any, r: Any, jacobian: Any, weight: Any, groups: Any) -> Any:
    """Residuals of each row by constants of which its group says nothing, to first order around those of all rows."""
    out, most_steps = r.copy(), 6
    for group in dict.fromkeys(groups):
        its, there = groups == group, u
        seen = np.where(its, 0, weight)
        for _ in range(most_steps):
            off = r + jacobian @ (there - u)
            w = seen / np.sqrt(1 + off * off)
            there = np.linalg.solve(jacobian.T @ (w[:, None] * jacobian) + np.eye(len(u)), jacobian.T @ (w * (jacobian @ u - r)))
        out[its] = (r + jacobian @ (there - u))[its]
    return out


def _unseen(runs: Any, u: Any, r: Any, jacobian: Any, weight: Any) -> dict[str, tuple[float, float]]:
    """Further spreads of TPOT and TTFT, in quadrature, with which nine in ten rows are inside where each model, GPU, generation of a framework, and what has
    prefill apart is left out. A row counts for a model, a GPU and prefill apart if its framework is still known on its generation, for a generation
    if it is known on another one; groups count as in the fit."""
    stack, on, ttft = runs["stack"].to_numpy(), runs.generation.to_numpy(), (runs.figure == "ttft").to_numpy()
    prior, sizes = _core._compute_prior(), np.abs(r) * _SERVING_LOSS
    groups = {"model": runs.served.to_numpy(), "gpu": runs.of_gpu.to_numpy(), "generation": (runs["stack"] + " " + runs.generation).to_numpy(), "apart": runs.apart.to_numpy()}
    out = {}
    for kind, group in groups.items():
        left = np.abs(_left_out(u, r, jacobian, weight, group)) * _SERVING_LOSS
        found = []
        for key, figure in (("spread_tpot", ~ttft), ("spread_ttft", ttft)):
            further, of = [], []
            for name, framework, g in dict.fromkeys(zip(group, stack, on)):
                others = figure & (stack == framework) & (group != name)
                known = [_spread(sizes[others & (on == one)], prior[AT[key]]) for one in dict.fromkeys(on[others])]
                here = others & (on == g)
                spread = _spread(sizes[here], prior[AT[key]]) if here.any() else math.exp(np.mean(np.log(known))) if known else prior[AT[key]]
                if {"generation": not here.any() and bool(known), "apart": here.any() and bool(name)}.get(kind, here.any()):
                    its = left[figure & (group == name) & (stack == framework) & (on == g)]
                    further += np.sqrt(np.maximum(0, (its / NINE_IN_TEN) ** 2 - spread**2)).tolist()
                    of += [name] * len(its)
            counts = Counter(of)
            order = np.argsort(further)
            share = np.cumsum([min(1.0, _MOST_OF_GROUP / counts[of[i]]) for i in order])
            found.append(further[order[np.searchsorted(share, 0.9 * share[-1])]] if len(order) else 0.0)
        out[kind] = (found[0], found[1])
    return out


def _add_serving(out: Fit, runs: Any, constants: Any) -> None:
    prior, found = _core._compute_prior(), []
    for (name, generation), its in runs.groupby(["stack", "generation"]):
        if not its.figure.isin(["ttft", "first_token"]).any():
            continue  # whole datasets alone say nothing of first tokens: the engine stays unknown there
        at = np.flatnonzero((runs["stack"] == name) & (runs.generation == generation))
        row = constants[at[0]].copy()
        for key, of in (("spread_tpot", its.figure != "ttft"), ("spread_ttft", its.figure == "ttft")):
            row[AT[key]] = _spread(its["size"][of].to_numpy(), prior[AT[key]])
        found.append({"stack": name, "generation": generation, "order": its.order.iloc[0], "constants": row, "rows": len(its),
                      "models": sorted(set(its.served)), "gpus": sorted(set(its.of_gpu)), "apart": bool(its.apart.any()),
                      **{load: its[load].max() for load in ("sequences", "prompt", "answer")}})
    out.serving = pd.DataFrame(found)
    known = runs[runs.generation.isin(out.serving.generation)].sort_values("order").generation.unique() if found else []
    out.serving_gpus = {g: constants[np.flatnonzero(runs.generation == g)[0]] for g in known}
