"""What `twowiki.score` reads, what it refuses and in which words, and what it warns of."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.joint_files import (
    CONTEXT,
    FACTS,
    TRIPLES,
    gold,
    row_of,
    said,
    several,
    write,
    write_lines,
)
from twowiki.data.aliases import read_aliases
from twowiki.data.schema import Fact, Prediction, parse_record, to_row
from twowiki.data.sources import read_examples
from twowiki.errors import DataError
from twowiki.metric.predictions import BLOCKS, read_predictions
from twowiki.metric.score import score, score_examples


def warned(report: Any, *words: str) -> bool:
    return any(all(word in warning for word in words) for warning in report.warnings)


# Predictions


def test_forms_of_predictions_score_alike(tmp_path: Path) -> None:
    golds, blocks = several()
    rows = [
        row_of(
            said(blocks["answer"][name], blocks["sp"][name], blocks["evidence"][name], name), name
        )
        for name in blocks["answer"]
    ]
    typed = {
        name: Prediction(blocks["answer"][name], blocks["sp"][name], blocks["evidence"][name])
        for name in blocks["answer"]
    }
    text = json.dumps(blocks)
    archive = tmp_path / "p.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("predictions.json", text)
    (tmp_path / "p.json.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "bom.json").write_bytes(codecs.BOM_UTF8 + text.encode())
    (tmp_path / "utf16.json").write_bytes(text.encode("utf-16"))
    (tmp_path / "pretty.json").write_text(json.dumps(blocks, indent=2).replace("\n", "\r\n"))
    columns = [
        {
            "id": row["id"],
            "answer": row["answer"],
            "supporting_facts": {
                "title": [fact["title"] for fact in row["supporting_facts"]],
                "sent_id": [fact["sent_id"] for fact in row["supporting_facts"]],
            },
            "evidences": json.dumps([list(one.values()) for one in row["evidences"]]),
        }
        for row in rows
    ]
    short = [
        {"_id": name, "answer": blocks["answer"][name], "sp": blocks["sp"][name],
         "evidence": blocks["evidence"][name]}
        for name in blocks["answer"]
    ]  # fmt: skip
    expected = score(blocks, golds).metrics
    assert 0 < expected["joint_f1"] < 100
    forms = [
        rows, iter(rows), typed, columns, short, {row["id"]: row for row in rows},
        write(tmp_path / "p.json", blocks), str(tmp_path / "p.json"), tmp_path / "p.json.gz",
        archive, tmp_path / "bom.json", tmp_path / "utf16.json", tmp_path / "pretty.json",
        write_lines(tmp_path / "rows.jsonl", rows), write(tmp_path / "rows.json", rows),
        write_lines(tmp_path / "one.jsonl", [blocks]),
    ]  # fmt: skip
    for form in forms:
        assert score(form, golds).metrics == expected, form


def test_parquet_predictions(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    golds, blocks = several(4)
    rows = [
        row_of(
            said(blocks["answer"][name], blocks["sp"][name], blocks["evidence"][name], name), name
        )
        for name in blocks["answer"]
    ]
    path = tmp_path / "p.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    assert score(path, golds).metrics == score(blocks, golds).metrics


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "q1", "answer": "Brinmoor"}]',
        '{"q1": "Brinmoor"}',
        "{}",
        '"Brinmoor"',
        "[1, 2]",
        '[["q1", "Brinmoor"]]',
        '{"answer": ["Brinmoor"], "sp": {}, "evidence": {}}',
        '[{"answer": "a", "supporting_facts": [], "evidences": []}]',
        '[{"id": 7, "answer": "a", "supporting_facts": [], "evidences": []}]',
    ],
)
def test_another_shape_is_refused_with_the_expected_keys(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        score(path, [gold()])
    message = str(caught.value)
    assert str(path) in message
    assert all(f'"{word}"' in message for word in ("answer", "sp", "evidence"))
    assert '[["title", 0]]' in message


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (codecs.BOM_UTF8, "empty"),
        (b"<!DOCTYPE html><p>404", "web page"),
        (b'{"answer": {"q1": "Brin', "truncated"),
        (b'{"answer": {"q1" "Brin"}}', "broken JSON"),
        (b'{"answer": {"q1": "\xff\xfe"}}', "UTF-8"),
        (gzip.compress(b'{"answer": {}}' * 999, mtime=0)[:40], "truncated or damaged"),
        (b"[" * 200_000, "cannot be read|can be read|nested|truncated"),
    ],
)
def test_unreadable_files_are_named(tmp_path: Path, data: bytes, word: str) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(data)
    with pytest.raises(DataError, match=word) as caught:
        score(path, [gold()])
    assert str(path) in str(caught.value)


def test_what_the_fast_reader_refuses_is_read_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(
        '{"answer": {"q1": "Brinmoor"}, "sp": {"q1": [["\\ud800", NaN], ["Tavik Orrel", 0], '
        '["Dessa Orrel", 1]]}, "evidence": {"q1": [["a", "b", 123456789012345678901234567890]]}}'
    )
    found = score(path, [gold()]).metrics
    assert found["em"] == 100.0
    assert found["sp_recall"] == 100.0
    record = gold(evidences=[["a", "b", "123456789012345678901234567890"]])
    assert score(path, [record]).metrics["evi_em"] == 100.0


def test_a_block_that_is_not_there_leaves_its_part_out() -> None:
    prediction = said()
    del prediction["evidence"]
    report = score(prediction, [gold()])
    found = report.metrics
    assert (found["em"], found["sp_em"], found["evi_em"], found["joint_f1"]) == (100, 100, 0, 0)
    assert warned(report, '"evidence"', "joint")
    assert report.missing_ids == ("q1",)


def test_nothing_said_of_a_part() -> None:
    for prediction in (said(None), said(sp=None), said(evidence=None)):
        assert score(prediction, [gold()]).metrics["joint_f1"] == 0.0
    report = score(said(evidence=None), [gold()])
    assert (report.metrics["em"], report.metrics["evi_em"]) == (100.0, 0.0)
    assert report.to_dict()["missing"]["evidence"] == 1


def test_missing_and_extra_predictions() -> None:
    prediction = said()
    prediction["answer"]["q9"] = "x"
    report = score(prediction, [gold(), gold(_id="q2")])
    assert set(report.metrics.values()) == {50.0}
    assert report.missing_ids == ("q2",)
    assert report.extra_ids == ("q9",)
    assert warned(report, "1 of 2", "q2")
    assert warned(report, "not in the gold", "q9")
    assert "|missing:1|n:2|" in report.signature


def test_files_of_two_splits_are_suspected() -> None:
    report = score(said(name="other"), [gold()])
    assert warned(report, "one split")


def test_rows_of_one_id() -> None:
    row = row_of(said())
    report = score([row, dict(row)], [gold()])
    assert report.metrics["joint_f1"] == 100.0
    assert warned(report, "repeat")
    with pytest.raises(DataError, match="record q1: two rows with this id differ"):
        score([row, {**row, "answer": "Oru"}], [gold()])


def test_repeated_gold_ids_count_twice() -> None:
    golds = [gold(), gold(), gold(_id="q2")]
    report = score(said(), golds)
    assert report.metrics["em"] == pytest.approx(200 / 3)
    assert report.n == 3
    assert warned(report, "1 gold record", "repeated id")


def test_sentence_ids_as_texts_are_warned_of_by_field() -> None:
    texts = said(sp=[["Tavik Orrel", "0"], ["Dessa Orrel", "1"]])
    report = score(texts, [gold()])
    assert report.metrics["sp_em"] == 0.0
    assert warned(report, "'sp'", "supporting_facts", "texts")
    coerced = score(texts, [gold()], coerce_indices=True)
    assert coerced.metrics["sp_em"] == 100.0
    assert not warned(coerced, "texts")
    assert "coerce_indices:yes" in coerced.signature


def test_structs_in_the_official_form_score_as_there_with_a_warning() -> None:
    structs = [{"title": title, "sent_id": number} for title, number in FACTS]
    report = score(said(sp=structs), [gold()])
    assert report.metrics["sp_f1"] == 0.0
    assert warned(report, "objects", "[title, sent_id]")


def test_predictions_of_another_release_are_detected(tmp_path: Path) -> None:
    beyond = said(sp=[["Tavik Orrel", 0], ["Dessa Orrel", 7]])
    for true in (
        [gold()],
        [to_row(parse_record(gold()))],
        write(tmp_path / "dev.json", [gold()]),
        write_lines(tmp_path / "dev.jsonl", [to_row(parse_record(gold()))]),
    ):
        report = score(beyond, true)
        assert warned(
            report, "different releases", "1 example", "q1", "'Dessa Orrel' has 2, predicted 7"
        )
    for fine in (FACTS[:1], [["Dessa Orrel", -1]], [["Unknown", 9]]):
        assert not warned(score(said(sp=fine), [gold()]), "releases")
    odd = gold(supporting_facts=[["Tavik Orrel", 4]])
    assert not warned(score(said(sp=[["Tavik Orrel", 4], FACTS[1]]), [odd]), "releases")


junk = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3),
        st.sampled_from(["Brinmoor", "Tavik Orrel", "mother", "0", *FACTS, *TRIPLES]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["title", "sent_id", "subject", "x"]), inner, max_size=3),
    ),
    max_leaves=8,
)  # fmt: skip
flags = st.fixed_dictionaries(
    dict.fromkeys(
        ("strict", "strip_titles", "coerce_indices", "unicode", "contains"), st.booleans()
    )
)


@settings(max_examples=200, deadline=None)
@given(st.tuples(junk, junk, junk), flags, st.sampled_from(("1.1", "1.0")))
def test_any_values_are_scored_and_reported(values: Any, on: Any, version: str) -> None:
    prediction = {name: {"q1": value} for name, value in zip(BLOCKS, values, strict=True)}
    before = repr(prediction)
    record = gold(answer_id="Q1", evidences_id=[["Q2", one[1], "Q3"] for one in TRIPLES])
    for matching in ("official", "one_to_one"):
        report = score(
            prediction, [record], {"Q1": ["Oru"]}, version=version, matching=matching, **on
        )
        assert all(value >= 0.0 for value in report.metrics.values())
        assert json.loads(json.dumps(report.to_dict()))["n"] == 1
        assert report.render()
    assert repr(prediction) == before


@settings(max_examples=200, deadline=None)
@given(junk, st.sampled_from(("_id", "answer", "answer_id", "type", "supporting_facts", "evidences",
                              "evidences_id", "context", None)))  # fmt: skip
def test_any_gold_is_scored_or_refused(value: Any, name: str | None) -> None:
    record = value if name is None else gold(**{name: value})
    prediction = said("Oru", [["Tavik Orrel", 5]], [["Oru", "mother", "Oru"]])
    with contextlib.suppress(DataError):
        assert score(prediction, [record]).n == 1
    with contextlib.suppress(DataError):
        score(prediction, record)
    with contextlib.suppress(DataError):
        score(value, [gold()])


# Gold


def test_forms_of_gold_score_alike(tmp_path: Path) -> None:
    golds, blocks = several()
    rows = [to_row(parse_record(record)) for record in golds]
    expected = score(blocks, golds)
    archive = tmp_path / "data_ids_april7.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("data/dev.json", json.dumps(golds))
        opened.writestr("data/train.json", "[]")
    (tmp_path / "dev.json.gz").write_bytes(gzip.compress(json.dumps(golds).encode()))
    write(tmp_path / "release" / "dev.json", golds)
    write(tmp_path / "release" / "test.json", [])
    forms = [
        rows, iter(rows), {"validation": rows, "test": []}, write(tmp_path / "dev.json", golds),
        map(parse_record, golds), read_examples(tmp_path / "dev.json"),
        write_lines(tmp_path / "dev.jsonl", rows), tmp_path / "dev.json.gz", archive,
        tmp_path / "release",
    ]  # fmt: skip
    for form in forms:
        report = score(blocks, form)
        assert report.metrics == expected.metrics, form
        assert report.signature == expected.signature, form
        assert list(report.types) == list(expected.types)
    assert score(blocks, tmp_path / "release").gold.split == "validation"


def test_the_release_is_told_by_its_folder(tmp_path: Path) -> None:
    for name, config in (("data_ids", "data_ids"), ("data", None), ("mine", None)):
        path = write(tmp_path / name / "dev.json", [gold()])
        report = score(said(), path)
        assert report.to_dict()["data"]["gold"]["config"] == config
        assert report.gold.split == "validation"
    assert score(said(), path, config="data").gold.config == "data"


def test_layouts_of_public_mirrors() -> None:
    golds, blocks = several(4)
    expected = score(blocks, golds)
    columns = [
        {
            **record,
            "id": record["_id"],
            "context": {
                "title": [title for title, _ in record["context"]],
                "content": [sentences for _, sentences in record["context"]],
            },
            "supporting_facts": {
                "title": [title for title, _ in record["supporting_facts"]],
                "sent_id": [number for _, number in record["supporting_facts"]],
            },
            "evidences": [
                dict(zip(("fact", "relation", "entity"), one, strict=True))
                for one in record["evidences"]
            ],
        }
        for record in golds
    ]
    texts = [
        {
            **record,
            **{name: json.dumps(record[name])
               for name in ("context", "supporting_facts", "evidences", "evidences_id")},
        }
        for record in golds
    ]  # fmt: skip
    for mirror in (columns, texts):
        assert score(blocks, mirror).metrics == expected.metrics
        assert score(blocks, mirror).signature == expected.signature
        beyond = said(sp=[["Dessa Orrel", 7]], name="q0")
        assert warned(score(beyond, mirror), "releases")


def test_datasets_objects_and_exported_folders(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    from twowiki import export

    golds, blocks = several()
    expected = score(blocks, golds, by_type=True).to_dict()
    write(tmp_path / "release" / "dev.json", golds)
    export(tmp_path / "release", tmp_path / "out")
    loaded = datasets.load_dataset(str(tmp_path / "out"), "data_ids_april7")
    loaded.save_to_disk(str(tmp_path / "saved"))
    forms = [
        tmp_path / "out", loaded, loaded["validation"], loaded["validation"].to_iterable_dataset(),
        loaded["validation"].select(range(6)), tmp_path / "saved",
        sorted((tmp_path / "out").rglob("*.parquet"))[0],
    ]  # fmt: skip
    for form in forms:
        found = score(blocks, form, by_type=True).to_dict()
        for name in ("metrics", "by_type", "signature"):
            assert found[name] == expected[name], form
    beyond = said(sp=[["Dessa Orrel", 7]], name="q0")
    assert warned(score(beyond, loaded), "releases")
    column = datasets.Dataset.from_list([{"said": row_of(said())}])
    assert score(column["said"], [gold()]).metrics["joint_em"] == 100.0


def test_a_hidden_split_stops_with_what_to_do(tmp_path: Path) -> None:
    hidden = {"_id": "t1", "question": "?", "type": "inference", "context": CONTEXT}
    blank = {**hidden, "answer": "", "supporting_facts": [], "evidences": [], "evidences_id": []}
    none = {**blank, "answer": None, "answer_id": None}
    for record in (hidden, blank, none):
        for form in ([record], write(tmp_path / "test.json", [record, {**record, "_id": "t2"}])):
            with pytest.raises(DataError) as caught:
                score(said(name="t1"), form)
            message = str(caught.value)
            assert all(word in message for word in ("validation", "twowiki submission", "github"))


@pytest.mark.parametrize("blank", [{}, {"supporting_facts": [], "evidences": []}])
def test_one_blank_answer_is_one_rule_at_all_doors(blank: dict[str, Any], tmp_path: Path) -> None:
    golds = [gold(), gold(_id="q2", answer="", **blank), gold(_id="q3")]
    path = write(tmp_path / "dev.json", golds)
    rows = [to_row(parse_record(record)) for record in golds]
    none = [{**record, "answer": record["answer"] or None} for record in golds]
    typed = score_examples({"q1": parse_prediction()}, [parse_record(one) for one in golds])
    for report in (*(score(said(), door) for door in (golds, path, rows, none)), typed):
        assert report.n == 3
        assert report.metrics["em"] == pytest.approx(100 / 3)
        assert warned(report, "1 gold record without an answer (first: q2)", "--subset")
    assert score(said(), golds, subset=["q1"]).metrics["em"] == 100.0
    all_blank = [{**record, "answer": ""} for record in golds]
    for door in (all_blank, [to_row(parse_record(record)) for record in all_blank]):
        with pytest.raises(DataError, match="no gold"):
            score(said(), door)


def parse_prediction() -> Prediction:
    return Prediction("Brinmoor", (Fact("Tavik Orrel", 0), Fact("Dessa Orrel", 0)), ())


def test_files_given_in_the_wrong_order_are_told_apart(tmp_path: Path) -> None:
    predictions, true = write(tmp_path / "p.json", said()), write(tmp_path / "dev.json", [gold()])
    with pytest.raises(DataError, match="order is PREDICTIONS GOLD"):
        score(true, predictions)
    with pytest.raises(DataError, match="order is PREDICTIONS GOLD"):
        score(said(), said())


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"answer": "a"}, "'_id'"),
        ({"_id": 5, "answer": "a"}, "number 0"),
        ({"_id": "x", "answer": ["a"]}, "record x, field 'answer'"),
        ({"_id": "x", "answer": "a", "supporting_facts": [{"name": "A"}]}, "'title'"),
        ({"_id": "x", "answer": "a", "evidences": 5}, "record x, field 'evidences'"),
        ("text", "number 0"),
    ],
)
def test_odd_gold_is_named(record: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        score(said(), [record])


@pytest.mark.parametrize(
    ("name", "block"),
    [("answers", "answer"), ("supporting_facts", "sp"), ("evidences", "evidence")],
)
def test_a_misspelt_block_is_refused(name: str, block: str) -> None:
    predictions = said()
    predictions[name] = predictions.pop(block)
    with pytest.raises(DataError, match=f"{name}.*Rename it to '{block}'"):
        score(predictions, [gold()])


def test_gold_of_other_sizes(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no record"):
        score(said(), [])
    with pytest.raises(DataError, match="no such file"):
        score(said(), tmp_path / "absent.json")
    with pytest.raises(DataError, match="no split 'test'"):
        score(said(), {"validation": [gold()], "train": []}, split="test")


def test_missing_fields_are_empty_and_told() -> None:
    record = gold()
    del record["evidences"], record["evidences_id"]
    report = score(said(evidence=[]), [record], config="data")
    assert report.metrics["evi_em"] == 100.0
    assert warned(report, "'evidences'", "empty")
    assert score(said(evidence=[]), [record]).metrics["evi_em"] is None  # no evidence at all


def test_numbers_for_types_are_named() -> None:
    rows = [to_row(parse_record(gold(_id=f"q{kind}", type=name)))
            for kind, name in enumerate(("comparison", "inference"))]  # fmt: skip
    assert list(score(said(), rows, by_type=True).types) == ["comparison", "inference"]
    hyphen = score(said(), [gold(type="bridge-comparison")])
    assert list(hyphen.types) == ["bridge_comparison"]
    assert list(score(said(), [gold(type=None)]).types) == ["untyped"]


# Other names


def test_forms_of_aliases(tmp_path: Path) -> None:
    lines = [
        {"Q_id": "Q9001", "aliases": [], "demonyms": []},
        {"Q_id": "Q9002", "aliases": ["old"], "demonyms": []},
        {"Q_id": "Q9002", "aliases": ["Lady Dessa"], "demonyms": ["Veltrian"]},
        {"Q_id": "Q9003"},
        {"Q_id": "Q9004", "aliases": None, "demonyms": [None, "Oru"]},
    ]
    path = write_lines(tmp_path / "id_aliases.json", lines)
    spaced = tmp_path / "spaced.json"
    spaced.write_text("\n\r\n".join(json.dumps(line) for line in lines) + "\n\n")
    archive = tmp_path / "release.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("data/id_aliases.json", path.read_text())
        opened.writestr("data/dev.json", "[]")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    mapping = {"Q9002": ["Lady Dessa", "Veltrian"], "Q9004": {"demonyms": ["Oru"]}}
    forms = [
        path, tmp_path, spaced, archive, tmp_path / "a.jsonl.gz", lines, mapping,
        write(tmp_path / "array.json", lines), write(tmp_path / "mapping.json", mapping),
        {"Q9002": {"Lady Dessa", "Veltrian"}, "Q9004": "Oru"},
    ]  # fmt: skip
    for form in forms:
        table = read_aliases(form)
        assert table.aliases_of("Q9001") == []
        assert set(table.aliases_of("Q9002")) == {"Lady Dessa", "Veltrian"}, form
        assert table.aliases_of("Q9003") == table.aliases_of("Q7") == []
        assert table.aliases_of("Q9004") == ["Oru"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"aliases": ["x"]}\n{"aliases": ["y"]}', "number 0"),
        ('{"Q_id": 5, "aliases": []}', "Q_id 5"),
        ('{"Q_id": "Q1", "aliases": []}\n{"Q_id": "Q2", ', "truncated"),
        ("[1]", "number 0"),
        ("<html>", "web page"),
        ('{"answer": {"a": "yes"}, "sp": {}, "evidence": {}}', "holds predictions"),
    ],
)
def test_odd_alias_files_are_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "id_aliases.json"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        score(said(), [gold()], path)


def test_odd_names_are_told_when_they_matter(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.json", [{"Q_id": "Q8", "aliases": [["x"]], "demonyms": []}])
    assert score(said(), [gold()], path).metrics["em"] == 100.0
    with pytest.raises(DataError, match="record Q8"):
        score(said("Oru"), [gold(answer_id="Q8")], path)


def test_an_empty_alias_file_knows_no_names(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("")
    report = score(said(), [gold()], tmp_path / "a.json")
    assert report.metrics["em"] == 100.0
    assert "aliases:yes" in report.signature


def test_aliases_and_ids_that_do_not_meet_are_told() -> None:
    with_ids = gold(answer_id="Q8")
    assert warned(score(said(), [with_ids]), "no alias file")
    assert warned(score(said(), [gold()], {}), "no Wikidata ids")
    assert warned(score(said(), [with_ids], {}, version="1.0"), "not used")
    assert not score(said(), [with_ids], {}).warnings


# Subsets


def test_a_subset_is_scored_alone_and_named(tmp_path: Path) -> None:
    golds, blocks = several()
    whole = score(blocks, golds)
    (tmp_path / "ids.txt").write_text("q2\n\n q0 \nq2\n")
    forms = [
        ["q0", "q2"], tmp_path / "ids.txt", write(tmp_path / "ids.json", ["q2", "q0"]),
        write_lines(tmp_path / "ids.jsonl", [{"_id": "q0"}, {"id": "q2"}]),
    ]  # fmt: skip
    signatures = set()
    for form in forms:
        report = score(blocks, golds, subset=form)
        assert report.n == 2
        assert report.metrics["joint_f1"] == 100.0
        assert report.extra_ids == ()
        assert sorted(report.to_dict()["subset"]) == ["q0", "q2"]
        signatures.add(report.signature)
    assert len(signatures) == 1
    assert "|subset:" in signatures.pop()
    assert "subset" not in whole.signature
    with pytest.raises(DataError, match="record q77"):
        score(blocks, golds, subset=["q0", "q77"])
    with pytest.raises(DataError, match="no id"):
        score(blocks, golds, subset=[])


def test_reading_keeps_values_as_they_are() -> None:
    prediction = said(sp=[["Tavik Orrel", "0"]])
    assert read_predictions(prediction).of("q1") == Prediction(
        "Brinmoor", [["Tavik Orrel", "0"]], TRIPLES
    )
