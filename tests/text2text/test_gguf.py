"""A quantised checkpoint as local language models come: asked, trained on, saved, asked again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.arc_da_files import read_lines, write_lines
from tests.text_runs import read, run_training
from twowiki.cli.main import main
from twowiki.text2text import loading
from twowiki.text2text.loading import make_tokenizer
from twowiki.text2text.prediction import LoadOptions

gguf = pytest.importorskip("gguf")
WIDTH, INNER, HEADS = 32, 64, 2
SHAPES = {
    "blk.0.attn_q.weight": (WIDTH, WIDTH),
    "blk.0.attn_k.weight": (WIDTH, WIDTH),
    "blk.0.attn_v.weight": (WIDTH, WIDTH),
    "blk.0.attn_output.weight": (WIDTH, WIDTH),
    "blk.0.ffn_gate.weight": (INNER, WIDTH),
    "blk.0.ffn_up.weight": (INNER, WIDTH),
    "blk.0.ffn_down.weight": (WIDTH, INNER),
}


def write_gguf(path: Path) -> Path:
    """Write a random small Llama with quantised matrices and a byte-level tokenizer."""
    made = make_tokenizer(["What melts ice? heat", "Answer each science question"], 300, ends=False)
    model = json.loads(made.backend_tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_block_count(1)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if number < 3 else 1 for number in range(len(tokens))])
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    writer.add_eos_token_id(1)
    writer.add_pad_token_id(0)
    rng = np.random.default_rng(0)
    kind = gguf.GGMLQuantizationType.Q8_0
    for name, shape in {"token_embd.weight": (len(tokens), WIDTH), **SHAPES}.items():
        values = rng.normal(0, 0.2, shape).astype(np.float32)
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.slow
def test_a_quantised_file_is_asked_trained_saved_and_asked_again(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "small.gguf")
    assert loading.find_model(str(tmp_path)).gguf == "small.gguf"
    loaded = loading.load_text_model(str(path), LoadOptions())
    assert all(one.dtype == torch.float32 for one in loaded.parameters())
    questions = [
        {"question_id": f"ARCEZ_{n}", "question": f"What melts ice {n}?", "answers": ["heat"]}
        for n in range(6)
    ]
    data = write_lines(tmp_path / "dev.jsonl", questions)
    asked = ["predict", "--task", "arc_da", "--max-new-tokens", "3"]
    assert main([*asked, "--model", str(path), str(data), str(tmp_path / "a.json")]) == 0
    assert len(read_lines(tmp_path / "a.json.outputs.jsonl")) == 7
    run_training(
        tmp_path / "out",
        task="arc_da",
        model_name_or_path=path,
        preset="plain",
        train_file=data,
        validation_file=data,
        leaks="keep",
        max_steps=40,
        per_device_train_batch_size=6,
        save_steps=20,
        max_new_tokens=3,
    )
    best = tmp_path / "out" / "best"
    assert "quantization_config" not in json.loads((best / "config.json").read_text("utf-8"))
    assert main([*asked, "--model", str(best), str(data), str(tmp_path / "b.json")]) == 0
    said = json.loads((tmp_path / "b.json").read_text("utf-8"))
    assert said == read(tmp_path / "out", "predictions.json")
    assert set(said.values()) == {"heat"}
