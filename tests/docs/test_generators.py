#!/usr/bin/env python3
"""Every public name, header and question has its place on the site."""
import importlib.util
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs/site"), str(ROOT / "tests/docs")]

import languages  # noqa: E402
import reference_cpp  # noqa: E402
import reference_python  # noqa: E402


class Groups(unittest.TestCase):
    @unittest.skipIf(importlib.util.find_spec("fabricost") is None, "the package is not built here")
    def test_the_package_is_covered(self):
        import fabricost
        made = "\n".join(reference_python.pages(fabricost).values())
        for name in fabricost.__all__:
            self.assertRegex(made, rf"(?m)^\.\. (auto(class|function|module):: fabricost\.{name}|py:data:: {name})$")


class Headers(unittest.TestCase):
    def test_every_header_has_a_page_and_says_what_it_is(self):
        made = "\n".join(reference_cpp.pages(ROOT).values())
        for header in (one for one in (ROOT / "include/fabricost").rglob("*.hpp") if not one.name.endswith("-inl.hpp")):
            self.assertIn(f"#include <fabricost/{header.relative_to(ROOT / 'include/fabricost').as_posix()}>", made)
            self.assertTrue(reference_cpp.file_comment(header.read_text(encoding="utf-8")), f"{header}: no comment opens it")

    def test_programs_on_the_page_for_authors_of_tools_are_compiled(self):
        page = (ROOT / "docs/how-to/cpp-tool.md").read_text(encoding="utf-8")
        compiled = "".join(path.read_text(encoding="utf-8")
                           for path in [*(ROOT / "examples").glob("*.cpp"), ROOT / "tests/unit/explain/test_print.cpp"])
        blocks = [block for block in re.findall(r"(?m)(?:^ {4}.*\n)+", page) if languages.of(re.sub(r"(?m)^ {4}", "", block)) == "cpp"]
        self.assertGreater(len(blocks), 1)
        for line in "".join(blocks).splitlines():
            if "std::cout" not in line:  # tests of what it prints write to a string
                self.assertIn(line.strip(), compiled)

    def test_what_is_public_is_listed(self):
        listed = (ROOT / "docs/reference/cpp-names.txt").read_text(encoding="utf-8").splitlines()
        there = reference_cpp.names(ROOT).splitlines()
        for line in sorted({*listed} ^ {*there}):
            print("listed, but not there:" if line in listed else "not listed:", line[:200])
        self.assertTrue(listed == there, "public names have changed: python3 docs/site/reference_cpp.py --write")

    def test_core_has_a_surface_one_can_keep(self):
        core = [line.split(": ")[1].split() for line in reference_cpp.names(ROOT).splitlines()
                if not line.startswith(("plan/", "observe/", "probes/"))]
        names = [name for line in core for name in line]
        self.assertGreater(len(names), 100)
        self.assertLessEqual(len(names), 250, "public names of core: leave out what a caller never writes")
        for word in ("answer", "of", "read", "name", "value"):
            self.assertNotIn(word, names, "a word that means nothing by itself")

    def test_every_question_has_its_tables_of_fields(self):
        declared = {}
        for header in sorted((ROOT / "include/fabricost").rglob("*.hpp")):
            for request in re.findall(r"(?m)^\[\[nodiscard\]\] \w+ answer\(const (\w+Request)& ", header.read_text(encoding="utf-8")):
                declared[request] = header.relative_to(ROOT / "include")
        printed = set(re.findall(r"print_question<(\w+)>", (ROOT / "docs/site/fields.cpp").read_text(encoding="utf-8")))
        self.assertGreater(len(declared), 30)
        shown_as = {"ExplainRequest": "PredictRequest", "CalibrateRequest": "CalibrateFilesRequest",
                    "ValidateRequest": "ValidateFilesRequest"}
        missing = [f'print_question<{request}>("COMMAND");  // and include <{header}>' for request, header in declared.items()
                   if shown_as.get(request, request) not in printed]
        self.assertEqual(missing, [], "main of docs/site/fields.cpp lacks these lines")

    def test_every_public_name_is_on_a_page(self):
        made = "\n".join(reference_cpp.pages(ROOT).values())
        for line in reference_cpp.names(ROOT).splitlines():
            for name in line.split(": ")[1].split():
                self.assertIn(name, made)


if __name__ == "__main__":
    unittest.main()
