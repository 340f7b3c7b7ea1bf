#!/usr/bin/env python3
"""A .cu file of the probes as C++ for the stand-in: launches become calls, loads in PTX become loads.

    translate.py KERNELS.cu OUT.cpp"""

import pathlib
import re
import sys


def launches(text):
    """kernel<<<grid, block, 0, stream>>>(...) as stand_in::prepare("kernel", kernel, syncs, grid, ...)(...)."""
    def body(kernel):
        begin = re.search(rf"\b{kernel}\s*\([^;{{]*\)\s*{{", text)
        return text[begin.end():text.index("\n}\n", begin.end())] if begin else ""

    def call(match):
        kernel = match["name"]
        syncs = "true" if "__syncthreads" in body(kernel) else "false"
        return f'stand_in::prepare("{kernel}", {kernel}{match["of"] or ""}, {syncs}, {match["grid"]}){match["gap"]}('

    return re.sub(r"(?P<name>\w+)(?P<of><[\w:]+>)?(?P<gap>(?:\s|\\\n)*)<<<(?P<grid>.*?)>>>\s*\(", call, text, flags=re.S)


def loads(text):
    """asm volatile("ld...") of one 8-byte value or one vector of four as an ordinary load."""
    def load(match):
        outputs = re.findall(r'"=[rl]"\(([^)]*)\)', match[0])
        source = re.search(r':\s*"l"\((\w+)\)', match[0])[1]
        if len(outputs) == 4:
            return f"{outputs[0].split('.')[0]} = *{source};"
        assert len(outputs) == 1, match[0]
        return f"{outputs[0]} = *reinterpret_cast<const volatile unsigned long long*>({source});"

    return re.sub(r'asm volatile\("ld[\w.]+ .*?\);', load, text, flags=re.S)


def main():
    source = pathlib.Path(sys.argv[1])
    text = loads(launches(source.read_text(encoding="utf-8")))
    assert "<<<" not in text and "asm" not in text, f"{source}: a launch or an instruction that this script does not know"
    pathlib.Path(sys.argv[2]).write_text(f'#line 1 "{source}"\n{text.replace("#pragma unroll", "")}', encoding="utf-8")


if __name__ == "__main__":
    main()
