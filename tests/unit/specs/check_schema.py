#!/usr/bin/env python3
"""The JSON Schemas of data/ and the loader must know the same format.

    check_schema.py COMMAND [DATA]     the fabricost command; the data folder (default: the one of this checkout)

1. Every shipped file is valid in its schema, and so are calibrations that the command writes.
2. Broken documents are refused by the schema as they are by the loader.
3. Every key of a schema is a key of the loader, and the other way round.
4. Bounds of a calibration's constants are the loader's: both take the bound and refuse what lies beyond.

Exit status: 0 fine, 1 a difference, 77 skipped (says why).
"""

import pathlib
import sys

try:
    import jsonschema  # noqa: F401
    import yaml  # noqa: F401
except ImportError as error:
    print(f"skipped: {error.name} is missing (pip install pyyaml jsonschema)")
    sys.exit(77)

from schema_bounds import bounds
from schema_broken import broken_documents
from schema_checker import Checker
from schema_files import shipped_files, written_files
from schema_keys import keys


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 1
    command = sys.argv[1]
    data = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).resolve().parents[3] / "data"
    if not pathlib.Path(command).is_file():
        print(f"skipped: there is no command {command}")
        return 77
    checker = Checker(str(pathlib.Path(command).resolve()), data)
    shipped_files(checker)
    written_files(checker)
    broken_documents(checker)
    keys(checker)
    bounds(checker)
    print(f"{checker.checked} checks, {checker.faults} faults")
    return 1 if checker.faults else 0


if __name__ == "__main__":
    sys.exit(main())
