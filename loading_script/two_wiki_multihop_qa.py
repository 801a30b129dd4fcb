# Copyright 2026 the twowiki authors. Licensed under the Apache License, Version 2.0.
"""2WikiMultiHopQA for `datasets` 3.x, which still loads scripts; needs `pip install twowiki`.

    load_dataset("path/to/two_wiki_multihop_qa.py", data_dir="...", trust_remote_code=True)

From `datasets` 4 on, load the Parquet files of this folder, or use `twowiki.load_dataset`.
"""

from twowiki.builder.builder import TwoWiki


class TwoWikiMultihopQA(TwoWiki):
    """The builder of the package, under the script's own name."""
