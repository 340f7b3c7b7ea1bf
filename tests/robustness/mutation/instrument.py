#!/usr/bin/env python3
"""Writes every mutant of some files into one copy of them, each behind a number that is chosen when the program runs.

    instrument.py SOURCE GENERATED OUTPUT FOLDER...     FOLDER: of SOURCE, as include/fabricost/price or src/observe/diagnose

GENERATED is where a configured build keeps the headers that are made of data.

A mutant is one operator changed: + and - swapped, * and /, a comparison turned round (and moved by one where the operands are whole
numbers), && and || swapped, == and !=, std::min and std::max, a minus sign or a ! dropped, += and -=, *= and /=. Where clang's syntax tree
has `a + b`, the copy reads `FABRICOST_ARITHMETIC(17, +, -)(a FABRICOST_COMMA b)` in effect: a call that does what it did unless mutant 17
is the one that lives. So one build holds all of them, and asking whether the tests notice one costs a run, not a build.

OUTPUT gets the files, include/mutants.hpp that they include, and `mutants.csv`: number, file, line, column, from, to, the line's text.
"""

import csv
import os
import subprocess
import sys

from clang import cindex
from clang.cindex import CursorKind, TypeKind

SWAPS = {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"], "&&": ["||"], "||": ["&&"], "==": ["!="], "!=": ["=="],
         "<": [">=", "<="], "<=": [">", "<"], ">": ["<=", ">="], ">=": ["<", ">"], "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="]}
NAMES = {"+": "plus", "-": "minus", "*": "times", "/": "over", "%": "modulo", "==": "equal", "!=": "unequal", "<": "less",
         "<=": "less_equal", ">": "greater", ">=": "greater_equal", "+=": "add", "-=": "subtract", "*=": "scale", "/=": "divide"}
LAZY = {"&&", "||"}
# static assertions, sizes in types, template arguments of names
COMPILED = {CursorKind.STATIC_ASSERT, CursorKind.TYPE_ALIAS_DECL, CursorKind.DECL_REF_EXPR, CursorKind.OVERLOADED_DECL_REF}
FLOATING = {TypeKind.FLOAT, TypeKind.DOUBLE, TypeKind.LONGDOUBLE}

HEADER = """#pragma once
// Which mutant lives: the environment's FABRICOST_MUTANT, read once; 0 none. FABRICOST_MUTANTS_REACHED names a file that gets the numbers
// of those a run came past. What the compiler evaluates is never mutated.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>
namespace fabricost_mutants {
struct Alive {
  int number = std::getenv("FABRICOST_MUTANT") ? std::atoi(std::getenv("FABRICOST_MUTANT")) : 0;
  const char* file = std::getenv("FABRICOST_MUTANTS_REACHED");
  std::vector<unsigned char> reached = std::vector<unsigned char>(file ? MOST + 1 : 0);
  ~Alive() {
    if (std::FILE* out = file ? std::fopen(file, "w") : nullptr) {
      for (int i = 1; i <= MOST; ++i)
        if (reached[static_cast<std::size_t>(i)]) std::fprintf(out, "%d\\n", i);
      std::fclose(out);
    }
  }
};
inline Alive alive;
template <int First, int Count = 1>
constexpr int living() {  // 0: as written; k: the k-th other form
  if (std::is_constant_evaluated()) return 0;
  if (!alive.reached.empty())
    for (int i = 0; i < Count; ++i) alive.reached[static_cast<std::size_t>(First + i)] = 1;
  const int k = alive.number - First;
  return k >= 0 && k < Count ? k + 1 : 0;
}
struct plus { template <class A, class B> constexpr auto operator()(A&& a, B&& b) const { return a + b; } };
struct minus { template <class A, class B> constexpr auto operator()(A&& a, B&& b) const { return a - b; } };
struct times { template <class A, class B> constexpr auto operator()(A&& a, B&& b) const { return a * b; } };
struct over { template <class A, class B> constexpr auto operator()(A&& a, B&& b) const { return a / b; } };
struct modulo { template <class A, class B> constexpr auto operator()(A&& a, B&& b) const { return a % b; } };
struct equal { template <class A, class B> constexpr bool operator()(A&& a, B&& b) const { return a == b; } };
struct unequal { template <class A, class B> constexpr bool operator()(A&& a, B&& b) const { return a != b; } };
struct less { template <class A, class B> constexpr bool operator()(A&& a, B&& b) const { return a < b; } };
struct less_equal { template <class A, class B> constexpr bool operator()(A&& a, B&& b) const { return a <= b; } };
struct greater { template <class A, class B> constexpr bool operator()(A&& a, B&& b) const { return a > b; } };
struct greater_equal { template <class A, class B> constexpr bool operator()(A&& a, B&& b) const { return a >= b; } };
struct add { template <class A, class B> constexpr A& operator()(A& a, B&& b) const { return a += b; } };
struct subtract { template <class A, class B> constexpr A& operator()(A& a, B&& b) const { return a -= b; } };
struct scale { template <class A, class B> constexpr A& operator()(A& a, B&& b) const { return a *= b; } };
struct divide { template <class A, class B> constexpr A& operator()(A& a, B&& b) const { return a /= b; } };
template <int First, class F, class G, class A, class B>
constexpr decltype(auto) binary(A&& a, B&& b) {
  if (living<First>() == 1)
    return static_cast<decltype(F{}(std::forward<A>(a), std::forward<B>(b)))>(G{}(std::forward<A>(a), std::forward<B>(b)));
  return F{}(std::forward<A>(a), std::forward<B>(b));
}
template <int First, class F, class G, class H, class A, class B>
constexpr decltype(auto) binary(A&& a, B&& b) {
  int k = living<First, 2>();  // not const: a const integer's initialiser counts as evaluated by the compiler
  return k == 1   ? G{}(std::forward<A>(a), std::forward<B>(b))
         : k == 2 ? H{}(std::forward<A>(a), std::forward<B>(b))
                  : F{}(std::forward<A>(a), std::forward<B>(b));
}
template <int First, class A, class B>
constexpr bool both(A&& a, B&& b) { return living<First>() == 1 ? a() || b() : a() && b(); }
template <int First, class A, class B>
constexpr bool either(A&& a, B&& b) { return living<First>() == 1 ? a() && b() : a() || b(); }
template <int First, class A>
constexpr auto negative(A a) { return living<First>() == 1 ? a : static_cast<A>(-a); }
template <int First, class A>
constexpr bool opposite(A&& a) { return living<First>() == 1 ? static_cast<bool>(a) : !static_cast<bool>(a); }
}  // namespace fabricost_mutants
"""


