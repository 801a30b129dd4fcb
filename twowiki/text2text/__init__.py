"""Text-to-text models on ARC-DA and 2WikiMultiHopQA: encoder-decoders and language models.

`settings` has a run's settings, `arc_da` and `two_wiki` what a run trains, `prediction` predicts
with any model, trained here or not. Nothing is imported here.
"""
