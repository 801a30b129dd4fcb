"""From Wikidata and Wikipedia dumps to questions with contexts, gold and splits.

In: a Wikidata entity dump and a file of Wikipedia summaries. Out: the authors' JSON files, a
Parquet folder and a report. `pipeline` is the way through it; it reads as the paper's section 3.
"""
