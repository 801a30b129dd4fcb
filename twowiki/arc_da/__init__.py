"""ARC-DA: data, conversion from multiple choice, metrics, human ratings.

The direct-answer version of the AI2 Reasoning Challenge (Bhakthavatsalam et al., 2021). Nothing
is imported here; each module says what it takes in and what it gives.
"""
