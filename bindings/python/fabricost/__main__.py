"""`python -m fabricost` is the command."""
from ._command import main

main()
