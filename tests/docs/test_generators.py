#!/usr/bin/env python3
"""Tests of the generators of the site: docstrings, groups of names, links, headers, and the checks, which must be able to fail."""
import importlib.util
import json
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs/site"), str(ROOT / "tests/docs")]

import check_site  # noqa: E402
import cpp_declarations  # noqa: E402
import docstrings  # noqa: E402
import fields  # noqa: E402
import languages  # noqa: E402
import notebooks  # noqa: E402
import pages  # noqa: E402
import reference_cpp  # noqa: E402
import reference_python  # noqa: E402
import stage  # noqa: E402

runner = notebooks.runner()


class Docstrings(unittest.TestCase):
    def converted(self, text):
        return "\n".join(docstrings.restructured(text.splitlines()))

    def test_nothing_in_prose_is_markup(self):
        self.assertIn(r"a \*b\* \_c\_ \|d\|", self.converted("a *b* _c_ |d|"))

    def test_code_becomes_code_however_it_is_quoted(self):
        for text in ("see `x[0]` here", "see ``x[0]`` here"):
            self.assertIn("see ``x[0]`` here", self.converted(text))

    def test_code_in_the_middle_of_a_word_still_ends(self):
        self.assertIn(r"(\ ``a``\ )", self.converted("(`a`)"))

    def test_arguments_become_a_list(self):
        made = self.converted("ranks: GPUs;\n  all of them\nnodes, domain: more")
        self.assertIn("* ``ranks``: GPUs;\n  all of them", made)
        self.assertIn("* ``nodes``, ``domain``: more", made)

    def test_a_sentence_with_a_colon_is_no_argument(self):
        self.assertEqual(self.converted("Columns: seconds,\nand error"), "Columns: seconds, and error\n\n")

    def test_prose_before_arguments_is_parted_from_them(self):
        self.assertIn("Two things.\n\n* ``a``: one", self.converted("Two things.\na: one"))

    def test_formulas_and_examples_stay_as_they_are(self):
        self.assertIn("    t = a*b + c_d", self.converted("The time:\n\n  t = a*b + c_d"))
        self.assertIn(">>> 2*3\n6", self.converted("Text.\n\n>>> 2*3\n6"))
        self.assertIn("::\n\n      t = a", self.converted("The time:\n  t = a"))

    def test_a_docstring_in_any_shape_is_valid(self):
        if importlib.util.find_spec("docutils") is None:
            self.skipTest("docutils is not installed")
        from docutils.core import publish_doctree
        shapes = ["unbalanced `quote and *star", "a: b\n  c\nd e f", "x\n  y\nz", "- one\n- two `a`\n  more", ">>> 1\n1\n\nafter",
                  "name_: trailing_ and http://a_b", "`a``b`", "\\", "``", "**kwargs: passed on", "  indented first\nthen not", "*args",
                  "Returns:\n    a thing", "=====\nrule", "1. one\n2. two", ".. directive:: no", "a::\n\nb", "|"]
        for shape in shapes:
            publish_doctree(self.converted(shape), settings_overrides={"halt_level": 2, "report_level": 2})


class Languages(unittest.TestCase):
    def test_a_block_says_what_it_is_written_in(self):
        for text, language in (("$ fabricost systems\nname  gpus", "console"), (">>> 1 + 1\n2", "pycon"),
                               ("import fabricost as fc\nfc.MiB", "python"), ("plot.busbw(system, fc.AllReduce())", "python"),
                               ("const System s = load_system(\"a\");", "cpp"), ("find_package(fabricost REQUIRED)", "cmake"),
                               ("name: h100\nmemory: {value: 80 GB}", "yaml"), ("fabricost diagnose my.log  # why", "bash"),
                               ("./quickstart", "bash"), ("schedule   what moves    no hardware", "none"),
                               ("source,system,nodes", "none"), ("", "none")):
            self.assertEqual(languages.of(text), language, text)


class Groups(unittest.TestCase):
    def test_every_name_is_in_one_group(self):
        names = ["predict", "Prediction", "Error", "B", "newest_thing", "plan", "ServePlans", "read_nccl_log", "__version__"]
        shown = [name for *_, mine in reference_python.grouped(names) for name in mine]
        self.assertEqual(sorted(shown), sorted(names))

    def test_an_unknown_name_falls_into_other_and_a_known_one_does_not(self):
        groups = {title: mine for title, _, _, mine in reference_python.grouped(["predict", "newest_thing"])}
        self.assertEqual(groups["Other"], ["newest_thing"])
        self.assertNotIn("Other", {title for title, *_ in reference_python.grouped(["predict"])})

    def test_a_name_given_in_full_wins_over_a_beginning(self):
        groups = {title: mine for title, _, _, mine in reference_python.grouped(["predict_moe", "MoeDispatch", "MoeTerm"])}
        self.assertEqual(groups["Questions"], ["MoeDispatch"])
        self.assertEqual(sorted(groups["Predictions"]), ["MoeTerm", "predict_moe"])

    def test_no_name_is_listed_twice(self):
        listed = [name for *_, wanted in reference_python.GROUPS for name in wanted]
        self.assertEqual(sorted(listed), sorted(set(listed)))

    @unittest.skipIf(importlib.util.find_spec("fabricost") is None, "the package is not built here")
    def test_the_package_is_covered(self):
        import fabricost
        made = "\n".join(reference_python.pages(fabricost).values())
        for name in fabricost.__all__:
            self.assertRegex(made, rf"(?m)^\.\. (auto(class|function|module):: fabricost\.{name}|py:data:: {name})$")


