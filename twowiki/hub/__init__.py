"""Folders to the hub: what is sent, what is not, one commit, and errors that a person can act on.

`pushing.push` is the door. `contents` says which files of a folder are sent, `checks` whether the
folder is whole, `leaks` looks for tokens in it, `failures` turns what goes wrong on the way into
one sentence, `model_card` writes a model's card from a run's report. Tokens are those of the
login or the environment; the library's client reads them, and no output holds them.
"""

from __future__ import annotations
