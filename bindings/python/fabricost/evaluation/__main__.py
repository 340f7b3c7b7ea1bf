"""`python -m fabricost.evaluation TABLE...`: the errors of published figures, by group."""

from __future__ import annotations

import argparse
import sys

import fabricost as fc

from . import fit, validate


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fabricost.evaluation", description="Tables of published figures beside predictions")
    parser.add_argument("tables", metavar="TABLE", nargs="+", help="CSV files of steps, serving runs, pipeline schedules, experts or reliability")
    parser.add_argument("--json", action="store_true", help="errors as JSON")
    parser.add_argument("-o", "--out", metavar="FILE", help="write every row with its prediction as CSV")
    parser.add_argument("--fit", metavar="FOLDER", help="fit kernels and stacks to tables of steps, kernels and serving runs; write them as they lie in data/")
    parser.add_argument("--leave-out", metavar="GROUP", nargs="+", default=[], help="groups, or beginnings of their names, not to be fitted")
    given = parser.parse_args()
    try:
        if given.fit:
            found = fit(*given.tables, leave_out=given.leave_out)
            found.save(given.fit)
            print(f"{found.rows} steps, kernels and figures, {found.constants} constants: median error {100 * found.median_error:.2f} %, mean {100 * found.mean_error:.2f} %")
            return 0
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