class Links(unittest.TestCase):
    def test_pages_of_the_site_link_to_each_other(self):
        self.assertEqual(stage.relinked("[a](../accuracy.md#x)", "how-to/p.md", "docs/how-to"), "[a](../accuracy.md#x)")
        self.assertEqual(stage.relinked("[c](../../CONTRIBUTING.md#y)", "how-to/p.md", "docs/how-to"), "[c](../contributing.md#y)")
        self.assertEqual(stage.relinked("[d](docs/models.md)", "contributing.md", "."), "[d](models.md)")

    def test_sources_lead_to_the_page_that_shows_them(self):
        self.assertEqual(stage.relinked("[h](../../include/fabricost/price/ring.hpp)", "model/p.md", "docs/model"),
                         "[h](../reference/cpp/price.md#ringhpp)")
        self.assertEqual(stage.relinked("[h](../include/fabricost/plan/answers/design/need.hpp)", "p.md", "docs"),
                         "[h](reference/cpp/plan-answers.md#needhpp)")
        self.assertEqual(stage.relinked("[e](../examples/predict_one.cpp)", "p.md", "docs"), "[e](reference/examples.md#predict_onecpp)")

    def test_what_the_site_does_not_show_is_text(self):
        self.assertEqual(stage.relinked("[x](../CMakeLists.txt)", "p.md", "docs"), "x")

    def test_a_link_to_nothing_is_a_fault(self):
        with self.assertRaises(SystemExit):
            stage.relinked("[x](nothing.txt)", "p.md", "docs")

    def test_code_holds_no_links(self):
        for text in ("`[](Bytes n)`", "    [a](b)", "```\n[a](b)\n```"):
            self.assertEqual(stage.relinked(text, "p.md", "docs"), text)


class Headers(unittest.TestCase):
    def test_every_header_has_a_page_and_says_what_it_is(self):
        made = "\n".join(reference_cpp.pages(ROOT).values())
        for header in (one for one in (ROOT / "include/fabricost").rglob("*.hpp") if not one.name.endswith("-inl.hpp")):
            self.assertIn(f"#include <fabricost/{header.relative_to(ROOT / 'include/fabricost').as_posix()}>", made)
            self.assertTrue(reference_cpp.file_comment(header.read_text(encoding="utf-8")), f"{header}: no \\file comment")

    def declared(self, text):
        return [(one.kind, one.name, one.text) for one in cpp_declarations.declared(text)]

    def test_declarations_are_those_for_users(self):
        text = "/// Twice x.\n[[nodiscard]] inline double twice(double x) { return 2 * x; }\n" \
               "namespace detail {\n/// Hidden.\nint hidden();\n}  // namespace detail\nstruct Later;\n"
        self.assertEqual(self.declared(text), [("function", "twice", "[[nodiscard]] inline double twice(double x)")])
        self.assertEqual(cpp_declarations.declared(text)[0].comment, ["Twice x."])

    def test_a_type_has_its_public_members_and_no_bodies(self):
        text = "class A {\n public:\n  /// Sum.\n  int sum() const { return a_ + 1; }\n  explicit A(int a) : a_{a} {}\n\n" \
               " private:\n  int a_ = 0;\n};\n" \
               "struct B {\n  double x = 0;  ///< byte\n  A a{};\n  friend bool operator==(B, B) = default;\n};\n"
        made = self.declared(text)
        self.assertEqual([one[:2] for one in made], [("class", "A"), ("struct", "B")])
        self.assertEqual(made[0][2], "class A {\n public:\n  /// Sum.\n  int sum() const;\n  explicit A(int a);\n}")
        self.assertEqual(made[1][2], "struct B {\n  double x = 0;  ///< byte\n  A a{};\n  friend bool operator==(B, B) = default;\n}")

    def test_what_looks_like_another_thing_is_read_right(self):
        for text, kind, name in (
                ("template <class T>\n  requires(sizeof(T) > 1)\nint f(T t, int x = g(1)) { return 1; }", "function", "f"),
                ("inline constexpr std::array<int, 2> both{1, 2};  ///< two", "value", "both"),
                ("inline constexpr auto three = [](auto a) { return a; }(3);", "value", "three"),
                ("enum class Kind : unsigned char { a, b };", "enum", "Kind"),
                ("using Words = std::vector<std::string>;", "alias", "Words"),
                ("template <class T>\nconcept Sized = requires(T t) { t.size(); };", "concept", "Sized"),
                ("bool operator<(A a, A b) { return a.x < b.x; }", "function", "operator<"),
                ("const char* word(int n = 1'000) { return n > 1 ? \"}{\" : \"\"; }  // }", "function", "word")):
            self.assertEqual([one[:2] for one in self.declared(text)], [(kind, name)], text)

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

    def test_the_page_of_fields_has_a_section_a_question_in_order(self):
        known = {f"{kind} {name}": f"| {kind} |\n" for name in "ba" for kind in ("asked of", "answer of")} | {"a file": "| column |\n"}
        made = fields.page(known)
        self.assertEqual(re.findall("(?m)^## (.)", made), ["b", "a"])
        self.assertIn("## a\n\n| asked of |\n\nThe answer:\n\n| answer of |\n", made)
        self.assertNotIn("column", made)

    def test_every_public_name_is_on_a_page(self):
        made = "\n".join(reference_cpp.pages(ROOT).values())
        for line in reference_cpp.names(ROOT).splitlines():
            for name in line.split(": ")[1].split():
                self.assertIn(name, made)


