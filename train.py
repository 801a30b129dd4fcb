"""`accelerate launch train.py --config tiny`: the same as `accelerate launch -m twowiki.train`."""

import sys

from twowiki.train import main

if __name__ == "__main__":
    sys.exit(main())
