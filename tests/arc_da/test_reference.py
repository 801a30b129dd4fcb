"""The real release v1.1 and ARC: counted figures, round trips, floors, speed."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from random import Random

import pytest
from rouge_score import rouge_scorer

from tests.arc_da_files import arc_da, read_lines, write_lines
from twowiki.arc_da.metric import scoring
from twowiki.arc_da.metric.report import ArcDaSettings, score_system, summarize_system
from twowiki.arc_da.schema import Question, question_to_official
from twowiki.arc_da.sources import (
    index_by_id,
    read_gold_questions,
    read_multiple_choice,
    read_questions,
)

COUNTED = {  # questions, answers, a question, words (over answers; over questions), tags
    "train": (1250, 4256, 3.405, 3.553, 3.080, {"EASY-TRAIN": 994, "CHALLENGE-TRAIN": 256}),
    "validation": (338, 1127, 3.334, 3.272, 2.808, {"EASY-DEV": 264, "CHALLENGE-DEV": 74}),
}


@pytest.fixture(scope="module")
def release(shared: Path) -> Path:
    return shared / "data" / "arc_da"


def test_counted_figures(release: Path, tmp_path: Path) -> None:
    out = tmp_path / "stats.json"
    assert arc_da("stats", release, "--json", out) == 0
    splits = json.loads(out.read_text())["splits"]
    assert set(splits) == set(COUNTED)
    for name, (questions, answers, each, micro, macro, tags) in COUNTED.items():
        found = splits[name]
        assert (found["questions"], found["answers"]) == (questions, answers)
        assert found["answers_per_question"] == pytest.approx(each, abs=5e-4)
        assert found["words_per_answer"] == pytest.approx(micro, abs=5e-4)
        assert found["words_per_answer_by_question"] == pytest.approx(macro, abs=5e-4)
        assert found["tags"] == tags
    repeats = json.loads(out.read_text())["repeats"]
    assert (len(repeats["same_text_within"]), len(repeats["same_text_across"])) == (2, 1)


@pytest.mark.parametrize("name", ["train", "dev", "test_sample_100"])
def test_records_come_back_field_for_field(release: Path, name: str) -> None:
    path = release / f"{name}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    questions = list(read_questions(path))
    assert [json.dumps(question_to_official(q), ensure_ascii=False) for q in questions] == [
        json.dumps(json.loads(line), ensure_ascii=False) for line in lines
    ]


def test_every_question_joins_its_original(shared: Path, release: Path) -> None:
    arc = index_by_id(read_multiple_choice(shared / "data" / "arc"))
    for question in read_questions(release, arc=arc):
        original = arc[question.question_id]
        assert question.difficulty == original.difficulty
        assert question.source_split == original.split
        assert question.key_text == original.key_text is not None
        assert 3 <= len(question.choices) <= 5


@pytest.mark.slow
def test_loading_gives_the_same_records(
    shared: Path, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path))
    import twowiki
    from twowiki.arc_da.schema import parse_question

    loaded = twowiki.load_dataset("arc_da", data_dir=release, arc_dir=shared / "data" / "arc")
    for split, name in (("train", "train"), ("validation", "dev")):
        records = read_lines(release / f"{name}.jsonl")
        assert [question_to_official(parse_question(row)) for row in loaded[split]] == records
        assert all(row["answer_key"] for row in loaded[split])


def test_floors_and_ceiling(release: Path) -> None:
    """An echo of the question is near the bottom; one gold answer against the others near 50."""
    gold = read_gold_questions(release, split="dev")
    echo = score_system(gold, {name: question.question for name, question in gold.items()})
    report = summarize_system(echo, ArcDaSettings(resamples=200))
    assert 5 < report["f1"] < 12
    assert 5 < report["rougeL"] < 13
    rest: dict[str, Question] = {}
    said: dict[str, str] = {}
    for name, question in gold.items():
        for place, answer in enumerate(question.answers):
            others = question.answers[:place] + question.answers[place + 1 :]
            if others:
                rest[f"{name}#{place}"] = question._replace(answers=others)
                said[f"{name}#{place}"] = answer
    left_out = summarize_system(score_system(rest, said), ArcDaSettings(resamples=50))
    assert 40 < left_out["f1"] < 60
    assert left_out["rougeL"] > left_out["f1"]


def test_scoring_the_files_of_a_system(release: Path, tmp_path: Path) -> None:
    gold = read_gold_questions(release, split="dev")
    first = write_lines(
        tmp_path / "first.jsonl",
        [{"question_id": name, "prediction": q.answers[0]} for name, q in gold.items()],
    )
    out = tmp_path / "report.json"
    assert arc_da("score", first, release, "--split", "dev", "--resamples", 100, "--out", out) == 0
    report = json.loads(out.read_text())
    assert report["f1"] == pytest.approx(100)
    assert [report["by"]["difficulty"][name]["n"] for name in ("easy", "challenge")] == [264, 74]


def test_five_times_faster_than_a_fresh_scorer_a_pair(release: Path) -> None:
    questions = [
        *read_gold_questions(release, split="train").values(),
        *read_gold_questions(release, split="dev").values(),
    ]
    rng = Random(0)
    golds = [(q.answers * 3)[:3] for q in questions][:1397]
    said = [rng.choice(golds[rng.randrange(len(golds))]) for _ in golds]

    def ours() -> list[float]:  # stems stay cached: a process stems a word once
        for name in ("answer_tokens", "rouge_words", "rouge_tokens", "_position_bits"):
            getattr(scoring, name).cache_clear()
        return [
            scoring.score_answer(s, g).metrics["rougeL"] for s, g in zip(said, golds, strict=True)
        ]

    def theirs() -> list[float]:
        return [
            max(
                rouge_scorer.RougeScorer(["rougeL"], use_stemmer=True)
                .score(gold, text)["rougeL"]
                .fmeasure
                for gold in listed
            )
            for text, listed in zip(said, golds, strict=True)
        ]

    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(3):
        for name, way in (("ours", ours), ("theirs", theirs)):
            start = time.process_time()
            figures = way()
            times[name].append(time.process_time() - start)
            if name == "ours":
                mine = figures
    assert max(abs(a - b) for a, b in zip(mine, figures, strict=True)) <= 1e-12
    ratio = statistics.median(times["theirs"]) / statistics.median(times["ours"])
    assert ratio >= 5, f"only {ratio:.1f} times faster"
