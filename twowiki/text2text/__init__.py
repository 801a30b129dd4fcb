"""Text-to-text models on ARC-DA and 2WikiMultiHopQA: encoder-decoders and language models.

Nothing is imported here. `config` holds a run's settings, `arc_da_task` and `two_wiki_task` are
what `train.py` trains, `asking` predicts with any model, trained here or not.
"""
