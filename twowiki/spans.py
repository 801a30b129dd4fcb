"""Find text, and turn characters into tokens and back: the one place that converts coordinates.

The functions live in `twowiki.modeling.spans`, so that a saved model folder carries them.
"""

from twowiki.modeling.spans import (
    Span,
    TokenSpan,
    char_span,
    find_text,
    fold,
    is_aligned,
    nearest_span,
    occurrences,
    token_span,
)

__all__ = [
    "Span",
    "TokenSpan",
    "char_span",
    "find_text",
    "fold",
    "is_aligned",
    "nearest_span",
    "occurrences",
    "token_span",
]
