"""The reusable pieces of training: configuration, data, features, batches, evaluation, reports.

`train.py` at the top level puts them together.
"""
