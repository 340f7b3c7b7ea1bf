#!/usr/bin/env python3
"""The command's contract, checked from outside: JSON fields and types, exit statuses, what goes to which stream, suggestions.

    python3 test_contract.py PATH/TO/fabricost [unittest arguments, such as Predict or Sweep.test_bad_sizes_are_refused]

Tests are named by behaviour and lie in contract_SUBJECT.py. Numbers are checked by independent arithmetic where there is any: terms sum
to the time, bandwidths are bytes over time, and the lines of `explain` are worked out again from their own text.
"""
import os
import sys
import unittest

import contract
from contract_explain import Explain  # noqa: F401
from contract_mistakes import Mistakes  # noqa: F401
from contract_predict import Predict  # noqa: F401
from contract_surroundings import Surroundings  # noqa: F401
from contract_sweep import Sweep, SweepCounts  # noqa: F401
from contract_systems import Systems  # noqa: F401

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} PATH/TO/fabricost [unittest arguments]")
    contract.COMMAND = os.path.abspath(sys.argv.pop(1))
    unittest.main()
