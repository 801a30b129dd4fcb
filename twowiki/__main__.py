"""`python -m twowiki`: the command line."""

import sys

from twowiki.cli import main

sys.exit(main())
