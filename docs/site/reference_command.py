"""The reference of the command: what `fabricost COMMAND --help` prints, for every command that `fabricost --help` lists."""
import re
import subprocess


def _print(tool, *arguments):
    return subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=60, check=True).stdout


def names(tool):
    """Commands in the order of `fabricost --help`."""
    listed = _print(tool, "--help").split("\nCommands:\n")[1].split("\n\n")[0]
    return re.findall(r"(?m)^  (\w[\w-]*)  ", listed)


def _block(text):
    return "```text\n" + text.strip("\n") + "\n```\n"


def page(tool):
    """Markdown: the overview, then one section a command."""
    commands = names(tool)
    assert len(commands) > 10, "fabricost --help lists no commands"
    out = [_block(_print(tool, "--help"))]
    for command in commands:
        out += [f"## {command}\n", _block(_print(tool, command, "--help"))]
    return "\n".join(out)