class Notebooks(unittest.TestCase):
    def faults(self, text, printed="", code=""):
        outputs = [{"output_type": "stream", "name": "stdout", "text": printed}]
        return runner.quoted_faults({"cells": [{"cell_type": "markdown", "source": text},
                                               {"cell_type": "code", "source": code, "outputs": outputs}]})

    def test_a_figure_of_the_text_is_one_that_a_cell_prints(self):
        self.assertEqual(self.faults("It takes 2.08 ms, not 1,234.5, as `x = 9.9` [says](page-7.7).", "2.081 ms and 1234.5"), [])
        self.assertEqual(self.faults("Half of 0.5 is 7.", code="half = 0.5"), [])
        self.assertIn("the text says 2.10", self.faults("It takes 2.10 ms.", "2.081 ms")[0])
        self.assertIn("the text says 2.10", self.faults("It takes 2.10 ms.", "2.1 ms")[0])

    def test_none_stores_outputs(self):
        for path in runner.notebooks().values():
            stored = json.loads(path.read_text(encoding="utf-8"))
            self.assertEqual([cell for cell in runner.code_cells(stored) if cell["outputs"] or cell["execution_count"]], [],
                             f"python examples/notebooks/run.py --clear {path.stem}")

    def test_a_notebook_becomes_a_page_with_what_it_prints(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "one.ipynb"
            outputs = [{"output_type": "stream", "name": "stdout", "text": ["2\n"]}, {"output_type": "display_data", "data": {"image/png": "QUJD"}}]
            path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": ["# One"]},
                                                  {"cell_type": "code", "source": ["1 + 1"], "outputs": outputs}]}), encoding="utf-8")
            drawn = {}
            made = notebooks.page(path, lambda name, picture: drawn.setdefault(name, picture) and f"images/{name}")
        self.assertEqual(made, "# One\n\n```python\n1 + 1\n```\n\n```text\n2\n```\n\n![output](images/one-1.png)\n")
        self.assertEqual(drawn, {"one-1.png": b"ABC"})


class Checks(unittest.TestCase):
    def site(self, **files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, text in files.items():
            (pathlib.Path(folder.name) / f"{name}.html").write_text(text, encoding="utf-8")
        return check_site.broken_links(pathlib.Path(folder.name).resolve())[0]

    def test_a_sound_site_has_no_faults(self):
        self.assertEqual(self.site(index='<a href="a.html#x">a</a>', a='<p id="x"><a href="#x">here</a><a href="https://b/c">far</a>'), [])

    def test_a_broken_link_an_anchor_and_a_lost_page_are_found(self):
        self.assertIn("no file", self.site(index='<a href="b.html">b</a>')[0])
        self.assertIn("no anchor", self.site(index='<a href="a.html#y">a</a>', a="")[0])
        self.assertIn("no page leads here", self.site(index="", a="")[0])

    def test_a_stale_output_is_found(self):
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            text = "    $ cat f.yaml\n    a: 1\n\n    $ fabricost says\n    old\n\nWords.\n"
            pages.lay_out(text, folder)
            self.assertEqual((folder / "f.yaml").read_text(), "a: 1\n")
            tool = folder / "tool"
            tool.write_text("#!/bin/sh\necho new\n")
            tool.chmod(0o755)
            now = pages.fresh(str(tool), text, folder)
            self.assertIn("    $ fabricost says\n    new\n\nWords.", now)
            self.assertIn("old", pages.first_difference(text, now))

    def test_examples_for_a_newer_package_are_not_run(self):
        with tempfile.TemporaryDirectory() as made:
            page = pathlib.Path(made) / "p.md"
            page.write_text("<!-- needs fabricost.nothing_of_this_name -->\n\n    >>> 1\n    2\n")
            self.assertIsNone(pages.python_faults(page, made))

    def test_a_message_is_shown_where_a_command_cannot_answer(self):
        with tempfile.TemporaryDirectory() as made:
            tool = pathlib.Path(made) / "tool"
            tool.write_text("#!/bin/sh\necho wrong >&2\nexit 2\n")
            tool.chmod(0o755)
            self.assertIn("    wrong\n", pages.fresh(str(tool), "    $ fabricost x\n\nWords.\n", pathlib.Path(made)))


if __name__ == "__main__":
    unittest.main()
