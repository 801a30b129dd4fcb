"""The report page: its counts agree with the score, its outcomes with their meaning, its HTML."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.joint_files import CONTEXT, FACTS, LADY, TRIPLES, gold, said, several, write, write_lines
from twowiki.cli.main import main
from twowiki.data.schema import Paragraph, Prediction
from twowiki.errors import DataError
from twowiki.io.files import sha256_of
from twowiki.metric.error_analysis import ERROR_TYPES, OUTCOME_OF, OUTCOMES, ErrorClassifier
from twowiki.metric.gold import parse_gold
from twowiki.metric.gold_sources import open_gold
from twowiki.metric.predictions import read_predictions
from twowiki.metric.results import no_aliases
from twowiki.metric.score import ScoreRun, score
from twowiki.metric.scoring import Scorer
from twowiki.metric.settings import ScoreSettings
from twowiki.pages.collect import EvenSample, ReportFindings, collect_findings
from twowiki.pages.evidence import (
    MOST_EDGES,
    Edge,
    MarkedText,
    as_text,
    join_chains,
    locate_facts,
    make_graph,
    mark_answers,
    render_graph,
)
from twowiki.pages.page import render_page
from twowiki.pages.run_curves import ShownRun

VOID = {"meta", "input", "br", "img", "rect"}
NASTY = "<img src=x onerror=alert(1)>\"'&</script><script>alert(2)</script>\x00\ud800\u202e"


class Reader(HTMLParser):
    """Checks that tags are closed in order, and gathers ids, texts and addresses."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.tags: Counter[str] = Counter()
        self.examples: list[dict[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.tags[tag] += 1
        self.ids += [given["id"]] if "id" in given else []
        self.addresses += [given[name] for name in ("src", "href", "action") if name in given]
        assert not any(name.startswith("on") or name == "style" for name in given), given
        if given.get("class") == "example":
            self.examples.append(given)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self.stack, f"</{tag}> closes nothing"
        assert self.stack[-1] == tag, (self.stack, tag)
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.stack
    assert len(set(reader.ids)) == len(reader.ids), "an id stands twice"
    return reader


def findings_of(golds: Any, predictions: Any, most: int = 100, **options: Any) -> ReportFindings:
    aliases = options.pop("aliases", None)
    settings = ScoreSettings(by_type=True, confidence=0.95, resamples=50, **options)
    run = ScoreRun(read_predictions(predictions), open_gold(golds), settings, aliases=aliases)
    return collect_findings(run, most=most, seed=0)


def verdict(prediction: Prediction, record: dict[str, Any], **options: Any) -> tuple[str, set[str]]:
    scorer = Scorer(ScoreSettings(**options), no_aliases)
    true = parse_gold(record, 0)
    outcome, signs = ErrorClassifier(scorer).classify(
        prediction, true, scorer.score_example(prediction, true)
    )
    return outcome, set(signs)


OTHER = [["Oru", "mother", "Ash"]]


@pytest.mark.parametrize(
    ("prediction", "outcome", "signs"),
    [
        (("Brinmoor", FACTS, TRIPLES), "all_right", set()),
        (("brinmoor", FACTS, TRIPLES[:1]), "evidence_wrong", {"later_hop"}),
        (("Brinmoor", FACTS, TRIPLES[1:]), "evidence_wrong", {"first_hop"}),
        (("Brinmoor", FACTS, [*TRIPLES, *OTHER]), "evidence_wrong", {"extra_triples"}),
        (("Brinmoor", FACTS, []), "evidence_wrong", {"no_triples"}),
        (("Brinmoor", FACTS, None), "evidence_wrong", {"no_triples", "part_missing"}),
        (
            ("Brinmoor", FACTS, [["Tavik Orrel", "father", "Dessa Orrel"], TRIPLES[1]]),
            "evidence_wrong",
            {"first_hop", "other_relation"},
        ),
        (
            ("Brinmoor", FACTS, [TRIPLES[0][::-1], TRIPLES[1]]),
            "evidence_wrong",
            {"first_hop", "reversed"},
        ),
        (("Brinmoor", FACTS[:1], TRIPLES), "sentences_wrong", {"sentence_missing"}),
        (("Brinmoor", [*FACTS, ["Oru", 0]], TRIPLES), "sentences_wrong", {"sentence_extra"}),
        (
            ("Brinmoor", [["Oru", 0]], OTHER),
            "answer_alone",
            {"sentence_missing", "sentence_extra", "first_hop"},
        ),
        (("Oru", FACTS, TRIPLES), "answer_wrong", set()),
        (("Dessa Orrel", FACTS, TRIPLES), "answer_wrong", {"on_the_way"}),
        (("the Brinmoor town", FACTS, TRIPLES), "answer_wrong", {"near"}),
        (("yes", FACTS, TRIPLES), "answer_wrong", {"other_kind"}),
        (("", FACTS, TRIPLES), "answer_wrong", {"no_answer"}),
        ((["a"], FACTS, TRIPLES), "answer_wrong", {"no_answer"}),
        ((None, FACTS, TRIPLES), "answer_wrong", {"no_answer", "part_missing"}),
        (("Oru", FACTS, TRIPLES[:1]), "sentences_alone", {"later_hop"}),
        (("Oru", FACTS[:1], TRIPLES), "evidence_alone", {"sentence_missing"}),
        (
            ("Oru", [], []),
            "all_wrong",
            {"sentence_missing", "no_triples"},
        ),
        ((None, None, None), "no_prediction", set()),
    ],
)
def test_outcomes_and_signs(prediction: Any, outcome: str, signs: set[str]) -> None:
    assert verdict(Prediction(*prediction), gold()) == (outcome, signs)


def test_every_kind_has_a_meaning_of_its_own() -> None:
    kinds = [*OUTCOMES, *ERROR_TYPES]
    for texts in zip(*kinds, strict=True):
        assert len(set(texts)) == len(kinds)
    assert set(OUTCOME_OF.values()) | {"no_prediction"} == {kind.key for kind in OUTCOMES}


def test_yes_and_no_are_flipped() -> None:
    assert "flipped" in verdict(Prediction("No.", FACTS, TRIPLES), gold(answer="yes"))[1]
    assert "other_kind" in verdict(Prediction("Oru", FACTS, TRIPLES), gold(answer="yes"))[1]


def test_a_chain_of_two_pairs_has_two_starts() -> None:
    triples = [
        ["Film A", "director", "Oru"],
        ["Film B", "director", "Ash"],
        ["Oru", "date of birth", "1901"],
        ["Ash", "date of birth", "1902"],
    ]
    record = gold(type="bridge_comparison", evidences=triples, answer="Film A")
    for left, sign in ((0, "first_hop"), (1, "first_hop"), (2, "later_hop"), (3, "later_hop")):
        some = [triple for number, triple in enumerate(triples) if number != left]
        assert verdict(Prediction("Film A", FACTS, some), record)[1] == {sign}
    circle = gold(evidences=[["A", "sister", "B"], ["B", "sister", "A"]])
    assert verdict(Prediction("Brinmoor", FACTS, [["B", "sister", "A"]]), circle)[1] == {
        "first_hop"
    }


def test_gold_without_evidence_is_judged_by_what_it_has() -> None:
    record = gold(evidences=[])
    assert verdict(Prediction("Brinmoor", FACTS, None), record)[0] == "all_right"
    assert verdict(Prediction("Oru", FACTS, []), record)[0] == "answer_wrong"


names = st.sampled_from(["Tavik Orrel", "Dessa Orrel", "Brinmoor", "brinmoor ", "Oru", "yes", ""])
relations = st.sampled_from(["mother", "place of birth", "Mother"])
triple_lists = st.lists(st.tuples(names, relations, names).map(list), max_size=4)
fact_lists = st.lists(st.tuples(names, st.integers(-1, 2)).map(list), max_size=4)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=6
)


@given(
    st.builds(Prediction, names, fact_lists, triple_lists),
    st.sampled_from(["1.0", "1.1"]),
    st.sampled_from(["official", "one_to_one"]),
)
def test_outcomes_agree_with_the_rows(said: Prediction, version: str, matching: str) -> None:
    scorer = Scorer(ScoreSettings(version=version, matching=matching), no_aliases)
    true = parse_gold(gold(), 0)
    result = scorer.score_example(said, true)
    judge = ErrorClassifier(scorer)
    outcome, signs = judge.classify(said, true, result)
    assert outcome == OUTCOME_OF[tuple(result.metrics[place] == 1 for place in (0, 4, 8))]
    assert (outcome == "all_right") <= (not signs)
    checked = judge.match_entries(said, true)
    assert all(hit for _, hit in checked.gold_facts) == ("sentence_missing" not in signs) or (
        result.metrics[4] == 1
    )
    # recall of the sentences is what the checked gold sentences say
    found = [hit for _, hit in checked.gold_facts]
    assert (sum(found) > 0) == (result.metrics[7] > 0)
    assert (sum(hit for _, hit in checked.gold_triples) > 0) == (result.metrics[11] > 0)


@given(anything, anything, anything)
@settings(max_examples=60)
def test_any_prediction_makes_a_page(answer: Any, facts: Any, triples: Any) -> None:
    findings = findings_of([gold()], said(answer, facts, triples))
    read(render_page(findings, title="any", seed=0))


@pytest.mark.parametrize("options", [{}, {"version": "1.0"}, {"aliases": LADY}])
def test_the_report_is_that_of_the_score(options: dict[str, Any]) -> None:
    golds, predictions = several(9)
    predictions["answer"].pop("q4")
    predictions["answer"]["extra"] = "x"
    names = options.pop("aliases", None)
    mine = findings_of(golds, predictions, aliases=names, **options).report
    theirs = score(
        predictions, golds, names, **options, confidence=0.95, resamples=50, rounds=10, by_type=True
    )
    assert mine.to_dict() == theirs.to_dict()


def test_the_page_counts_what_the_rows_hold(tmp_path: Path) -> None:
    golds, predictions = several(12)
    findings = findings_of(golds, predictions)
    reader = read(render_page(findings, title="Counts", seed=0))
    assert len(reader.examples) == 12
    shown = Counter((one["data-type"], one["data-outcome"]) for one in reader.examples)
    assert shown == findings.outcomes
    assert sum(findings.outcomes.values()) == findings.report.n == 12
    text = " ".join("".join(reader.text).split())
    assert findings.report.signature in text
    assert f"{findings.report.metrics['joint_f1']:.2f}" in text
    assert "All 12 questions are shown with their sentences." in text


def test_nothing_that_a_file_holds_becomes_markup(tmp_path: Path) -> None:
    record = gold(
        question=NASTY,
        answer=NASTY,
        context=[[NASTY, [NASTY, "b"]], *CONTEXT],
        supporting_facts=[[NASTY, 0]],
        evidences=[[NASTY, NASTY, NASTY]],
    )
    prediction = said(NASTY, [[NASTY, 0], ["<b>", 1]], [[NASTY, "<i>", NASTY], [NASTY]])
    page = render_page(findings_of([record], prediction), title=NASTY, seed=0)
    reader = read(page)
    assert reader.tags["script"] == 1
    assert reader.tags["img"] == 0
    assert "\x00" not in page
    page.encode("utf-8")
    assert all(address.startswith("#") for address in reader.addresses)


def test_the_page_forbids_all_but_its_own_style_and_script() -> None:
    import base64
    import hashlib

    page = render_page(findings_of([gold()], said()), title="t", seed=0)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    for kind in ("style", "script"):
        text = re.search(rf"<{kind}>(.*?)</{kind}>", page, re.S)
        assert text is not None
        digest = base64.b64encode(hashlib.sha256(text[1].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy[1]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)


def test_a_sample_is_even_bounded_and_depends_on_names_alone() -> None:
    def drawn(order: list[int], seed: int = 1) -> list[int]:
        sample: EvenSample[int] = EvenSample(9, seed)
        for number in order:
            sample.add("rare" if number % 50 == 0 else f"group {number % 2}", str(number), number)
        return sample.items()

    numbers = list(range(100))
    chosen = drawn(numbers)
    assert chosen == sorted(chosen)
    assert len(chosen) == 9
    assert {0, 50} <= set(chosen)
    assert Counter(number % 2 for number in chosen if number % 50) in ({0: 3, 1: 4}, {0: 4, 1: 3})
    assert sorted(drawn(numbers[::-1])) == chosen
    assert drawn(numbers, seed=2) != chosen
    empty: EvenSample[int] = EvenSample(0, 1)
    empty.add("g", "n", 1)
    assert empty.items() == []


def test_only_some_examples_are_shown_and_all_are_counted() -> None:
    golds, predictions = several(40)
    findings = findings_of(golds, predictions, most=6)
    reader = read(render_page(findings, title="Some", seed=3))
    assert len(reader.examples) == 6
    assert Counter(one["data-outcome"] for one in reader.examples) == {
        "all_right": 3,
        "all_wrong": 3,
    }
    assert sum(findings.outcomes.values()) == 40
    assert "6 of 40 questions are shown with their sentences, drawn by seed 3" in "".join(
        reader.text
    )


pairs = st.lists(st.tuples(*[st.sampled_from("abcdefgh")] * 2), max_size=12)


@given(pairs)
def test_chains_hold_each_edge_once_and_hang_together(given_pairs: list[tuple[str, str]]) -> None:
    edges = [Edge(one, str(n), other) for n, (one, other) in enumerate(given_pairs)]
    chains = join_chains(edges)
    assert sorted(edge for chain in chains for edge in chain) == sorted(edges)
    for chain in chains:
        assert all(one.object == two.subject for one, two in pairwise(chain))


def test_a_chain_starts_where_nothing_leads() -> None:
    edges = [Edge("b", "r", "c"), Edge("x", "r", "y"), Edge("a", "r", "b")]
    assert join_chains(edges) == [[edges[1]], [edges[2], edges[0]]]
    circle = [Edge("a", "r", "b"), Edge("b", "r", "a")]
    assert join_chains(circle) == [circle]


def test_a_graph_says_in_words_what_it_shows() -> None:
    long = "A very long name of a film that was never made " * 9
    triples = [
        ("Tavik", "mother", "Dessa"),
        ("Tavik", "<employer>", "Dessa"),
        ("Dessa", "place of birth", long),
        ("Dessa", "sibling", ""),
        ("Tavik", "mother", "Dessa"),
        "odd",
    ]
    drawn = render_graph(triples, ["right", "wrong", "missed", "", "right", "wrong"])
    reader = read(drawn)
    text = " ".join("".join(reader.text).split())
    assert "Tavik ✓ mother (right) Dessa" in text
    assert "✗ <employer> (wrong)" in text
    assert "○ place of birth (not found) A very long" in text
    assert "…" in text
    assert "(empty)" in text
    assert "2 more as text" in text
    assert "Tavik – mother – Dessa (right)" in text
    assert "odd (not a triple)" in text
    assert drawn == render_graph(triples, ["right", "wrong", "missed", "", "right", "wrong"])
    assert "no triples" in render_graph([])
    many = make_graph([(f"a{number}", "r", f"b{number}") for number in range(MOST_EDGES + 7)])
    assert (len(many.chains), len(many.others)) == (MOST_EDGES, 7)


def test_answers_are_marked_as_whole_words() -> None:
    gold_answer = ("gold", "gold answer", "oru")
    assert mark_answers("Orun and Oru, <Oru>.", [gold_answer]) == [
        MarkedText("Orun and "),
        MarkedText("Oru", "gold", "gold answer"),
        MarkedText(", <Oru>."),
    ]
    both = mark_answers("in Oru.", [gold_answer, ("predicted", "predicted answer", "Oru")])
    assert both[1] == MarkedText("Oru", "gold predicted", "gold answer, predicted answer")
    nothing = [("gold", "g", ""), ("predicted", "p", None)]
    assert mark_answers("nothing", nothing) == [MarkedText("nothing")]
    assert len(as_text("x" * 9999)) == 300


def test_facts_find_their_sentences() -> None:
    paragraphs = [Paragraph("Oru", ("a",)), Paragraph("oru", ("b", "c"))]
    found, lost = locate_facts(
        paragraphs, [["oru", 1], ("ORU ", "0"), ["Oru", 1], ["x", 0], "odd", ["Oru", True]]
    )
    assert found == [(1, 1), (0, 0)]
    assert lost == [["Oru", 1], ["x", 0], "odd", ["Oru", True]]


def test_a_runs_curves_and_last_values_are_shown() -> None:
    history = [
        {"step": step, "loss": 30 / step, "losses": {"span": 9 / step, "odd": float("nan")}}
        for step in range(1, 301)
    ]
    history += [{"step": 450, "metrics": {"joint_f1": 40.0, "f1": 80.0}}, "odd", {"loss": None}]
    findings = findings_of([gold()], said())
    run = ShownRun({"history": history, "weights": 1234, "hardware": {"device": NASTY}})
    reader = read(render_page(findings, title="t", seed=0, run=run))
    text = " ".join("".join(reader.text).split())
    assert "Training loss" in text
    assert "Validation" not in text, "one point is no curve"
    assert reader.tags["polyline"] == 2
    assert "training loss 0.1 training span 0.03 validation joint f1 40 validation f1 80" in text
    assert "weights 1,234" in text
    assert "training odd" not in text
    for nothing in ([], None, [{"step": 1}]):
        page = render_page(findings, title="t", seed=0, run=ShownRun({"history": nothing}))
        assert "recorded no losses" in page
        assert "<polyline" not in page


def test_a_run_is_known_by_its_name_and_by_its_scores_on_the_same_gold() -> None:
    golds, predictions = several(8)
    systems = findings_of(golds, predictions).systems
    report = systems[0].report
    scores = {"metrics": dict(report.metrics), "signature": report.signature}
    ShownRun({"scores": scores}).check(systems)
    named = findings_of(golds, {**predictions, "made_by": {"run": "abc", "step": 7}}).systems
    ShownRun({"run": "abc"}).check(named)
    other = {**scores, "metrics": {**report.metrics, "joint_f1": 1.0}}
    elsewhere = {**scores, "signature": "twowiki_joint|n:8|gold:000000|v:1"}
    for wrong in ({"scores": other}, {"scores": elsewhere}, {}, {"run": "abd"}):
        with pytest.raises(DataError, match="did not make these predictions"):
            ShownRun(wrong).check(named)


def command(folder: Path, *more: str) -> int:
    files = [str(folder / name) for name in ("p.json", "g.json", "o.html")]
    return main(["report", *files, *more])


def test_the_command_writes_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golds, predictions = several(8)
    write(tmp_path / "g.json", golds)
    write(tmp_path / "p.json", predictions)
    run = tmp_path / "run"
    report = {"history": [{"step": 1, "loss": 2.0}], "seed": 13, "steps": 1}
    write(run / "report.json", report)
    assert command(tmp_path, "--run", str(run)) == 2
    assert "the run did not make these predictions" in capsys.readouterr().err
    write(run / "scores.json", {"files": {"predictions.json": sha256_of(tmp_path / "p.json")}})
    assert command(tmp_path, "--run", str(run), "--title", "Mine & yours") == 0
    assert "8 questions, 8 shown" in capsys.readouterr().out
    page = (tmp_path / "o.html").read_text(encoding="utf-8")
    reader = read(page)
    assert "Mine & yours" in "".join(reader.text)
    assert reader.tags["figure"] == 16
    assert command(tmp_path, "--run", str(run), "--title", "Mine & yours") == 0
    assert (tmp_path / "o.html").read_text(encoding="utf-8") == page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.json", "o.html", "p.json", "run"]


def test_a_streamed_gold_file_makes_the_same_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golds, predictions = several(8)
    write(tmp_path / "g.json", golds)
    write(tmp_path / "p.json", predictions)
    assert command(tmp_path) == 0
    held = (tmp_path / "o.html").read_text(encoding="utf-8")
    monkeypatch.setattr("twowiki.cli.score.REPORT_HELD", 0)
    assert command(tmp_path) == 0
    assert (tmp_path / "o.html").read_text(encoding="utf-8") == held


def test_raw_texts_of_a_model_make_a_page(tmp_path: Path) -> None:
    write(tmp_path / "g.json", [gold()])
    write_lines(tmp_path / "p.json", [{"id": "q1", "output": "Answer: Brinmoor"}])
    assert command(tmp_path, "--from-llm", "--confidence", "0", "--examples", "0") == 0
    page = (tmp_path / "o.html").read_text(encoding="utf-8")
    assert "0 of 1 questions are shown with their sentences" in page
    assert "bootstrap" not in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"g": [gold(answer="", supporting_facts=[], evidences=[])]}, "no gold"),
        ({"g": []}, "no record"),
        ({"p": {"x": 1}}, "not a prediction"),
        ({"flags": ["--examples", "-1"]}, "--examples"),
        ({"flags": ["--run", "nowhere"]}, "no such file"),
        ({"flags": ["--confidence", "7"]}, "confidence"),
    ],
)
def test_what_cannot_be_reported_is_said(
    change: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "g.json", change.get("g", [gold()]))
    write(tmp_path / "p.json", change.get("p", said()))
    assert command(tmp_path, *change.get("flags", [])) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "o.html").exists()


