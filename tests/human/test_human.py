"""Human scores: the rubric, intervals, agreement, raters, and how figures agree with people."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.arc_da_files import RELEASE, arc_da, read_lines, read_table, write_lines, write_table
from twowiki.arc_da.metric.scoring import score_all
from twowiki.arc_da.sources import read_gold_questions
from twowiki.errors import DataError
from twowiki.human.agreement import (
    correlations,
    disagreements,
    krippendorff_alpha,
    ranking_auc,
    without_nan,
)
from twowiki.human.metric_agreement import leave_one_out, read_outputs, summarize_agreement
from twowiki.human.raters import PRIOR, judge_raters
from twowiki.human.ratings import RUBRIC, Rating, parse_rating, prediction_sha
from twowiki.human.scores import (
    GOLD_SYSTEM,
    HumanSettings,
    bootstrap_ratings,
    render_scores,
    score_experts,
    score_ratings,
)
from twowiki.human.tasks import make_tasks

QUICK = HumanSettings(resamples=300)
# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C: four observers,
# twelve units, gaps; the published values for each level.
OBSERVED = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)


def rating(
    question: str, rater: str, value: float, system: str = "s", expected: str = ""
) -> Rating:
    return Rating(system, question, "", rater, value, expected)


# --- agreement


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_equals_the_published_values(level: str, alpha: float) -> None:
    given_by = [
        (f"u{unit}", f"r{rater}", float(value))
        for rater, line in enumerate(OBSERVED)
        for unit, value in enumerate(line.split())
        if value != "."
    ]
    assert krippendorff_alpha(given_by, level=level) == pytest.approx(alpha, abs=5e-4)


def test_alpha_corners() -> None:
    assert np.isnan(krippendorff_alpha([]))
    assert np.isnan(krippendorff_alpha([("a", "r", 1.0), ("a", "q", 1.0)]))
    perfect = [(item, rater, float(item)) for item in "012" for rater in "rq"]
    assert krippendorff_alpha(perfect) == 1.0
    with pytest.raises(ValueError, match="twice"):
        krippendorff_alpha([("a", "r", 1.0), ("a", "r", 0.0)])
    with pytest.raises(ValueError, match="unknown level"):
        krippendorff_alpha([], level="ratio")


def test_correlations_and_their_corners() -> None:
    found = correlations([1, 2, 2, 4], [1, 3, 2, 4])
    assert found["pearson"] == pytest.approx(0.9233805)
    assert found["spearman"] == pytest.approx(0.9486833)
    assert found["kendall"] == pytest.approx(0.9128709)
    assert correlations([1, 2, 3], [1, 2, 2 + 1e-13]) == pytest.approx(
        correlations([1, 2, 3], [1, 2, 2])
    )
    for constant in ([], [1.0], [1.0, 1.0]):
        assert all(np.isnan(value) for value in correlations(constant, constant).values())
    with pytest.raises(ValueError, match="differ in length"):
        correlations([1], [1, 2])


def test_a_right_answer_above_a_wrong_one() -> None:
    assert ranking_auc([0.9, 0.4, 0.4], [True, True, False]) == 0.75
    assert np.isnan(ranking_auc([0.9], [True]))


def test_without_nan_and_disagreements() -> None:
    assert without_nan({"a": [float("nan"), 1.0], "b": (2,)}) == {"a": [None, 1.0], "b": [2]}
    found = disagreements({"q1": {"a": 0.0, "b": 1.0}, "q2": {"a": 0.5, "b": 0.75}, "q3": {"a": 0}})
    assert [entry["item"] for entry in found] == ["q1"]


# --- ratings


def test_the_rubric_is_table_2() -> None:
    assert RUBRIC == {"strongly agree": 1.0, "agree": 0.75, "neutral": 0.5,
                      "disagree": 0.25, "strongly disagree": 0.0}  # fmt: skip
    base = {"system": "s", "question_id": "q", "rater": "r"}
    for word, value in RUBRIC.items():
        for written in (word, word.upper(), word.replace(" ", "_"), str(value), value):
            assert parse_rating({**base, "rating": written}, 1).rating == value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rating": "fine"}, "is not a rating"),
        ({"rating": 5}, "is not a rating"),
        ({"rating": -0.25}, "is not a rating"),
        ({"rating": True}, "is not a rating"),
        ({"rating": 0.6}, "not in the rubric"),
        ({"rating": None}, "is missing"),
        ({"rater": ""}, "is missing"),
        ({"expected": "fine"}, "good, bad or empty"),
    ],
)
def test_bad_ratings_are_named(change: dict[str, object], message: str) -> None:
    base = {"system": "s", "question_id": "q", "rater": "r", "rating": 1}
    with pytest.raises(DataError, match=message):
        parse_rating({**base, **change}, 7)
    assert parse_rating({**base, "rating": 0.6}, 7, expert=True).rating == 0.6


def test_items_first_then_systems() -> None:
    given_ratings = [
        *(rating("q1", who, value) for who, value in (("a", 1.0), ("b", 0.5), ("c", 0.0))),
        rating("q2", "a", 1.0),
        rating("q1", "a", 0.25, system="t"),
    ]
    report = score_ratings(given_ratings, QUICK)
    assert report["systems"]["s"]["human_mean"] == pytest.approx(75.0)  # (0.5 + 1.0) / 2
    assert report["systems"]["t"]["human_mean"] == 25.0
    assert report["systems"]["t"]["interval_over"] == "items"  # one rater alone
    assert report["systems"]["s"]["interval_over"] == "two_way"
    found = report["systems"]["s"]
    assert found["human_mean_ci_lower"] <= found["human_mean"] <= found["human_mean_ci_upper"]


def test_the_ceiling_is_compared_on_its_own_questions() -> None:
    rated = [
        *(rating("q1", who, 1.0, system=GOLD_SYSTEM) for who in "ab"),
        *(rating("q1", who, 0.5) for who in "ab"),
        *(rating("q2", who, 1.0) for who in "ab"),
    ]
    report = score_ratings(rated, QUICK)
    assert report["systems"]["s"]["human_mean"] == 75.0
    assert report["on_ceiling_questions"]["s"]["human_mean"] == 50.0
    text = render_scores(report)
    assert "gold answers (ceiling)" in text
    assert "= on the 1 questions that the ceiling has" in text
    same = score_ratings(rated[:4], QUICK)
    assert same["on_ceiling_questions"] == {}
    assert "questions that the ceiling has" not in render_scores(same)


def test_the_order_of_the_file_changes_nothing() -> None:
    generator = np.random.default_rng(1)
    rated = [rating(f"q{i}", f"r{i % 7}", float(generator.choice(list(RUBRIC.values()))))
             for i in range(60)]  # fmt: skip
    shuffled = [rated[place] for place in generator.permutation(60)]
    first, second = (score_ratings(listed, QUICK) for listed in (rated, shuffled))
    assert first["systems"] == second["systems"]


def test_intervals_are_wider_where_raters_differ() -> None:
    generator = np.random.default_rng(0)
    items = np.arange(400)
    raters = items % 10
    values = np.clip(
        0.6 + generator.normal(0, 0.2, 10)[raters] + generator.normal(0, 0.1, 400), 0, 1
    )
    widths = {}
    for over in ("items", "raters", "two_way"):
        low, high = bootstrap_ratings(
            items, raters, values, QUICK._replace(over=over, resamples=4000)
        )
        widths[over] = high - low
    assert widths["items"] < widths["raters"] < widths["two_way"] * 1.05
    expected = 2 * 1.96 * values.std() / 20
    assert widths["items"] == pytest.approx(expected, rel=0.25)


def test_one_who_rates_twice_is_an_error() -> None:
    with pytest.raises(DataError, match="twice"):
        score_ratings([rating("q", "a", 1.0), rating("q", "a", 0.5)], QUICK)
    with pytest.raises(DataError, match="no rating"):
        score_ratings([rating("q", "a", 1.0, expected="good")], QUICK)


def test_bad_raters_are_excluded_and_both_scores_told() -> None:
    rated = [rating(f"q{i}", f"r{i % 8}", 1.0 if i % 8 else 0.0) for i in range(80)]
    tests = [
        rating(f"t{i}", f"r{r}", (1.0 if i % 2 else 0.0) if r else 0.5,
               system="test", expected="good" if i % 2 else "bad")
        for i in range(20) for r in range(8)
    ]  # fmt: skip
    tests[1] = tests[1]._replace(rating=0.5)  # a good rater errs once
    report = score_ratings([*rated, *tests], QUICK)
    assert report["raters"]["excluded"] == ["r0"]
    assert report["raters"]["verdicts"]["r0"]["wrong"] == 20
    assert report["systems"]["s"]["human_mean"] == pytest.approx(87.5)
    assert report["without_excluded"]["s"]["human_mean"] == pytest.approx(100.0)
    assert "test" not in report["systems"]


# --- raters


def test_the_fit_finds_two_groups() -> None:
    generator = np.random.default_rng(0)
    counts = {}
    for place in range(60):
        accuracy = generator.beta(40, 1) if place < 50 else generator.beta(10, 10)
        right = int(generator.binomial(25, accuracy))
        counts[f"r{place:02}"] = (right, 25 - right)
    verdicts, mixture = judge_raters(counts, detector="component", components=2, seed=3)
    assert mixture.fitted
    assert sorted(mixture.weights)[0] == pytest.approx(10 / 60, abs=0.08)
    excluded = {name for name, verdict in verdicts.items() if verdict.probability > 0.999}
    assert excluded
    assert excluded <= {f"r{place}" for place in range(50, 60)}
    again, _ = judge_raters(counts, detector="component", components=2, seed=3)
    assert again == verdicts


@pytest.mark.parametrize(
    "counts",
    [
        {"a": (3, 0), "b": (4, 1)},
        {name: (5, 0) for name in "abcdefgh"},
        {name: (0, 5) for name in "abcdefgh"},
        {name: (0, 0) for name in "abcdefgh"},
        {},
    ],
)
def test_too_little_data_falls_back_and_says_so(counts: dict[str, tuple[int, int]]) -> None:
    verdicts, mixture = judge_raters(counts)
    assert not mixture.fitted
    assert mixture.shapes == (PRIOR,)
    assert all(0 <= verdict.probability <= 1 for verdict in verdicts.values())


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=12), st.integers(1, 3))
def test_any_counts_give_probabilities(pairs: list[tuple[int, int]], components: int) -> None:
    counts = {f"r{place}": pair for place, pair in enumerate(pairs)}
    verdicts, mixture = judge_raters(counts, components=components)
    assert sum(mixture.weights) == pytest.approx(1)
    assert all(0 <= verdict.probability <= 1.0000001 for verdict in verdicts.values())


def test_more_errors_are_never_better() -> None:
    counts = {f"r{wrong}": (20 - wrong, wrong) for wrong in range(0, 20, 2)}
    verdicts, _ = judge_raters(counts)
    found = [verdict.probability for verdict in verdicts.values()]
    by_errors = [verdicts[f"r{wrong}"].probability for wrong in range(0, 20, 2)]
    assert sorted(found) == sorted(by_errors) == by_errors
    with pytest.raises(ValueError, match="two components"):
        judge_raters(counts, detector="component")
    with pytest.raises(ValueError, match="unknown detector"):
        judge_raters(counts, detector="guess")


# --- tasks


SYSTEMS = {"one": {"ARCEZ_Pond_1": "state change", "ARCEZ_Kite_1": " gravity "},
           "two": {"ARCEZ_Pond_1": "melting", "ARCEZ_Kite_1": "gravity"}}  # fmt: skip


def test_tasks_are_blind_shuffled_and_each_answer_once() -> None:
    questions = read_gold_questions(RELEASE, split="train")
    key = make_tasks(questions, SYSTEMS, gold_system=True, tests=4, seed=0)
    shared = [entry for entry in key if set(entry.systems) >= {"one", "two"}]
    assert [entry.answer for entry in shared] == ["gravity"]
    gold = [entry for entry in key if GOLD_SYSTEM in entry.systems]
    assert len(gold) == 4  # a question with one gold answer has none left to compare with
    for entry in gold:
        assert entry.answer in questions[entry.question_id].answers
        assert entry.answer not in entry.golds
    assert len({entry.task for entry in key}) == len(key)
    assert make_tasks(questions, SYSTEMS, gold_system=True, tests=4, seed=0) == key
    assert make_tasks(questions, SYSTEMS, gold_system=True, tests=4, seed=1) != key
    for entry in (entry for entry in key if entry.expected == "bad"):
        words = set(" ".join(questions[entry.question_id].answers).lower().split())
        assert not words & set(entry.answer.lower().split())


def rate(folder: Path, rater: str, value: str) -> Path:
    rows = read_table(folder / "ratings.csv")
    key = {entry["task"]: entry for entry in read_lines(folder / "key.jsonl")}
    for row in rows:
        expected = key[row["task"]]["expected"]
        row["rating"] = {"good": "agree", "bad": "disagree"}.get(expected, value)
        row["rater"] = rater
    return write_table(folder / f"{rater}.csv", rows)


def test_ratings_round_trip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "rating"
    systems = []
    for name, said in SYSTEMS.items():
        lines = [{"id": record, "answer": answer} for record, answer in said.items()]
        systems.append(f"{name}={write_lines(tmp_path / f'{name}.jsonl', lines)}")
    export = ["rate-export", folder, RELEASE, "--split", "train", "--system", *systems,
              "--gold-system", "--tests", "4"]  # fmt: skip
    assert arc_da(*export) == 0
    assert "one" not in (folder / "ratings.csv").read_text().replace("stone", "")
    assert arc_da(*export) == 2
    assert "already has rating tasks" in capsys.readouterr().err
    files = [rate(folder, "ann", "agree"), rate(folder, "bo", "neutral")]
    assert arc_da("rate-import", folder, *files) == 0
    assert arc_da("rate-import", folder, *files) == 0
    ratings = read_lines(folder / "ratings.jsonl")
    assert len(ratings) == len({(r["system"], r["question_id"], r["rater"], r["expected"],
                                 r["prediction_sha"]) for r in ratings})  # fmt: skip
    assert not {"ann", "bo"} & {r["rater"] for r in ratings}
    mine = [r for r in ratings if (r["system"], r["question_id"]) == ("one", "ARCEZ_Kite_1")]
    assert {r["prediction_sha"] for r in mine} == {prediction_sha("gravity")}
    out = tmp_path / "genie.json"
    capsys.readouterr()
    assert arc_da("genie", folder / "ratings.jsonl", "--resamples", 200, "--out", out) == 0
    text = capsys.readouterr().out
    assert f"{GOLD_SYSTEM} (ceiling)" in text
    assert "Krippendorff's alpha" in text
    report = json.loads(out.read_text())
    assert report["systems"]["one"]["human_mean"] == pytest.approx(62.5)
    assert report["raters"]["tested"] == 2
    assert arc_da("metric-agreement", folder / "ratings.jsonl", "--gold", RELEASE, "--split",
                  "train", "--system", *systems, "--resamples", 50) == 0  # fmt: skip
    changed = write_lines(tmp_path / "one.jsonl", [{"id": "ARCEZ_Kite_1", "answer": "wind"}])
    assert arc_da("metric-agreement", folder / "ratings.jsonl", "--gold", RELEASE, "--split",
                  "train", "--system", f"one={changed}") == 2  # fmt: skip
    assert "is not the one in its file" in capsys.readouterr().err


def test_mechanical_turk_ratings_come_back(tmp_path: Path) -> None:
    folder = tmp_path / "rating"
    said = write_lines(tmp_path / "a.jsonl", [{"id": "ARCEZ_Kite_1", "answer": "gravity"}])
    assert arc_da("rate-export", folder, RELEASE, "--split", "train", "--system", f"a={said}",
                  "--tests", 0) == 0  # fmt: skip
    (row,) = read_table(folder / "mturk_input.csv")
    assert "${answer_1}" in (folder / "mturk_design.html").read_text(encoding="utf-8")
    result = {"WorkerId": "W1", **{f"Input.{name}": text for name, text in row.items()}}
    plain = {**result, "Answer.rating_1": "agree", "Answer.taskAnswers": ""}
    chosen = [{"rating_1": {"strongly agree": True, "agree": False}}]
    newer = {**plain, "WorkerId": "W2", "Answer.rating_1": "",
             "Answer.taskAnswers": json.dumps(chosen)}  # fmt: skip
    assert arc_da("rate-import", folder, write_table(tmp_path / "b.csv", [plain, newer])) == 0
    assert {r["rating"] for r in read_lines(folder / "ratings.jsonl")} == {0.75, 1.0}


def test_label_studio_ratings_come_back(tmp_path: Path) -> None:
    folder = tmp_path / "rating"
    said = write_lines(tmp_path / "a.jsonl", [{"id": "ARCEZ_Kite_1", "answer": "gravity"}])
    assert arc_da("rate-export", folder, RELEASE, "--split", "train", "--system", f"a={said}",
                  "--tests", 0) == 0  # fmt: skip
    (task,) = json.loads((folder / "label_studio_tasks.json").read_text())
    choice = {"from_name": "rating", "type": "choices", "value": {"choices": ["strongly agree"]}}
    exported = [{"id": 1, "data": task["data"],
                 "annotations": [{"id": 2, "completed_by": 7, "result": [choice]}]}]  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps(exported), encoding="utf-8")
    assert arc_da("rate-import", folder, path) == 0
    (found,) = read_lines(folder / "ratings.jsonl")
    assert (found["system"], found["rating"]) == ("a", 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"rating": "fine"}, "is not a rating"), ({"task": "x"}, "unknown task"),
     ({"rater": ""}, "no name is given")],
)  # fmt: skip
def test_bad_sheets_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, str], message: str
) -> None:
    folder = tmp_path / "rating"
    assert arc_da("rate-export", folder, RELEASE, "--split", "train", "--gold-system") == 0
    rows = read_table(rate(folder, "ann", "agree"))
    rows[0].update(change)
    assert arc_da("rate-import", folder, write_table(tmp_path / "bad.csv", rows)) == 2
    assert message in capsys.readouterr().err


# --- experts


def test_the_expert_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"system": "s", "question_id": f"q{i}", "rater": who, "rating": value}
        for i, (kim, lee) in enumerate([(1, 1), (0.66, 0.5), (0, 1)])
        for who, value in (("kim", kim), ("lee", lee))
    ]
    path = write_table(tmp_path / "expert.csv", rows)
    assert arc_da("expert", path, "--resamples", 100, "--out", tmp_path / "e.json") == 0
    assert "s: q2: kim 0, lee 1" in capsys.readouterr().out
    report = json.loads((tmp_path / "e.json").read_text())
    assert report["systems"]["s"]["human_mean"] == pytest.approx(100 * (1 + 0.58 + 0.5) / 3)
    assert report["systems"]["s"]["interval_over"] == "items"
    one = score_experts([rating("q", "kim", 0.5)], QUICK)
    assert np.isnan(one["alpha_interval"])


# --- figures against people


def outputs_table(path: Path) -> Path:
    said = [
        ("q1", "rain", "1", "the rain", "1", "snow", "0"),
        ("q2", "ice<br>cold", "0.5", "ice cold", "1", "fog", "0"),
        ("q3", "a", "0", "b", "0", "c", "0"),
        ("q4", "sun", "1", "moon", "0", "sun", "1"),
    ]
    names = ["id", "A", "credit-A", "B", "credit-B", "C", "credit-C"]
    return write_table(path, [dict(zip(names, row, strict=True)) for row in said])


def test_one_system_is_left_out_at_a_time(tmp_path: Path) -> None:
    outputs = read_outputs(str(outputs_table(tmp_path / "o.csv")))
    judged, skipped = leave_one_out(outputs, lambda _, answer, golds: score_all(answer, golds))
    assert skipped == {"A": 1, "B": 2, "C": 1}
    found = {(entry.system, entry.question_id): entry for entry in judged}
    assert ("B", "q2") not in found  # no other system got full credit there
    assert found["A", "q1"].metrics["f1"] == 1.0  # against B's "the rain"
    assert found["A", "q2"].metrics["f1"] == 1.0  # the line break became a space
    assert found["A", "q2"].human == 0.5
    report = summarize_agreement(judged, resamples=50)
    assert report["systems"]["C"]["n"] == 3
    assert report["figures"]["f1"]["auc"] == 1.0
    with pytest.raises(DataError, match="no answer is both"):
        summarize_agreement([])


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        ("id,A", "q,x", "no credit-SYSTEM column"),
        ("id,A,credit-A", "q,x,1", "fewer than two systems"),
        ("id,A,credit-A,B,credit-B", "q,x,2,y,1", "is not a credit"),
        ("id,credit-A,B,credit-B", "q,1,y,1", "no column 'A'"),
    ],
)
def test_bad_tables_are_named(tmp_path: Path, header: str, row: str, message: str) -> None:
    path = tmp_path / "o.csv"
    path.write_text(f"{header}\n{row}\n", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_outputs(str(path))


def test_agreement_on_the_real_outputs(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """300 questions, five systems with human credit; no gold answers in the files."""
    table = shared / "data" / "direct_answer" / "challenge300-outputs.tsv"
    out = tmp_path / "report.json"
    assert arc_da("metric-agreement", table, "--resamples", 200, "--out", out) == 0
    text = capsys.readouterr().out
    assert "one system left out at a time" in text
    report = json.loads(out.read_text())
    assert len(report["systems"]) == 5
    for name in ("f1", "rougeL"):
        figure = report["figures"][name]
        assert figure["pearson_interval"][0] < figure["pearson"] < figure["pearson_interval"][1]
        assert 0.3 < figure["pearson"] < 0.6
        assert figure["auc"] > 0.7
    assert sum(report["skipped"].values()) > 0
