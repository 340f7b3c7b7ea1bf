"""Compiles one snippet at a time against a precompiled prelude, without producing code."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

PRELUDE = """\
#include <fabricost/units.hpp>
#include <boost/units/base_units/metric/hour.hpp>
#include <boost/units/systems/information.hpp>
#include <boost/units/systems/si.hpp>
#include <algorithm>
#include <cmath>
#include <vector>
using namespace fabricost;
using namespace fabricost::units;
using namespace fabricost::literals;
using boost::units::quantity;
namespace si = boost::units::si;
using BoostByte = boost::units::information::byte_base_unit::unit_type;
using BoostBit = boost::units::information::bit_base_unit::unit_type;
using BoostBytePerSecond = boost::units::divide_typeof_helper<BoostByte, si::time>::type;
using BoostHour = boost::units::metric::hour_base_unit::unit_type;
template <class T> void use(const T&) {}
"""
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
NAMES = {"gcc": "g++", "clang": "clang++"}
# A C++20 header needs g++ 10 or clang++ 10 at least; the plain name comes first because a user means that one.
CANDIDATES = {family: [name, *(f"{name}-{n}" for n in range(24, 9, -1))] for family, name in NAMES.items()}
# These say that a name or a bracket is wrong, not that a quantity is misused: such a BAD line proves nothing.
MISSPELT = re.compile(
    r"was not declared|undeclared identifier|does not name a type|unknown type name|is not a member of"
    r"|has no member named|no member named|unable to find .* literal operator|no matching literal operator"
    r"|^expected|redeclaration|redefinition|^stray|No such file|file not found"
)


class Unavailable(Exception):
    """Why the compiler cannot be used here."""


@dataclasses.dataclass
class Result:
    ok: bool
    message: str  # the first error, shortened; empty when ok
    lines: int = 0  # of the longest error with its notes


class Compiler:
    def __init__(self, family: str, path: str | None, include: pathlib.Path, isystem: list[str], work: pathlib.Path):
        self.family = family
        self.path = find(family, path)
        # Naming /usr/include again would reorder the search path and break #include_next in the standard library.
        system = [flag for d in isystem if os.path.realpath(d) != "/usr/include" for flag in ("-isystem", d)]
        self.flags = ["-std=c++20", "-I", str(include), *system]
        self.label = self.identify()
        self.work = work / family
        # Two of them: g++ refuses a precompiled header made with other warning options.
        self.prelude = {strict: self.precompile(strict) for strict in (False, True)}

    def identify(self) -> str:
        """Compiler and standard library: both have a say in the text of a message."""
        probe = """
            #include <cstddef>
            #ifdef __clang__
            clang++ __clang_major__.__clang_minor__.__clang_patchlevel__
            #else
            g++ __GNUC__.__GNUC_MINOR__.__GNUC_PATCHLEVEL__
            #endif
            #ifdef _GLIBCXX_RELEASE
            , libstdc++ _GLIBCXX_RELEASE
            #endif
        """
        run = self.call(["-E", "-P", "-x", "c++", "-"], probe)
        if run.returncode:
            raise Unavailable(f"{self.path} cannot preprocess <cstddef>: {first_error(run.stderr)}")
        words = re.search(r"^\s*(clang\+\+|g\+\+).*\Z", run.stdout, re.DOTALL | re.MULTILINE)
        if not words:
            raise Unavailable(f"{self.path} does not say what it is")
        label = re.sub(r"\s*([.,])\s*", r"\1", " ".join(words[0].split())).replace(",", ", ").replace('"', "")
        if not label.startswith(NAMES[self.family] + " "):
            raise Unavailable(f"{self.path} is {label.split(',')[0]}, not {NAMES[self.family]}")
        return label

    def precompile(self, strict: bool) -> pathlib.Path:
        folder = self.work / ("strict" if strict else "plain")
        folder.mkdir(parents=True)
        header = folder / "prelude.hpp"
        header.write_text(PRELUDE, encoding="utf-8")
        output = f"{header}.gch" if self.family == "gcc" else f"{header}.pch"
        run = self.call([*(STRICT if strict else []), "-x", "c++-header", str(header), "-o", output])
        if run.returncode:
            raise RuntimeError(f"{self.path} cannot compile the prelude:\n{run.stderr}")
        return header

    def compile(self, body: str, strict: bool) -> Result:
        """The body of a function, after the prelude. `strict` turns all warnings on, and into errors."""
        header = str(self.prelude[strict])
        use = ["-include", header] if self.family == "gcc" else ["-include-pch", f"{header}.pch"]
        # g++ would fall back to reading the header again, which is right but slow: be told.
        guard = ["-Werror=invalid-pch", "-Winvalid-pch"] if self.family == "gcc" else []
        # Never a file on disk: its path would get into the messages.
        text = f'#line 1 "your.cpp"\nvoid f();\nvoid f() {{ {body} }}\n'
        run = self.call([*(STRICT if strict else []), *guard, *use, "-fsyntax-only", "-x", "c++", "-"], text)
        if run.returncode < 0 or "internal compiler error" in run.stderr or "not used because" in run.stderr:
            raise RuntimeError(f"{self.path} broke on: {body}\n{run.stderr}")
        return Result(run.returncode == 0, "" if run.returncode == 0 else first_error(run.stderr), longest_error(run.stderr))

    def call(self, arguments: list[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
        # LC_ALL=C: English messages with plain quotes.
        return subprocess.run(
            [self.path, *self.flags, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )


def find(family: str, path: str | None) -> str:
    if path:
        found = shutil.which(path)
        if not found:
            raise Unavailable(f"there is no program {path}")
        return found
    for name in CANDIDATES[family]:
        if found := shutil.which(name):
            return found
    raise Unavailable(f"there is no {NAMES[family]} on the PATH")


def first_error(stderr: str) -> str:
    found = re.search(r"(?:fatal )?error: (.*)", stderr)
    return shorten(found[1]) if found else stderr.strip().partition("\n")[0]


def longest_error(stderr: str) -> int:
    """Lines of the longest error with its notes; 0 if a note lists functions of the standard library, of which there may be many."""
    errors = re.split(r"(?m)^(?=.*(?:fatal )?error: )", stderr)
    return max((len(one.splitlines()) for one in errors if not re.search(r"(?m)^/.*/c\+\+/.* note: +candidate", one)), default=0)


def shorten(message: str, width: int = 200) -> str:
    """Drops what differs between machines (folders) and the names of namespaces."""
    message = re.sub(r" [{(]aka '[^']*'[)}]", "", message)
    message = re.sub(r"(?<![\w<)])(?:/[\w.+-]+)+/([\w.+-]+)", r"\1", message)
    message = re.sub(r"fabricost::(power::|detail::)?|boost::units::|(?<![\w:])power::", "", message)
    return message if len(message) <= width else message[: width - 3].rstrip() + "..."
