"""The `fabricost` command of a wheel: the compiled program, which finds the data beside itself."""
import importlib
import os
import pathlib
import sys
from collections.abc import Callable, Sequence


def status_of(name: str, run: Callable[[Sequence[str]], None], arguments: Sequence[str], worded: Callable[[str], str] = str) -> int:
    """Runs a subcommand that is in Python. 0: it is done; 2: it cannot be, and one message on stderr says why."""
    try:
        run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError, TypeError, ImportError) as error:
        print(f"fabricost {name}: {worded(str(error))}", file=sys.stderr)
        return 2
    return 0


def main() -> None:
    """Replaces this process with the compiled command, keeping arguments and exit status. Some subcommands are in Python."""
    written_here = {"report": "._report_command", "export": "._export.command", "exporter": ".exporter"}
    if sys.argv[1:2] and sys.argv[1] in written_here:
        sys.exit(importlib.import_module(written_here[sys.argv[1]], __package__).main(sys.argv[2:]))
    tool = pathlib.Path(__file__).parent / "bin" / "fabricost"
    if not tool.exists():
        sys.exit("fabricost: this copy of the package was built without the command; pip install . brings both")
    os.execv(tool, ["fabricost", *sys.argv[1:]])


if __name__ == "__main__":
    main()
