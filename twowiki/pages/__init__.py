"""Pages that people look at: the report of a scoring, evidence graphs, highlighted sentences."""
