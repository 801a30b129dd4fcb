"""Judges of meaning: each kind of model, best over the gold answers, in score and agreement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.arc_da_files import RELEASE, arc_da, write_lines, write_table
from tests.text2text.test_predict_text import save_model
from twowiki.errors import DataError
from twowiki.text2text.judge import Judgment, load_judge

WORDS = "[PAD] [UNK] [CLS] [SEP] heat ice warm cold wind what melts a the".split()


def save_bert(folder: Path, kind: str, labels: dict[int, str] | None = None) -> Path:
    core = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, "[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    tokens = dict(unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=core, **tokens)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, id2label=labels, num_labels=len(labels or {0: ""}),
    )  # fmt: skip
    torch.manual_seed(0)
    getattr(transformers, kind)(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judge")
    word = Transformer(str(save_bert(folder / "bert", "BertModel")))
    pooled = Pooling(word.get_embedding_dimension())
    SentenceTransformer(modules=[word, pooled], device="cpu").save(str(folder / "encoder"))
    return folder / "encoder"


ASKED = [
    Judgment("What melts ice?", "heat", ("the cold", "heat")),
    Judgment("What melts ice?", "the cold wind", ("heat",)),
    Judgment("What melts ice?", " - ", ("heat",)),
]


def test_a_sentence_encoder(encoder: Path) -> None:
    judge = load_judge(str(encoder), device="cpu")
    values = judge.judge(ASKED)
    assert values[0] == pytest.approx(1.0, abs=1e-5)
    assert 0 < values[1] < values[0]
    assert values[2] == 0
    assert judge.judge(reversed(ASKED)) == pytest.approx(values[::-1], abs=1e-6)
    assert judge.signature.startswith("judge:similarity(encoder@")
    assert judge.signature == load_judge(str(encoder), device="cpu").signature


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ({0: "contradiction", 1: "entailment", 2: "neutral"}, "entailment"),
        ({0: "not_paraphrase", 1: "paraphrase"}, "paraphrase"),
        ({0: "LABEL_0"}, "paraphrase"),
    ],
)
def test_a_classifier(tmp_path: Path, labels: dict[int, str], kind: str) -> None:
    folder = save_bert(tmp_path / "model", "BertForSequenceClassification", labels)
    judge = load_judge(str(folder), device="cpu")
    assert judge.kind == kind
    assert all(0 <= value <= 1 for value in judge.judge(ASKED))


@pytest.mark.parametrize("name", ["tiny-causal", "tiny-t5"])
def test_a_language_model(tmp_path: Path, name: str) -> None:
    judge = load_judge(str(save_model(tmp_path / "model", name)), device="cpu")
    assert judge.kind == "yes_no"
    assert all(0 <= value <= 1 for value in judge.judge(ASKED))


def test_what_is_no_judge(tmp_path: Path) -> None:
    labels = {0: "sports", 1: "science"}
    folder = save_bert(tmp_path / "topic", "BertForSequenceClassification", labels)
    with pytest.raises(DataError, match=r"no label for the same meaning \(labels sports"):
        load_judge(str(folder))
    with pytest.raises(DataError, match="no such folder"):
        load_judge(str(tmp_path / "nowhere"))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "modules.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match="is no sentence encoder"):
        load_judge(str(tmp_path / "broken"))


def test_the_judge_is_a_figure_of_the_score(
    encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = write_lines(tmp_path / "mine.jsonl", [{"id": "ARCEZ_Marsh_2", "answer": "methane"}])
    out = tmp_path / "report.json"
    flags = ("--judge", encoder, "--resamples", 10, "--out", out)
    assert arc_da("score", mine, RELEASE / "dev.jsonl", *flags) == 0
    report = json.loads(out.read_text(encoding="utf-8"))
    assert report["judge"] >= report["f1"] / 2
    assert "|judge:similarity(encoder@" in report["signature"]
    assert "judge" in capsys.readouterr().out


def test_the_judge_is_measured_on_people(
    encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"id": f"q{n}", "question": "What melts ice?", "a": "heat", "b": "the heat", "c": "ice",
         "credit-a": 1, "credit-b": 1, "credit-c": 0}
        for n in range(4)
    ]  # fmt: skip
    table = write_table(tmp_path / "table.csv", rows)
    out = tmp_path / "agreement.json"
    flags = ("--judge", encoder, "--resamples", 20, "--out", out)
    assert arc_da("metric-agreement", table, *flags) == 0
    assert "AUC beyond F1's" in capsys.readouterr().out
    found = json.loads(out.read_text(encoding="utf-8"))["figures"]
    assert found["judge"]["auc"] == found["f1"]["auc"] == 1.0
    assert found["judge"]["auc_interval"] == [1.0, 1.0]
    assert found["judge"]["auc_over_f1_interval"] == [0.0, 0.0]
