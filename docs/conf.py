"""Sphinx settings of the site. docs/build.sh stages the pages and calls sphinx-build with this folder as its configuration."""
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
root = here.parent
sys.path.insert(0, str(here / "site"))

import docstrings  # noqa: E402  (docs/site)
import languages  # noqa: E402

project = "fabricost"
copyright = "the fabricost authors, Apache-2.0"
version = release = re.search(r"project\(fabricost VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text(encoding="utf-8"))[1]

extensions = ["myst_parser", "sphinx.ext.autodoc", "mathml"]  # docs/site/mathml.py
html_math_renderer = "mathml"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 4  # as GitHub makes them, so that one link serves both
myst_enable_extensions = ["colon_fence", "dollarmath"]  # formulas between $ and $$, as GitHub shows them
highlight_language = "none"  # most blocks are what a command prints; docs/site/languages.py finds the others

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures stand in the docstrings
add_module_names = False
nitpicky = True
smartquotes = False  # "nccl" is typed as it stands

html_theme = "furo"
html_title = f"fabricost {version}"
html_static_path = [str(here / "site/static")]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_copy_source = False
html_show_sphinx = False
templates_path = []

linkcheck_timeout = 10
linkcheck_anchors = False


def setup(app):
    docstrings.connect(app)
    languages.connect(app)