def clang_arguments(source, generated):
    resource = subprocess.run(["g++", "-print-file-name=include"], capture_output=True, text=True, check=True).stdout.strip()
    shown = subprocess.run(["g++", "-E", "-x", "c++", "-v", "/dev/null"], capture_output=True, text=True, check=True).stderr
    found = shown.split("search starts here:")[-1].split("End of search")[0].split("\n")
    system = [line.strip() for line in found if line.strip().startswith("/")]
    flags = ["-x", "c++", "-std=c++20", f"-I{source}/include", f"-I{generated}", "-isystem", "/usr/include/eigen3"]
    flags += [f"-I{source}/src"] + [f"-I{source}/src/{one}" for one in sorted(os.listdir(os.path.join(source, "src")))]
    for folder in [*system, resource]:
        flags += ["-isystem", folder]
    return flags


def own_text(cursor, text):
    return text[cursor.extent.start.offset:cursor.extent.end.offset]


def operator_between(left, right, text):
    """Offset and text of the operator that stands between two operands: no comment or parenthesis but those of the operands."""
    at, end = left.extent.end.offset, right.extent.start.offset
    if "<<" in text[at:end] or ">>" in text[at:end]:
        return None
    for size in (2, 1):
        for i in range(at, end - size + 1):
            if text[i:i + size] in SWAPS:
                return i, text[i:i + size]
    return None


