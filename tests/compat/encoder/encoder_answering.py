"""Answer questions with the encoder model, by the same calls as the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transformers import AutoTokenizer

from .answering import PredictsAnswers
from .decoding import Answered
from .encoder_collation import EncoderCollator
from .encoder_decoding import RecordScores, decode_record, score_records
from .encoder_encoding import SubwordEncoder
from .encoding import Window
from .layout import lay_out


class PredictsByEncoder(PredictsAnswers):
    """Adds `predict` and `answer`; the tokenizer is read from the model's folder when needed."""

    def load_tokenizer(self, place: str, **options: Any) -> Any:
        """Load the backbone's tokenizer; the configuration at hand, no code is asked for."""
        return AutoTokenizer.from_pretrained(place, config=self.config, **options)

    def make_encoder(self, tokenizer: Any) -> SubwordEncoder:
        """Make what encodes examples for this model."""
        return SubwordEncoder(self.config, tokenizer)

    def make_collator(self) -> EncoderCollator:
        """Make what pads encoded examples into a batch without labels."""
        return EncoderCollator(self.config, labels=False)

    def score_batch(self, output: Any, windows: Sequence[Window]) -> Sequence[RecordScores]:
        """Take a batch's output to one record an example."""
        return score_records(output, windows, self.config)

    def decode(self, scores: Sequence[Any], example: Any) -> Answered:
        """Answer one example from its record."""
        text = lay_out(example.context, self.config.layout).text
        score = next(iter(scores), None)
        return decode_record(score, example.question, example.context, text, self.config)
