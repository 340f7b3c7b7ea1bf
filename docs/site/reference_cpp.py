"""The C++ reference in brief: headers by layer with their \\file comments and what they declare, read from the sources."""
import importlib.util
import pathlib
import re



def floors(root):
    """The rooms of the house from the ground up, as the layer test knows them: [[(room, what it holds)]]."""
    spec = importlib.util.spec_from_file_location("check_layers", pathlib.Path(root) / "tests" / "structure" / "layers" / "check_layers.py")
    layers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(layers)
    return layers.FLOORS


def prose(lines):
    """Lines of comments as Markdown: nothing is markup except `code`; what is indented is a block."""
    out, block = [], []

    def flush():
        if block:
            indent = min(len(line) - len(line.lstrip()) for line in block if line.strip())
            out.extend(["", "```text", *(line[indent:] for line in block), "```", ""])
            block.clear()
    for line in lines:
        if line.startswith("  ") and line.strip() and not (out and re.match(r"- ", out[-1])):
            block.append(line)
        elif not line.strip() and block:
            block.append("")
        else:
            while block and not block[-1].strip():
                block.pop()
            flush()
            out.append(escaped(line.strip()))
    while block and not block[-1].strip():
        block.pop()
    flush()
    return "\n".join(out)


def escaped(text):
    pieces = re.split(r"(`[^`]+`)", text)  # every second one is code
    return "".join(p if i % 2 else re.sub(r"([\\*_<>\[\]|$#~`{}])", r"\\\1", p) for i, p in enumerate(pieces))


def file_comment(text):
    """The comment that opens a header, without its first line; empty when there is none."""
    match = re.search(r"(?m)^/// ?\\file.*\n((?:///.*\n)*)", text)
    return [line[3:].removeprefix(" ") for line in match[1].splitlines()] if match else []


def declarations(text):
    """[(signature, first paragraph of its comment)] of what a header declares for users."""
    text = re.sub(r"(?ms)^namespace detail \{.*?^\}  // namespace detail\n", "", text)
    out = []
    for match in re.finditer(r"(?m)((?:^/// (?!\\file).*\n(?:^///.*\n)*))^((?!///|//|#|namespace|\})\S[^;{]*)[;{]", text):
        comment = [line[3:].removeprefix(" ") for line in match[1].splitlines()]
        if comment and comment[0].startswith("\\file"):
            continue
        first = []
        for line in comment:
            if not line.strip() or line.startswith((" ", "\\")):
                break
            first.append(line.split(" \\param")[0])
        signature = re.sub(r"\s+", " ", match[2]).strip().replace("[[nodiscard]] ", "").removeprefix("inline ").removeprefix("constexpr ")
        signature = re.sub(r"\) : .*$", ")", signature)
        if first and len(signature) < 400:
            out.append((signature, " ".join(first)))
    return out


def pages(root):
    """{file name: Markdown}, one page a layer."""
    base = pathlib.Path(root) / "include/fabricost"
    folders = {"": "Words"} | {room: room.capitalize() for rooms in floors(root) for room, _ in rooms if room != "."}
    out = {}
    for folder, title in folders.items():
        headers = sorted((base / folder).glob("**/*.hpp" if folder else "*.hpp"))
        if not headers:
            continue
        page = [f"# {title}\n", f"`include/fabricost/{folder + '/' if folder else ''}`\n"]
        for header in headers:
            text = header.read_text(encoding="utf-8")
            page.append(f"## {header.name}\n")
            page.append(f"`#include <fabricost/{header.relative_to(base)}>`\n")
            page.append(prose(file_comment(text)) + "\n")
            for signature, comment in declarations(text):
                page.append(f"```cpp\n{signature};\n```\n\n{escaped(comment)}\n")
        out[folder or "words"] = "\n".join(page)
    return out
