"""Formulas as MathML, which browsers draw by themselves (MathML Core: Firefox, Safari, Chromium from 109 on): no script, and nothing that
is loaded from elsewhere.
"""
from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def _inline(writer, node):
    writer.body.append(convert(node.astext()))
    raise SkipNode


def _block(writer, node):
    writer.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>\n')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True}
