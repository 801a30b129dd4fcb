"""F1, ROUGE-L and the figures beside them: published corners, parity with their originals, laws."""

from __future__ import annotations

import json
import re
import string
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer

from tests.arc_da_files import RELEASE, arc_da, read_lines, write_lines
from twowiki.arc_da.metric.folding import numerals, unicode_words
from twowiki.arc_da.metric.scoring import (
    METRICS,
    _rouge_stems,
    _stemmer,
    answer_tokens,
    contains,
    exact_match,
    f1_score,
    lcs_length,
    rouge_l,
    rouge_tokens,
    score_answer,
    stem,
)

Capsys = pytest.CaptureFixture[str]
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
WORDS = "the a of gas gases heat heating heated liquid solid from to 3.5 -5 H2O"
SCIENCE = st.lists(st.sampled_from(WORDS.split()), max_size=8).map(" ".join)

# prediction, gold, F1, ROUGE-L: measured with SQuAD's script and rouge_score 0.1.2
CORNERS = [
    ("", "", 0, 0),
    ("the", "the", 0, 1),
    ("A", "A", 0, 1),
    ("base", "a base", 1, 2 / 3),
    ("vitamin A", "vitamin", 1, 2 / 3),
    ("from solid to liquid", "from liquid to solid", 1, 0.5),
    ("plates shifting", "shifting plates", 1, 0.5),
    ("-5", "5", 1, 1),
    ("3.5", "35", 1, 0),
    ("1/2", "12", 1, 0),
    ("1,000", "1000", 1, 0),
    ("10%", "10", 1, 1),
    ("5\u00b0C", "5 \u00b0C", 0, 1),
    ("5 degrees Celsius", "5\u00b0C", 0, 0.4),
    ("\u2103", "\u2103", 1, 0),
    ("\u592a\u9633", "\u592a\u9633", 1, 0),
    ("\u03bcm", "m", 0, 1),
    ("H2O", "H\u2082O", 0, 0),
    ("na\u00efve", "naive", 0, 0),
    ("Earth\u2019s crust", "Earth's crust", 0.5, 1),
    ("high-energy", "high energy", 0, 1),
    ("gases", "gas", 0, 0),
    ("evaporating", "evaporation", 0, 1),
    ("two", "2", 0, 0),
    ("an invisible gas in the air", "gas", 0.4, 2 / 7),
    ("no", "nothing", 0, 0),
    ("no", "no change", 2 / 3, 2 / 3),
    ("creme", "cr\u00e8me", 0, 0),
    ("cr\u00e8me br\u00fbl\u00e9e", "cr\u00e8me br\u00fbl\u00e9e", 1, 1),
    ("1200", "1,200", 1, 0),
]


@pytest.mark.parametrize(("prediction", "gold", "f1", "rouge"), CORNERS)
def test_corners(prediction: str, gold: str, f1: float, rouge: float) -> None:
    assert f1_score(prediction, gold) == pytest.approx(f1)
    assert rouge_l(prediction, gold) == pytest.approx(rouge)


def test_stemming_is_on_unless_told() -> None:
    assert rouge_l("freeze waters", "freezing water") == 1
    assert rouge_l("freeze waters", "freezing water", stemming=False) == 0
    assert rouge_l("gases", "gas") == rouge_l("gases", "gas", stemming=False) == 0


@pytest.mark.parametrize(
    ("prediction", "golds", "f1", "rouge"),
    [
        ("frozen lake water", ["ice", "frozen water"], 80, 80),
        ("water that is frozen", ["ice", "frozen water"], 66.67, 33.33),
        ("food", ["shelter", "food and water"], 50, 50),
        ("no", ["nothing", "no change"], 66.67, 66.67),
    ],
)
def test_the_best_gold_answer_counts(
    prediction: str, golds: list[str], f1: float, rouge: float
) -> None:
    row = score_answer(prediction, golds)
    assert round(100 * row.metrics["f1"], 2) == f1
    assert round(100 * row.metrics["rougeL"], 2) == rouge


def test_each_figure_takes_its_own_gold_answer() -> None:
    golds = ["heat the water", "water the warm heat today"]
    row = score_answer("water warm heat today", golds)
    assert (row.best_gold["f1"], row.best_gold["rougeL"]) == (1, 1)
    row = score_answer("water heat", ["heat the water", "cold water is heat"])
    assert (row.best_gold["f1"], row.metrics["f1"]) == (0, 1.0)
    assert (row.best_gold["rougeL"], row.metrics["rougeL"]) == (1, pytest.approx(2 / 3))


def test_other_metrics_are_named() -> None:
    names = ["rougeL", "exact_match"]
    row = score_answer("\u91cd\u529b", ["\u91cd\u529b"], names)
    assert row.metrics == {"rougeL": 0.0, "exact_match": 1.0}
    assert list(score_answer("\u91cd\u529b", ["\u91cd\u529b"]).metrics) == ["f1", "rougeL"]
    with pytest.raises(ValueError, match="unknown metrics"):
        score_answer("a", ["a"], ["bleu"])
    with pytest.raises(ValueError, match="no gold answers"):
        score_answer("a", [])


def test_unicode_words() -> None:
    assert unicode_words("H\u2082O & \u91cd\u529b!") == ["h2o", "\u91cd", "\u529b"]
    assert unicode_words("\uff28\uff25\uff21\uff34") == ["heat"]
    assert unicode_words("e\u0301tat") == ["\u00e9tat"]
    assert unicode_words("-> ?") == ["-", ">", "?"]
    assert unicode_words("") == []


