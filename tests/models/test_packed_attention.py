"""DeBERTa on packed rows equals the library's own on padded ones, in states and gradients."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.attention import flex_attention as flex
from transformers import AutoModel, DebertaV2Config, DebertaV2Model

from tests.small_encoder import model_and_records, settings
from tests.small_model import examples
from twowiki.errors import DataError
from twowiki.models import packed_attention
from twowiki.models.backbone import set_attention
from twowiki.models.configuration_encoder import VARIABLE_LENGTHS, can_pack
from twowiki.models.modeling_encoder import TwoWikiEncoderForMultihopQA
from twowiki.models.packed_attention import let_distances_pack, packed_row, window_blocks
from twowiki.models.processing_encoder import EncoderCollator
from twowiki.training.encoder import describe_attention, start_model
from twowiki.training.settings import EncoderArguments

LENGTHS = (1, 70, 33, 128, 5)
KINDS: dict[str, dict[str, Any]] = {
    "v3": {"share_att_key": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8},
    "own projections": {"share_att_key": False, "pos_att_type": ["p2c", "c2p"]},
    "one kind": {"share_att_key": True, "pos_att_type": ["c2p"], "position_buckets": 4},
}


def deberta(kind: str) -> Any:
    torch.manual_seed(3)
    config = DebertaV2Config(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=48, max_position_embeddings=64, relative_attention=True,
        type_vocab_size=0, position_biased_input=False, norm_rel_ebd="layer_norm",
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.3,
        **KINDS[kind],
    )  # fmt: skip
    return DebertaV2Model(config).train()


def read_padded(model: Any, rows: list[torch.Tensor]) -> torch.Tensor:
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    mask = torch.arange(ids.shape[1]) < torch.tensor([[len(row)] for row in rows])
    states: torch.Tensor = model(input_ids=ids, attention_mask=mask.long()).last_hidden_state
    return states[mask]


def read_packed(model: Any, rows: list[torch.Tensor]) -> torch.Tensor:
    lengths = [len(row) for row in rows]
    borders = torch.tensor([*accumulate(lengths, initial=0)], dtype=torch.int32)
    inputs = {"input_ids": torch.cat(rows).unsqueeze(0)}
    return packed_attention.read_packed(model, inputs, borders, max(lengths))[0]


def compare(kind: str) -> None:
    torch.manual_seed(0)
    rows = [torch.randint(1, 50, (length,)) for length in LENGTHS]
    plain, packed = deberta(kind), deberta(kind)
    let_distances_pack(packed)
    weights = torch.randn(sum(LENGTHS), 32)
    found = {}
    for name, model, read in (("plain", plain, read_padded), ("packed", packed, read_packed)):
        states = read(model, rows)
        (states * weights).sum().backward()
        found[name] = states, {n: p.grad for n, p in model.named_parameters()}
    torch.testing.assert_close(found["packed"][0], found["plain"][0], atol=1e-5, rtol=0)
    largest = max(float(g.abs().max()) for g in found["plain"][1].values())
    for name, gradient in found["plain"][1].items():
        other = found["packed"][1][name]
        torch.testing.assert_close(other, gradient, atol=1e-5 * largest, rtol=0, msg=name)
    torch.testing.assert_close(read_padded(packed, rows), found["plain"][0], atol=0, rtol=0)


def with_blocks(*given: Any) -> Any:
    return packed_row(*given)._replace(blocks=window_blocks(given[1], given[3]))


@pytest.mark.parametrize("kind", KINDS)
def test_windows_read_one_by_one_equal_the_padded_ones(kind: str) -> None:
    compare(kind)


@pytest.mark.filterwarnings("ignore")  # that it lays the scores out
@pytest.mark.parametrize("kind", KINDS)
def test_what_runs_on_a_gpu_equals_the_padded_ones(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # without a compiler it lays the scores out, and has gradients on a CPU too
    monkeypatch.setattr(flex, "_validate_device", lambda *_: None)
    monkeypatch.setattr(packed_attention, "compiled_attention", lambda: flex.flex_attention)
    monkeypatch.setattr(packed_attention, "packed_row", with_blocks)
    compare(kind)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the compiler's own parts
def test_what_is_compiled_equals_the_padded_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [torch.randint(1, 50, (length,)) for length in LENGTHS]
    model = deberta("v3").eval()
    with torch.no_grad():  # on a CPU the compiled one has no gradients
        expected = read_padded(model, rows)
        let_distances_pack(model)
        monkeypatch.setattr(packed_attention, "packed_row", with_blocks)
        torch.testing.assert_close(read_packed(model, rows), expected, atol=1e-5, rtol=0)


def test_the_model_packs_and_scores_the_same() -> None:
    options = {"window_tokens": 128, "window_stride": 8}
    padded, records = model_and_records("deberta-v2", examples()[:3], **options)
    packed, _ = model_and_records("deberta-v2", examples()[:1], **options)
    set_attention(packed, VARIABLE_LENGTHS)
    assert describe_attention(packed.config).startswith("attention: twowiki_varlen, packed")
    with torch.no_grad():
        batch = EncoderCollator(packed.config)(records)
        assert batch["input_ids"].shape[0] == 1
        one, other = packed(**batch), padded(**EncoderCollator(padded.config)(records))
    for name in ("start_logits", "support_logits", "relation_logits", "object_end_logits", "loss"):
        torch.testing.assert_close(one[name], other[name], atol=2e-5, rtol=0)


def test_it_is_chosen_by_name_and_refused_where_it_cannot_run(tmp_path: Path) -> None:
    for kind in ("deberta-v2", "mpnet"):
        config, tokenizer = settings(kind)
        AutoModel.from_config(config.backbone_config).save_pretrained(tmp_path / kind)
        tokenizer.save_pretrained(tmp_path / kind)

    def start(kind: str, dropout: float) -> TwoWikiEncoderForMultihopQA:
        return start_model(
            EncoderArguments(
                model_name_or_path=str(tmp_path / kind),
                attn_implementation=VARIABLE_LENGTHS,
                backbone_dropout=dropout,
            ),
            ["director"],
        )

    assert start("deberta-v2", 0.0).config.packs
    with pytest.raises(DataError, match="no dropout in attention"):
        start("deberta-v2", 0.1)
    with pytest.raises(DataError, match="twowiki_varlen cannot read this mpnet backbone"):
        start("mpnet", 0.0)
    assert not can_pack(DebertaV2Config(relative_attention=True, conv_kernel_size=3))
