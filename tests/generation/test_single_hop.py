from __future__ import annotations

import json
from pathlib import Path

import pytest

from twowiki.data.schema import Paragraph
from twowiki.errors import DataError
from twowiki.generation.samples import QuestionInContext
from twowiki.generation.single_hop import lexical_scores, read_scores, word_f1


def samples(count: int) -> list[QuestionInContext]:
    """Questions that one paragraph gives away (born), and ones that none does (mother)."""
    found = []
    for number in range(count):
        name, city = f"Ala{number} Ton", f"Sel{number}"
        born = number % 2 == 0
        second = f" The poet was born in {city}." if born else " Nothing else."
        page = (f"{name} was a poet.", second)
        others = [Paragraph(f"Stone {n}", (f"Stone {n} is a stone.",)) for n in range(9)]
        found.append(
            QuestionInContext(
                id=f"s{number}",
                type="compositional",
                question=f"Where was {name} born?" if born else f"Who is the mother of {name}?",
                answer=city if born else f"Mer{number}",
                gold=[number],
                chains=[[number]],
                context=(*others[:4], Paragraph(name, page), *others[4:]),
            )
        )
    return found


def test_the_probe_learns_what_one_paragraph_gives_away():
    scores = lexical_scores(samples(60), "1")
    easy = [score for key, score in scores.items() if int(key[1:]) % 2 == 0]
    hard = [score for key, score in scores.items() if int(key[1:]) % 2]
    assert sum(easy) / len(easy) > 0.9
    assert sum(hard) == 0
    assert lexical_scores(samples(60), "1") == scores
    assert set(lexical_scores(samples(60), "2")) == set(scores)


def test_word_f1_is_the_evaluators():
    assert word_f1("The Oru!", "oru") == 1
    assert word_f1("Oru lake", "Oru") == pytest.approx(2 / 3)
    assert word_f1("", "Oru") == 0
    assert word_f1("Yes!", "yes") == 1
    assert word_f1("yes", "yes he did") == 0


def test_scores_of_ones_own_are_checked(tmp_path: Path):
    path = tmp_path / "scores.jsonl"
    two = samples(2)
    path.write_text('{"id": "s0", "f1": 1}\n\n{"id": "s1", "f1": 0.25}\n', "utf-8")
    assert read_scores(path, two) == {"s0": 1, "s1": 0.25}
    with pytest.raises(DataError, match="no score"):
        read_scores(path, samples(3))
    path.write_text('{"id": "s0"}\n', "utf-8")
    with pytest.raises(DataError, match="not a score"):
        read_scores(path, two)
    with pytest.raises(DataError, match="no such file"):
        read_scores(tmp_path / "none", two)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_any_encoder_can_be_the_reader(tmp_path: Path):
    transformers = pytest.importorskip("transformers")
    from twowiki.generation.single_hop_encoder import ReaderSettings, encoder_scores

    given = samples(20)
    words = {
        word for s in given for word in (s.question + " " + json.dumps(s.context)).lower().split()
    }
    letters = sorted({letter for word in words for letter in word})
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{x}" for x in letters),
    ]
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab_file=str(folder / "vocab.txt"))
    tokenizer.save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16,
    )  # fmt: skip
    transformers.BertForQuestionAnswering(config).save_pretrained(folder)
    settings = ReaderSettings(max_length=128)
    scores = encoder_scores(given, "1", str(folder), settings)
    assert set(scores) == {sample.id for sample in given}
    assert all(0 <= score <= 1 for score in scores.values())
    assert encoder_scores(given, "1", str(folder), settings) == scores
    with pytest.raises(DataError, match="encoder cannot be loaded"):
        encoder_scores(given, "1", str(tmp_path / "none"), settings)
