"""`python -m twowiki`: the command line."""

import sys

from twowiki.cli.main import main

sys.exit(main())
