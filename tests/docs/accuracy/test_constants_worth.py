"""docs/constants-worth.md names the free constants of the priors, each once: one that is new or gone asks for the page again."""
import pathlib
import re

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML reads the priors")

ROOT = pathlib.Path(__file__).resolve().parents[3]
SECTIONS = {"NVLink": "scale-up", "PCIe": "pcie", "Between nodes": "transport"}


@pytest.mark.parametrize("heading, prior", SECTIONS.items())
def test_the_page_lists_the_free_constants(heading, prior):
    page = (ROOT / "docs/constants-worth.md").read_text()
    section = next(part for part in page.split("\n## ") if part.startswith(heading))
    named = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    constants = yaml.safe_load((ROOT / "data/priors" / f"{prior}.yaml").read_text())["constants"]
    free = [name for name, constant in constants.items() if constant["fit"] in ("own", "shared")]
    assert sorted(named) == sorted(free)
    worse = [float(number) for number in re.findall(r"\| ([+-][\d.]+) \|$", section, re.MULTILINE)]
    assert worse == sorted(worse, reverse=True) and len(worse) == len(free)
