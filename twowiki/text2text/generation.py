"""Generate texts greedily or with beams; a batch is halved when memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import torch

from twowiki.errors import DataError
from twowiki.text2text.chat_format import Codec
from twowiki.text2text.loading import SEQ2SEQ
from twowiki.training.memory import is_out_of_memory, release_memory

_Row = TypeVar("_Row")
_Result = TypeVar("_Result")

# against a checkpoint's own generation settings (summarizers have a minimum of 56 tokens)
PLAIN = {
    "do_sample": False,
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "repetition_penalty": 1.0,
    "length_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "min_length": 0,
}


class GenerationSettings(NamedTuple):
    """How texts are generated; a part of every report.

    Attributes:
        num_beams: 1 is greedy.
        max_new_tokens: longest output.
    """

    num_beams: int = 1
    max_new_tokens: int = 32


@torch.no_grad()
def generate_texts(
    model: Any, codec: Codec, batch: Mapping[str, torch.Tensor], decoding: GenerationSettings
) -> list[str]:
    """Return the text of each row of a padded batch.

    Args:
        model: in evaluation mode, not wrapped for several processes.
        codec: of the model.
        batch: `input_ids` and `attention_mask`; a language model's rows are padded on the left.
        decoding: the settings of generation.

    Raises:
        DataError: a single row does not fit into memory.
    """
    ids, mask = batch["input_ids"], batch["attention_mask"]
    config = _configure(codec, decoding, model)

    def texts(rows: Sequence[int]) -> list[str]:
        some = list(rows)
        output = model.generate(
            input_ids=ids[some], attention_mask=mask[some], generation_config=config
        )
        if codec.kind != SEQ2SEQ:
            output = output[:, ids.shape[1] :]
        return [codec.decode(row) for row in output.tolist()]

    return rows_in_halves(texts, range(len(ids)), lambda _: f"an input of {ids.shape[1]} tokens")


def rows_in_halves(
    work: Callable[[Sequence[_Row]], list[_Result]],
    rows: Sequence[_Row],
    describe: Callable[[_Row], str],
) -> list[_Result]:
    """Return the results of work on rows, done in halves where memory runs out.

    Args:
        work: takes some of the rows, and returns a result for each.
        rows: at least one.
        describe: names a row that does not fit by itself.

    Raises:
        DataError: a single row does not fit into memory.
    """
    try:
        return work(rows)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        if len(rows) == 1:
            problem = f"{describe(rows[0])} does not fit into memory"
            raise DataError(problem, remedy="Use a smaller model or shorter inputs") from None
    release_memory()
    half = len(rows) // 2
    return rows_in_halves(work, rows[:half], describe) + rows_in_halves(work, rows[half:], describe)


def plain_model(model: Any) -> Any:
    """Return a model without the wrapper of distributed training."""
    from accelerate.utils import extract_model_from_parallel

    return extract_model_from_parallel(model)


def _configure(codec: Codec, decoding: GenerationSettings, model: Any) -> Any:
    import transformers

    kind: Any = transformers.GenerationConfig
    start = getattr(model.config, "decoder_start_token_id", None)
    return kind(
        **PLAIN,
        num_beams=decoding.num_beams,
        early_stopping=decoding.num_beams > 1,
        max_new_tokens=decoding.max_new_tokens,
        pad_token_id=codec.tokenizer.pad_token_id or 0,
        eos_token_id=codec.end_ids or None,
        **({} if start is None else {"decoder_start_token_id": start}),
    )
