"""Pages for people: the report of a score, evidence graphs, an answer with its sentences marked."""
