"""Language models: prompts, parsing of their outputs, and an inspect-ai task."""
