"""`python -m fabricost.evaluation TABLE...`: the errors of published figures, by group."""

from __future__ import annotations

import argparse
import sys

import fabricost as fc

from . import validate


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fabricost.evaluation", description="Tables of published figures beside predictions")
    parser.add_argument("tables", metavar="TABLE", nargs="+", help="CSV files of pipeline schedules, experts or reliability")
    parser.add_argument("--json", action="store_true", help="errors as JSON")
    parser.add_argument("-o", "--out", metavar="FILE", help="write every row with its prediction as CSV")
    given = parser.parse_args()
    try:
        report = validate(*given.tables)
        if given.out:
            report.rows.to_csv(given.out, index=False)
    except (fc.Error, OSError) as error:
        print(f"fabricost: {error}", file=sys.stderr)
        return 2
    print(report.to_json() if given.json else report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
