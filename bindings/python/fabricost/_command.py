"""The `fabricost` command of a wheel: the compiled program, which finds the data beside itself."""
import os
import pathlib
import sys


def main() -> None:
    """Replaces this process with the compiled command, keeping arguments and exit status. `report` is drawn in Python."""
    if sys.argv[1:2] == ["report"]:
        from ._report_command import main as report
        sys.exit(report(sys.argv[2:]))
    tool = pathlib.Path(__file__).parent / "bin" / "fabricost"
    if not tool.exists():
        sys.exit("fabricost: this copy of the package was built without the command; pip install . brings both")
    os.execv(tool, ["fabricost", *sys.argv[1:]])


if __name__ == "__main__":
    main()