class Mutator:
    def __init__(self, source, generated, output):
        self.source, self.output, self.count, self.rows = source, output, 0, []
        self.index = cindex.Index.create()
        self.flags = clang_arguments(source, generated)

    def file(self, name):
        path = os.path.join(self.source, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        raw = text.encode()
        assert len(raw) == len(text), f"{path}: not ASCII: offsets would be wrong"
        unit = self.index.parse(path, self.flags)
        faults = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        if faults:
            raise SystemExit(f"{path}: clang cannot read it: {faults[0]}")
        # (offset, order, text, bytes replaced): what opens later stands further in; what closes later stands further out
        self.edits, self.path, self.name, self.text = [], path, name.removeprefix("include/"), text
        self.walk(unit.cursor, False, 0)
        for offset, _, new, gone in sorted(self.edits, key=lambda e: (e[0], e[1]), reverse=True):
            text = text[:offset] + new + text[offset + gone:]
        first = "#pragma once\n" if "#pragma once\n" in text else ""
        text = text.replace(first, first + "#include <mutants.hpp>\n", 1)
        target = os.path.join(self.output, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)

    def walk(self, cursor, frozen, depth):
        chosen_by_compiler = cursor.kind == CursorKind.IF_STMT and own_text(cursor, self.text).startswith("if constexpr")
        condition = next(cursor.get_children(), None)
        for child in cursor.get_children():
            file = child.location.file
            if cursor.kind == CursorKind.TRANSLATION_UNIT and (file is None or os.path.realpath(file.name) != os.path.realpath(self.path)):
                continue
            still = frozen or child.kind in COMPILED or (chosen_by_compiler and child == condition)
            if child.kind in (CursorKind.VAR_DECL, CursorKind.FIELD_DECL, CursorKind.PARM_DECL, CursorKind.ENUM_CONSTANT_DECL):
                # compiled in, or a default that stands where no statement may
                outside = cursor.kind in (CursorKind.NAMESPACE, CursorKind.TRANSLATION_UNIT, CursorKind.STRUCT_DECL, CursorKind.CLASS_DECL)
                still = still or outside or child.kind != CursorKind.VAR_DECL or "constexpr" in own_text(child, self.text).split("=")[0]
            if not still:
                self.mutate(child, depth)
            self.walk(child, still, depth + 1)

    def number(self, cursor, offset, written, others):
        first = self.count + 1
        line = self.text.count("\n", 0, offset) + 1
        for other in others:
            self.count += 1
            start = self.text.rfind("\n", 0, offset) + 1
            end = self.text.find("\n", offset)
            self.rows.append([self.count, self.name, line, offset - start + 1, written, other, self.text[start:end].strip()])
        return first

    def around(self, cursor, opening, closing, depth):
        self.edits.append((cursor.extent.start.offset, depth, opening, 0))
        self.edits.append((cursor.extent.end.offset, -depth - 100000, closing, 0))

    def mutate(self, cursor, depth):
        children = list(cursor.get_children())
        if cursor.kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR) and len(children) == 2:
            self.binary(cursor, children, depth)
        elif cursor.kind == CursorKind.UNARY_OPERATOR and len(children) == 1:
            sign = self.text[cursor.extent.start.offset]
            operand = self.text[children[0].extent.start.offset:children[0].extent.end.offset]
            counts_down = self.text[cursor.extent.start.offset:].startswith("--")
            rewritten = self.text[cursor.extent.start.offset:].startswith("!=")  # C++20 makes a != b of !(a == b)
            if sign in "-!" and not counts_down and not rewritten and not operand[:1].isdigit():
                first = self.number(cursor, cursor.extent.start.offset, sign, ["" if sign == "-" else "(dropped)"])
                name = "negative" if sign == "-" else "opposite"
                self.edits.append((cursor.extent.start.offset, depth, f"::fabricost_mutants::{name}<{first}>(", 1))
                self.edits.append((cursor.extent.end.offset, -depth - 100000, ")", 0))
        elif cursor.kind == CursorKind.CALL_EXPR and cursor.spelling in ("min", "max") and children:
            callee = own_text(children[0], self.text)
            if callee in ("std::min", "std::max") and "{" != self.text[children[0].extent.end.offset + 1:][:1]:
                other = "std::max" if callee == "std::min" else "std::min"
                start = children[0].extent.start.offset
                first = self.number(cursor, start, callee, [other])
                choose = "[](const auto& a_, const auto& b_) { return ::fabricost_mutants::living<%d>() == 1 ? %s(a_, b_) : %s(a_, b_); }"
                self.edits.append((start, depth + 50000, "(" + choose % (first, other, callee) + ")", len(callee)))

    def binary(self, cursor, children, depth):
        left, right = children
        if left.extent.end.offset > right.extent.start.offset:
            return
        found = operator_between(left, right, self.text)
        if found is None:
            return
        offset, written = found
        if self.text[offset - 1] in ".>":  # a pointer to a member
            return
        others = SWAPS[written]
        floating = any(c.type.get_canonical().kind in FLOATING for c in children)
        if len(others) == 2 and (floating or left.type.get_canonical().kind in (TypeKind.DEPENDENT, TypeKind.UNEXPOSED)):
            others = others[:1]  # of two doubles, < and <= differ where they are equal: no test can be asked to find that
        if written in ("+", "-") and left.type.get_canonical().kind in (TypeKind.POINTER, TypeKind.RECORD):
            return
        first = self.number(cursor, offset, written, others)
        if written in LAZY:
            name = "both" if written == "&&" else "either"
            self.around(cursor, f"::fabricost_mutants::{name}<{first}>([&] {{ return static_cast<bool>(", "); })", depth)
            self.edits.append((offset, 0, "); }, [&] { return static_cast<bool>(", 2))
            return
        forms = ", ".join(f"::fabricost_mutants::{NAMES[o]}" for o in [written, *others])
        self.around(cursor, f"::fabricost_mutants::binary<{first}, {forms}>(", ")", depth)
        self.edits.append((offset, 0, ",", len(written)))


def main():
    source, generated, output, *folders = sys.argv[1:]
    mutator = Mutator(os.path.abspath(source), os.path.abspath(generated), os.path.abspath(output))
    for folder in folders:
        for name in sorted(os.listdir(os.path.join(source, folder))):
            if name.endswith((".hpp", ".cpp")):
                mutator.file(f"{folder}/{name}")
    with open(os.path.join(output, "include", "mutants.hpp"), "w", encoding="utf-8") as file:
        file.write(HEADER.replace("MOST", str(mutator.count)))
    with open(os.path.join(output, "mutants.csv"), "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["number", "file", "line", "column", "from", "to", "text"])
        rows.writerows(mutator.rows)
    print(f"{mutator.count} mutants of {', '.join(folders)} in {output}")


if __name__ == "__main__":
    main()
