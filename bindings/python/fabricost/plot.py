"""Pictures of results: one function and one call each, `ax=` to draw into an existing figure; each returns the axes.

Needs matplotlib (pip install 'fabricost[plot]'), which is imported when a picture is drawn. Series are
distinguishable for colour-blind readers, and by markers, dashes or patterns in grey prints. docs/pictures.md shows
each. Machines side by side draw themselves: fc.compare(...).svg().

>>> import fabricost as fc, fabricost.plot
>>> axes = fc.plot.busbw(fc.load_system("dgx-h100"), fc.AllReduce())  # doctest: +SKIP
>>> axes.figure.savefig("busbw.png")  # doctest: +SKIP
"""

from ._plot.choices import goodput, layouts, pareto
from ._plot.curves import busbw, scaling
from ._plot.errors import residuals
from ._plot.explore import front, heat_map, parallel
from ._plot.machine import topology
from ._plot.need import need, runs
from ._plot.pipeline import pipeline
from ._plot.roofline import roofline
from ._plot.terms import terms

__all__ = ["busbw", "front", "goodput", "heat_map", "layouts", "need", "parallel", "pareto", "pipeline", "residuals", "roofline", "runs",
           "scaling", "terms", "topology"]

for _name in __all__:  # users see one module
    globals()[_name].__module__ = __name__
del _name


def __getattr__(name: str) -> object:
    if name in ("compare", "comparison"):
        raise AttributeError("fabricost.plot has no compare; a comparison draws itself: fabricost.compare(...).svg()")
    raise AttributeError(f"fabricost.plot has no {name}; its pictures: {', '.join(__all__)}")