def test_numerals_keep_sign_and_point() -> None:
    assert numerals("from -5 to 3.5, 1,200 or 1/2") == ["-5", "3.5", "1200", "1/2"]
    assert numerals("CO-2 and H2") == ["2", "2"]


def test_contains_and_exact_match() -> None:
    assert contains("The answer is Brinmoor.", "Brinmoor") == 1
    assert contains("Brinmoor", "The answer is Brinmoor.") == 0
    assert contains("anything", "the") == 0
    assert exact_match("The base!", "base") == 1


# --- parity with the originals


SCORER = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=True)
PLAIN = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=False)


@given(TEXT | SCIENCE, TEXT | SCIENCE)
def test_rouge_equals_rouge_score(prediction: str, gold: str) -> None:
    assert rouge_l(prediction, gold) == SCORER.score(gold, prediction)["rougeL"].fmeasure
    plain = rouge_l(prediction, gold, stemming=False)
    assert plain == PLAIN.score(gold, prediction)["rougeL"].fmeasure


def squad_f1(prediction: str, gold: str) -> float:
    """SQuAD's rule, written down step by step."""

    def words(text: str) -> list[str]:
        plain = "".join(sign for sign in text.lower() if sign not in set(string.punctuation))
        return re.sub(r"\b(a|an|the)\b", " ", plain).split()

    said, right = words(prediction), words(gold)
    same = sum((Counter(said) & Counter(right)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(said), same / len(right)
    return 2 * precision * recall / (precision + recall)


@given(TEXT | SCIENCE, TEXT | SCIENCE)
def test_f1_equals_squad(prediction: str, gold: str) -> None:
    assert f1_score(prediction, gold) == pytest.approx(squad_f1(prediction, gold), abs=1e-15)


@given(
    st.lists(st.sampled_from("abcd"), max_size=90), st.lists(st.sampled_from("abcd"), max_size=90)
)
def test_lcs_equals_the_table(first: list[str], second: list[str]) -> None:
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
            )
    assert lcs_length(tuple(first), tuple(second)) == table[-1][-1]


# --- laws


@given(TEXT, st.lists(TEXT, min_size=1, max_size=4), TEXT)
def test_one_more_gold_answer_never_lowers_a_figure(
    prediction: str, golds: list[str], more: str
) -> None:
    before = score_answer(prediction, golds, list(METRICS)).metrics
    after = score_answer(prediction, [*golds, more], list(METRICS)).metrics
    assert all(after[name] >= before[name] for name in METRICS)


@given(TEXT)
def test_the_gold_answer_itself_scores_full_unless_nothing_is_left(text: str) -> None:
    row = score_answer(text, [text], list(METRICS))
    assert row.metrics["f1"] == (1.0 if answer_tokens(text) else 0.0)
    assert row.metrics["rougeL"] in (0.0, 1.0)
    assert row.metrics["exact_match"] == 1.0


@given(SCIENCE, SCIENCE)
def test_figures_are_symmetric_and_bounded(first: str, second: str) -> None:
    for figure in (f1_score, rouge_l):
        assert 0.0 <= figure(first, second) <= 1.0
        assert figure(first, second) == pytest.approx(figure(second, first))


def test_long_texts_cost_little() -> None:
    long = " ".join(f"word{i % 977}" for i in range(20_000))
    assert rouge_l(long, long + " more") > 0.99
    assert f1_score(long, long + " more") > 0.99


def test_stems_are_nltks(shared: Path) -> None:
    words = set()
    for name in ("train", "dev", "test_sample_100"):
        for record in read_lines(shared / "data" / "arc_da" / f"{name}.jsonl"):
            words |= set(re.findall("[a-z0-9]+", json.dumps(record).lower()))
    nltk = PorterStemmer()
    assert [stem(word) for word in sorted(words)] == [nltk.stem(word) for word in sorted(words)]


def test_f1_needs_no_nltk(monkeypatch: pytest.MonkeyPatch, capsys: Capsys, tmp_path: Path) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "nltk"]:
        monkeypatch.setitem(sys.modules, name, None)
    _stemmer.cache_clear()
    _rouge_stems.clear()
    rouge_tokens.cache_clear()
    said = write_lines(tmp_path / "p.jsonl", [{"id": "ARCEZ_Marsh_2", "answer": "methane"}])
    out = tmp_path / "report.json"
    assert arc_da("score", said, RELEASE / "dev.jsonl", "--resamples", 10, "--out", out) == 0
    assert "ROUGE-L needs nltk: pip install 'twowiki[metric]'" in capsys.readouterr().out
    report = json.loads(out.read_text(encoding="utf-8"))
    assert (round(report["f1"], 2), "rougeL" in report) == (33.33, False)
    assert "rougeL" not in report["signature"]
    assert arc_da("score", said, RELEASE / "dev.jsonl", "--also", "rougeL_no_stem") == 0
    assert rouge_l("freezing water", "water", stemming=False) > 0


def test_rouge_on_the_release_equals_rouge_score(shared: Path) -> None:
    for record in read_lines(shared / "data" / "arc_da" / "dev.jsonl"):
        said, *golds = record["answers"]
        for gold in golds:
            assert rouge_l(said, gold) == SCORER.score(gold, said)["rougeL"].fmeasure


def test_made_up_release_scores_itself_fully() -> None:
    for record in read_lines(RELEASE / "train.jsonl"):
        for answer in record["answers"]:
            assert score_answer(answer, record["answers"]).metrics["f1"] == 1.0