def test_a_subset_is_reported_alone() -> None:
    golds, predictions = several(6)
    found = findings_of(golds, predictions, subset=("q1", "q4"))
    theirs = score(predictions, golds, subset=["q1", "q4"])
    assert found.report.signature == theirs.signature
    assert [one.gold.id for one in found.shown] == ["q1", "q4"]
    with pytest.raises(DataError, match="not in the gold"):
        findings_of(golds, predictions, subset=("q1", "zz"))


def test_a_long_gold_file_goes_by(tmp_path: Path) -> None:
    """Ten times the records take nearly the same memory: contexts are not held."""
    code = (
        "import sys, resource, json\n"
        "from twowiki.pages.collect import collect_findings\n"
        "from twowiki.metric.gold import GoldReader\n"
        "from twowiki.metric.score import ScoreRun\n"
        "from twowiki.metric.predictions import collect_predictions\n"
        "from twowiki.io.records import DataSource\n"
        "from twowiki.metric.settings import ScoreSettings\n"
        "def records(count):\n"
        "    for n in range(count):\n"
        "        yield {'_id': str(n), 'type': 'comparison', 'question': 'q', 'answer': 'a',\n"
        "               'supporting_facts': [['t', 0]], 'evidences': [['a', 'r', 'b']],\n"
        "               'evidences_id': [], 'answer_id': None,\n"
        "               'context': [['t', [str(n) + 'x' * 20000]]]}\n"
        "empty = {'answer': {}, 'sp': {}, 'evidence': {}}\n"
        "said = collect_predictions(empty, DataSource('m', 'h'))\n"
        "gold = GoldReader(records(int(sys.argv[1])), DataSource('m', 'h'))\n"
        "collect_findings(ScoreRun(said, gold, ScoreSettings()), most=20, seed=0)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    peaks = []
    for count in ("300", "6000"):  # 6 MB and 120 MB of contexts
        ran = subprocess.run(
            [sys.executable, "-c", code, count], capture_output=True, text=True, check=True
        )
        peaks.append(int(ran.stdout))
    assert peaks[1] - peaks[0] < 40_000, peaks


def test_the_page_is_made_without_heavy_libraries() -> None:
    code = (
        "import sys, twowiki.pages.page, twowiki.pages.collect, twowiki.cli.score\n"
        "print([n for n in ('torch', 'datasets', 'evaluate', 'matplotlib', 'pandas') "
        "if n in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_the_real_reference_items_make_a_page(shared: Path, tmp_path: Path) -> None:
    data = shared / "data" / "two_wiki"
    out = tmp_path / "real.html"
    arguments = [str(data / "dev250_predictions.json"), str(data / "dev250.json"), str(out)]
    assert main(["report", *arguments, "--aliases", str(data / "id_aliases.json")]) == 0
    reader = read(out.read_text(encoding="utf-8"))
    expected = json.loads((data / "dev250_expected.json").read_text(encoding="utf-8"))
    text = "".join(reader.text)
    for figure in ("em", "f1", "sp_f1", "evi_f1", "joint_em", "joint_f1"):
        assert f"{expected['overall']['1.1'][figure]:.2f}" in text
    assert len(reader.examples) == 200
