"""Retrieval of sentences for science questions: corpora in, an index, ten sentences a question.

Nothing is imported here; `corpora` reads, `building` makes an index, `searching` opens one,
`contexts` gives each question its sentences, `quality` says how good they are.
"""
