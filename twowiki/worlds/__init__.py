"""Fictional worlds: invented people, works and places, in the dumps' own formats.

In: a few numbers and a seed. Out: a Wikidata dump (one entity per line) and Wikipedia summaries
with links, from which `twowiki generate` makes questions as from the real dumps. No model can know
an answer from elsewhere: every name has a mark that no real name has (see `names.has_mark`).
"""
