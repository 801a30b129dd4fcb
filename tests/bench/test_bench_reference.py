"""The yardstick that speed is measured against computes the published numbers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from reference_baseline import ReferenceBaseline, decode, losses

FILES = sorted((Path(__file__).parents[1] / "golden").glob("baseline_*.safetensors"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_gives_the_published_outputs(path: Path) -> None:
    parts: dict[str, dict[str, torch.Tensor]] = {}
    for name, value in load_file(path).items():
        group, _, rest = name.partition(".")
        parts.setdefault(group, {})[rest] = value
    weights, output = parts["weights"], parts["output"]
    relations, relation_dim = weights["relation_emb.weight"].shape
    words, glove = weights["word_emb.weight"].shape
    characters, char_dim = weights["char_emb.weight"].shape
    model = ReferenceBaseline(
        words,
        characters,
        relations=relations,
        glove=glove,
        char_dim=char_dim,
        char_hidden=weights["char_cnn.bias"].shape[0],
        hidden=weights["rnn.init_hidden.0"].shape[-1],
        relation_dim=relation_dim,
    )
    model.load_state_dict(weights)
    with torch.no_grad():
        found = model(parts["input"])
        spans = decode(found)
        loss = losses(found, {**parts["label"], "relations": parts["input"]["relations"]})
    for name, value in found.items():
        torch.testing.assert_close(value, output[name], atol=1e-5, rtol=0)
    assert torch.stack(spans[0], dim=-1).tolist() == output["answer_span"].tolist()
    subjects = torch.stack([torch.stack(span, dim=-1) for span in spans[1 : relations + 1]], dim=1)
    assert subjects.tolist() == output["subject_span"].tolist()
    torch.testing.assert_close(loss, parts["loss"]["total"], atol=1e-5, rtol=0)
