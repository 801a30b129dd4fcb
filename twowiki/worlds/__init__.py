"""Fictional worlds: people, works and places that never were, in the dumps' own formats.

In: a few numbers and a seed. Out: a Wikidata dump (one entity a line) and Wikipedia summaries with
their links, from which `twowiki generate` makes questions as from the real dumps. No question can
be known by heart: whoever is asked about has a name that no real person has (see `syllables`).
"""
