"""The `evaluate` module: its own example, equality with `twowiki.score`, batches, columns."""

from __future__ import annotations

import copy
import doctest
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.joint_files import FACTS, LADY, ROOT, TRIPLES, gold, load_script, row_of, said, several
from twowiki.data.schema import parse_record, to_row
from twowiki.errors import DataError
from twowiki.metric import to_evaluate_records
from twowiki.metric.results import METRIC_NAMES
from twowiki.metric.score import score

FOLDER = ROOT / "metrics" / "twowiki_joint"


@pytest.fixture(scope="module")
def loaded() -> Any:
    evaluate = pytest.importorskip("evaluate")
    return evaluate.load(str(FOLDER))


@pytest.fixture
def metric(loaded: Any) -> Any:
    loaded._kept = []
    return loaded


def rows(count: int = 6) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Predictions and references as rows of the data set."""
    golds, blocks = several(count)
    spoken = [
        row_of(
            said(blocks["answer"][name], blocks["sp"][name], blocks["evidence"][name], name), name
        )
        for name in blocks["answer"]
    ]
    return spoken, [to_row(parse_record(record)) for record in golds]


def test_the_example_in_its_text_runs(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import evaluate

    monkeypatch.chdir(ROOT)
    text = load_script("metrics/twowiki_joint/twowiki_joint.py")._INPUTS
    parsed = doctest.DocTestParser().get_doctest(text, {"evaluate": evaluate}, "card", None, 0)
    assert len(parsed.examples) >= 5
    assert doctest.DocTestRunner().run(parsed).failed == 0


def test_the_example_in_its_card_runs(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(ROOT)
    blocks = (FOLDER / "README.md").read_text(encoding="utf-8").split("```")
    code = next(block for block in blocks if block.startswith("python"))
    expected = blocks[blocks.index(code) + 2].strip()
    exec(code.removeprefix("python"), {})
    assert capsys.readouterr().out.strip() == expected


def test_equal_to_score(metric: Any) -> None:
    spoken, true = rows()
    before = copy.deepcopy((spoken, true))
    options = {"version": "1.0", "matching": "one_to_one", "seed": 4}
    found = metric.compute(
        predictions=spoken, references=true, by_type=True, confidence_level=0.9, **options
    )
    assert (spoken, true) == before, "an input was changed"
    report = score(spoken, true, by_type=True, confidence=0.9, **options).to_dict()
    assert list(found)[:16] == list(METRIC_NAMES)
    assert {key: found[key] for key in METRIC_NAMES} == report["metrics"]
    for name in ("by_type", "intervals", "signature", "n", "version", "matching", "seed"):
        assert found[name] == report[name]
    for name in ("missing", "subset", "data", "versions", "command", "warnings"):
        assert name in found


def test_add_and_add_batch_and_compute_are_one(metric: Any) -> None:
    perfect, wrong = row_of(said()), row_of(said("x", [["A", 0]], [["a", "b", "c"]], "q2"), "q2")
    true = [gold(), gold(_id="q2")]
    at_once = metric.compute(predictions=[perfect, wrong], references=true)
    assert {at_once[key] for key in METRIC_NAMES} == {50.0}
    for prediction, reference in zip((perfect, wrong), true, strict=True):
        metric.add(prediction=prediction, reference=reference)
    assert metric.compute() == at_once
    metric.add_batch(predictions=[perfect], references=true[:1])
    metric.add_batch(predictions=[wrong], references=true[1:])
    assert metric.compute() == at_once
    metric.add_batch(predictions=[perfect], references=true[:1])
    mixed = metric.compute(predictions=[wrong], references=true[1:])
    assert mixed == at_once
    alone = metric.compute(predictions=[perfect], references=true[:1])
    assert {alone[key] for key in METRIC_NAMES} == {100.0}


def test_rows_are_matched_by_id(metric: Any) -> None:
    spoken, true = rows()
    once = metric.compute(predictions=spoken, references=true)
    turned = metric.compute(predictions=spoken[::-1], references=true)
    assert {key: turned[key] for key in METRIC_NAMES} == {key: once[key] for key in METRIC_NAMES}


def test_datasets_and_lazy_columns(metric: Any) -> None:
    import datasets

    from twowiki.builder.features import features

    spoken, true = rows()
    expected = metric.compute(predictions=spoken, references=true, by_type=True)
    gold_set = datasets.Dataset.from_list(true, features=features("data_ids_april7"))
    said_set = datasets.Dataset.from_list([{"said": row, "gold": row["id"]} for row in spoken])
    columns = datasets.Dataset.from_list([{"said": s} for s in spoken])["said"]
    for predictions in (said_set["said"], columns, datasets.Dataset.from_list(spoken)):
        found = metric.compute(predictions=predictions, references=gold_set, by_type=True)
        assert {key: found[key] for key in METRIC_NAMES} == {
            key: expected[key] for key in METRIC_NAMES
        }
        assert found["by_type"] == expected["by_type"]
        assert found["signature"] == expected["signature"]
    assert list(expected["by_type"]) == [
        "comparison", "inference", "compositional", "bridge_comparison",
    ]  # fmt: skip


def test_records_made_of_official_files_fit(metric: Any, tmp_path: Path) -> None:
    from tests.joint_files import write

    golds, blocks = several()
    del blocks["answer"]["q3"], blocks["sp"]["q3"], blocks["evidence"]["q3"]
    paths = write(tmp_path / "p.json", blocks), write(tmp_path / "dev.json", golds)
    expected = score(*paths)
    for made in (to_evaluate_records(*paths), to_evaluate_records(blocks, golds)):
        assert len(made["predictions"]) == len(made["references"]) == 6
        assert made["predictions"][3] == {
            "id": "q3", "answer": None, "supporting_facts": None, "evidences": None,
        }  # fmt: skip
        encoded = metric.features.encode_batch(made)
        assert len(encoded["predictions"]) == 6
        found = metric.compute(**made)
        assert {key: found[key] for key in METRIC_NAMES} == expected.metrics
        assert found["signature"] == expected.signature
    official = metric.compute(predictions=blocks, references=golds)
    assert {key: official[key] for key in METRIC_NAMES} == expected.metrics


def test_features_are_declared(metric: Any) -> None:
    predictions = metric.features["predictions"]
    assert set(predictions) == {"id", "answer", "supporting_facts", "evidences"}
    assert predictions["supporting_facts"].feature["sent_id"].dtype == "int32"
    assert set(metric.features["references"]) == {
        "id", "type", "answer", "answer_id", "supporting_facts", "evidences", "evidences_id",
    }  # fmt: skip


def test_nothing_said_and_malformed_values(metric: Any) -> None:
    row = {"id": "q1", "answer": None, "supporting_facts": None, "evidences": None}
    found = metric.compute(predictions=[row], references=[gold()])
    assert {found[key] for key in METRIC_NAMES} == {0.0}
    assert found["missing"]["count"] == 1
    odd = row_of(said(sp=[["Tavik Orrel", "0"], ["Dessa Orrel", "1"]]))
    assert metric.compute(predictions=[odd], references=[gold()])["sp_em"] == 0.0
    coerced = metric.compute(predictions=[odd], references=[gold()], coerce_indices=True)
    assert coerced["sp_em"] == 100.0


def test_aliases_as_path_or_mapping(metric: Any, tmp_path: Path) -> None:
    from tests.joint_files import write_lines

    true = gold(evidences=TRIPLES[:1], evidences_id=[["Q9001", "mother", "Q9002"]])
    spoken = row_of(said(evidence=[["Tavik Orrel", "mother", "Lady Dessa"]]))
    path = write_lines(tmp_path / "a.json", LADY)
    for aliases in (str(path), path, {"Q9002": ["Lady Dessa"]}, LADY):
        found = metric.compute(predictions=[spoken], references=[true], aliases=aliases)
        assert found["evi_em"] == 100.0
        assert "aliases:yes" in found["signature"]
    assert metric.compute(predictions=[spoken], references=[true])["evi_em"] == 0.0


@pytest.mark.parametrize(
    ("predictions", "words"),
    [
        ([{"id": "q1", "answer": "Brinmoor"}], '"sp"'),
        (["Brinmoor"], "official form"),
        ([{"answer": "x", "supporting_facts": [], "evidences": []}], "no id"),
        ([], "0 predictions for 1 references"),
        ([{"id": "q9", "answer": "x", "supporting_facts": [], "evidences": []}], "'q1'"),
    ],
)
def test_unusable_input_is_named(metric: Any, predictions: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        metric.compute(predictions=predictions, references=[gold()])


def test_other_misuse(metric: Any) -> None:
    with pytest.raises(ValueError, match="nothing to score"):
        metric.compute()
    with pytest.raises(ValueError, match="both"):
        metric.add_batch(predictions=[row_of(said())])
    with pytest.raises(ValueError, match="unknown inputs"):
        metric.add(prediction=row_of(said()), reference=gold(), refs=1)
    with pytest.raises(DataError, match="version': is '3'"):
        metric.compute(predictions=[row_of(said())], references=[gold()], version="3")
    with pytest.raises(ValueError, match="row of the data set"):
        metric.compute(predictions=[row_of(said())], references=["q1"])


def test_several_processes_are_told_to_gather() -> None:
    import evaluate

    sharded = evaluate.load(str(FOLDER), num_process=2, process_id=0, experiment_id="x")
    with pytest.raises(ValueError, match="gather"):
        sharded.add_batch(predictions=[row_of(said())], references=[gold()])


def test_it_combines_with_other_metrics(metric: Any) -> None:
    import evaluate

    both = evaluate.combine([metric, evaluate.load(str(FOLDER))])
    both.add_batch(predictions=[row_of(said())], references=[gold()])
    found = both.compute()
    assert 100.0 in found.values()


@pytest.mark.slow
def test_offline_with_a_fresh_home(tmp_path: Path) -> None:
    code = (
        "import evaluate\n"
        f"metric = evaluate.load({str(FOLDER)!r})\n"
        f"gold = {gold()!r}\n"
        f"said = {row_of(said())!r}\n"
        "print(metric.compute(predictions=[said], references=[gold])['joint_f1'])\n"
    )
    home = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1"}
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert out.stdout.strip() == "100.0"


@pytest.mark.slow
def test_the_page_scores_and_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gradio")
    code = (
        "import sys, json\n"
        f"sys.path.insert(0, {str(FOLDER)!r})\n"
        "import app\n"
        f"facts = {chr(10).join(f'{title} | {number}' for title, number in FACTS)!r}\n"
        f"triples = {chr(10).join(' | '.join(triple) for triple in TRIPLES)!r}\n"
        "table, notes = app.compute('brinmoor', facts, triples, 'Brinmoor', facts, triples, "
        "'Dessa Orrel = Lady', '1.1', 'official')\n"
        'read = app.read_output(\'{"answer": "x", "supporting_facts": [["A", 1]]}\')\n'
        "print(json.dumps([table, notes, read]))\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "GRADIO_ANALYTICS_ENABLED": "False"},
        capture_output=True,
        text=True,
        check=True,
    )
    import json

    table, notes, read = json.loads(out.stdout.splitlines()[-1])
    assert [line[1:] for line in table] == [[100.0] * 4] * 4
    assert "twowiki_joint|" in notes
    assert read == ["x", "A | 1", ""]
