"""The pictures that tests draw, what goes into them, and the pinned looks they are drawn with."""
import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

import fabricost as fc  # noqa: E402
from fabricost import plot  # noqa: E402


@pytest.fixture(autouse=True)
def clean_style():
    """Pinned looks: matplotlib's defaults and the font that comes with it."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.use("Agg")
        matplotlib.rcParams["font.family"] = "DejaVu Sans"
        yield
    plt.close("all")


def h100():
    return fc.load_system("dgx-h100")


def scattered():
    """A table as validate makes one, of noise that is the same every time."""
    noise = np.random.default_rng(7)
    out = np.zeros(
        90, dtype=[("operation", "U16"), ("system", "U16"), ("bytes", "f8"), ("measured_seconds", "f8"), ("predicted_seconds", "f8")]
    )
    out["operation"] = np.repeat(["all_gather", "all_reduce", "all_to_all"], 30)
    out["system"] = "dgx-h100"
    out["bytes"] = np.tile(2.0 ** np.arange(4, 34), 3)
    out["measured_seconds"] = 1e-5 + out["bytes"] / 3e11
    out["predicted_seconds"] = out["measured_seconds"] * 2 ** noise.normal(0, 0.12, 90)
    out["predicted_seconds"][40] *= 9
    return out


def measured():
    sizes = 2.0 ** np.arange(12, 33)
    return sizes, fc.predict(h100(), fc.AllReduce(sizes)).seconds * np.random.default_rng(3).uniform(0.93, 1.08, sizes.size)


def schedule(name, exchange=0.0):
    return fc.pipeline(
        schedule=name,
        stages=4,
        microbatches=8,
        forward_seconds=18.5e-3,
        backward_seconds=18e-3,
        weight_seconds=9.3e-3,
        exchange_seconds=exchange,
    )


def fitted():
    """The scattered points after a fit that more than halves their errors."""
    out = scattered()
    out["predicted_seconds"] = out["measured_seconds"] * (out["predicted_seconds"] / out["measured_seconds"]) ** 0.4
    return out


def explored():
    vary = {"nic_bandwidth": [25e9, 50e9, 100e9], "domain": [8, 16, 32]}
    return fc.explore("dgx-h100", "llama3-8b", gpus=64, global_batch=128, vary=vary, objectives=["step", "nic.bandwidth"])


def two(first, second):
    """Two curves on one axes."""
    return second(first())


PICTURES = {
    "busbw": lambda: plot.busbw(h100(), fc.AllReduce(), measured=measured()),
    "busbw-4-nodes": lambda: plot.busbw(h100(), fc.AllReduce(nodes=4)),
    "busbw-two-machines": lambda: two(
        lambda: plot.busbw(h100(), fc.AllReduce()), lambda ax: plot.busbw(fc.load_system("dgx-b200"), fc.AllReduce(), ax=ax)
    ),
    "busbw-time": lambda: two(
        lambda: plot.busbw(h100(), fc.AllReduce(nodes=4), show="time"),
        lambda ax: plot.busbw(h100(), fc.AllReduce(nodes=4), algorithm="ring", label="ring forced", color="black", ax=ax),
    ),
    "terms-by-size": lambda: plot.terms(h100(), fc.AllReduce(nodes=4)),
    "terms-by-nodes": lambda: plot.terms(h100(), fc.AllReduce(64 * fc.MiB), "nodes"),
    "roofline": lambda: plot.roofline(h100(), points={"decode, one sequence": 2, "prompt": 700}),
    "roofline-two-machines": lambda: two(
        lambda: plot.roofline(h100(), tiers=["hbm", "nvlink"], label="H100"),
        lambda ax: plot.roofline(fc.load_system("dgx-b200"), tiers=["hbm", "nvlink"], label="B200", ax=ax),
    ),
    "roofline-messages": lambda: plot.roofline(h100(), show="algbw"),
    "roofline-all-reduce": lambda: plot.roofline(h100(), fc.AllReduce(nodes=4)),
    "scaling": lambda: plot.scaling(h100(), fc.AllReduce(64 * fc.MiB)),
    "scaling-two-machines": lambda: two(
        lambda: plot.scaling(h100(), fc.AllReduce(64 * fc.MiB)),
        lambda ax: plot.scaling(fc.load_system("gb200-nvl72"), fc.AllReduce(64 * fc.MiB), ax=ax),
    ),
    "scaling-relative": lambda: plot.scaling(h100(), fc.AllReduce(fc.GiB), "nodes", show="relative"),
    "layouts": lambda: plot.layouts("dgx-h100", "llama3-70b", gpus=64, global_batch=256, recompute="none", zero=1, cp=1),
    "pareto-training": lambda: plot.pareto(fc.plan("dgx-h100", "llama3-8b", gpus=16, global_batch=64)),
    "pareto-serving": lambda: plot.pareto(fc.plan_serve("dgx-h100", "llama3-70b", gpus=8)),
    "pareto-two-machines": lambda: two(
        lambda: plot.pareto(fc.plan_serve("dgx-h100", "llama3-70b", gpus=8)),
        lambda ax: plot.pareto(fc.plan_serve("dgx-b200", "llama3-70b", gpus=8), ax=ax),
    ),
    "front": lambda: plot.front(explored()),
    "heat-map": lambda: plot.heat_map(explored()),
    "parallel": lambda: plot.parallel(explored()),
    "pipeline-1f1b": lambda: plot.pipeline(schedule("1f1b")),
    "pipeline-zb-h1": lambda: plot.pipeline(schedule("zb_h1", 3e-3)),
    "pipeline-dualpipe": lambda: plot.pipeline(schedule("dualpipe")),
    "topology": lambda: plot.topology(fc.load_system("superpod-h100")),
    "topology-nvl72": lambda: plot.topology(fc.load_system("gb200-nvl72")),
    "residuals": lambda: plot.residuals(scattered()),
    "need-nic": lambda: plot.need(
        fc.need("dgx-h100", "llama3-405b", "nic.bandwidth", gpus=4096, global_batch=2048, sequence=8192, tp=8, pp=16, cp=1, within="3%")),
    "need-batch": lambda: plot.need(fc.need("dgx-h100", "llama3-405b", "batch", gpus=4096, sequence=8192, tp=8, pp=16, cp=1, mfu=0.4)),
    "need-machine": lambda: plot.need(fc.need_machine(
        ("dgx-h100", "dgx-b200", "gb200-nvl72"), "llama3-70b", gpus=1024, global_batch=1024, tp=4, pp=4, cp=1, tokens=1e12, in_seconds=60 * 86400, by="soonest")),
    "project": lambda: plot.runs(fc.project(
        ("dgx-h100", "dgx-b200", "gb200-nvl72"), "llama3-8b", global_batch=512, sequence=8192, tp=2, pp=1, cp=1, tokens=1e12, in_seconds=60 * 86400)),
    "residuals-two-fits": lambda: two(
        lambda: plot.residuals(scattered(), label="before the fit"), lambda ax: plot.residuals(fitted(), label="after it", ax=ax)
    ),
    "goodput": lambda: plot.goodput(checkpoint_seconds=30, restart_seconds=600),
}
