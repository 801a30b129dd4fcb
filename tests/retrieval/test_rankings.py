"""Corpus, relevance judgments, rankings and their scores, in Python and as commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.joint_files import gold, several, write
from twowiki.cli.main import main
from twowiki.data.schema import parse_record, to_row
from twowiki.errors import DataError
from twowiki.retrieval import build_corpus, build_qrels, score_rankings
from twowiki.retrieval.corpus import join_sentences
from twowiki.retrieval.rankings import read_rankings

LAKE = ["Lake Oru", ["It is deep.", " It is cold."]]
EDITED = ["Lake Oru", ["It is deep.", " It is warm."]]


def questions() -> list[dict[str, Any]]:
    contexts = [[LAKE, ["A", ["a."]]], [["B", ["b."]], LAKE], [EDITED]]
    return [gold(_id=f"q{n}", context=context) for n, context in enumerate(contexts, 1)]


def test_paragraphs_are_told_apart_by_title_and_text() -> None:
    corpus = build_corpus(questions())
    lakes = [one for one in corpus.documents.values() if one.title == "Lake Oru"]
    assert {lake.text for lake in lakes} == {"It is deep. It is cold.", "It is deep. It is warm."}
    assert corpus.contexts["q1"][0] == corpus.contexts["q2"][1] != corpus.contexts["q3"][0]
    assert corpus.report == {
        "questions": 3, "paragraphs": 5, "documents": 4, "titles": 3,
        "titles_with_several_texts": 1, "empty_documents": 0,
    }  # fmt: skip
    turned = build_corpus([to_row(parse_record(one)) for one in questions()[::-1]])
    assert turned.documents == corpus.documents
    assert turned.contexts == corpus.contexts
    with pytest.raises(DataError, match="record q1"):
        build_corpus([gold(), gold()])


@pytest.mark.parametrize(
    ("sentences", "text"),
    [
        (["A b.", " C."], "A b. C."),
        (["A b.", "C."], "A b. C."),
        (["A b. ", "", " C."], "A b.  C."),
        ([], ""),
        (["", " "], ""),
    ],
)
def test_sentences_are_joined_with_one_blank(sentences: list[str], text: str) -> None:
    assert join_sentences(sentences) == text


def test_only_gold_paragraphs_are_relevant() -> None:
    context = [[name, [f"{name} 0.", f"{name} 1."]] for name in "ABCDEFGHIJ"]
    facts = [["A", 0], ["A", 1], ["B", 0]]
    record = gold(context=context, supporting_facts=facts)
    qrels = build_qrels([record])
    corpus = build_corpus([record])
    assert [corpus.documents[found].title for found in qrels.relevant["q1"]] == ["A", "B"]
    assert qrels.report["judgments"] == 2
    assert qrels.report["dangling_titles"] == 0
    dangling = build_qrels([gold(context=context, supporting_facts=[["A", 0], ["Z", 0]])])
    assert dangling.report == {
        "questions": 1, "judgments": 1, "questions_without": 0, "dangling_titles": 1,
    }  # fmt: skip
    with pytest.raises(DataError, match="hide"):
        build_qrels([gold(supporting_facts=[])])


def test_means_over_all_gold_questions_by_type_and_hop() -> None:
    golds, _ = several(4)
    ranked = {"q0": ["Tavik Orrel", "Dessa Orrel"], "q1": ["Tavik Orrel", "X", "Dessa Orrel"]}
    report = score_rankings(ranked, golds, ks=(2, 3))
    assert report.summary.metrics == pytest.approx({
        "recall@2": 37.5, "all_gold@2": 25.0, "recall@3": 50.0, "all_gold@3": 50.0, "mrr": 50.0,
        "ndcg@10": 47.99302, 
    })  # fmt: skip
    assert (report.summary.n, report.missing) == (4, 2)
    low, high = (report.summary.intervals or {})["all_gold@2"]
    assert low == 0 < 25 < high <= 100
    assert {name: one.metrics["all_gold@3"] for name, one in report.types.items()} == {
        "comparison": 100, "inference": 100, "compositional": 0, "bridge_comparison": 0,
    }  # fmt: skip
    assert {hop: one.metrics["recall@2"] for hop, one in report.hops.items()} == {1: 50, 2: 25}
    assert "missing:2|n:4" in report.signature
    assert report.render().splitlines()[2].startswith("all_gold@2   25.00 [0.00, ")
    for line in ("inference", "hop 2", "questions without a ranking, which score 0: 2"):
        assert line in report.render()
    with pytest.raises(DataError, match="hide"):
        score_rankings(ranked, [gold(supporting_facts=[])])


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golds, _ = several(4)
    path = str(write(tmp_path / "dev.json", golds))
    out = tmp_path / "corpus"
    assert main(["corpus", path, str(out)]) == 0
    assert "documents: 2" in capsys.readouterr().out
    documents = [json.loads(line) for line in (out / "corpus.jsonl").read_text().splitlines()]
    assert [one["title"] for one in documents] == ["Tavik Orrel", "Dessa Orrel"]
    assert documents[1]["text"] == "Dessa Orrel was a painter. She was born in Brinmoor."
    assert documents[1]["metadata"] == {"sentence_starts": [0, 26]}
    assert len((out / "queries.jsonl").read_text().splitlines()) == 4
    contexts = [json.loads(line) for line in (out / "contexts.jsonl").read_text().splitlines()]
    assert contexts[0] == {"_id": "q0", "documents": [one["_id"] for one in documents]}
    once = (out / "corpus.jsonl").read_bytes()
    table = out / "qrels" / "validation.tsv"
    judged = table.read_text()
    assert main(["corpus", path, str(out)]) == 0
    assert (out / "corpus.jsonl").read_bytes() == once

    assert main(["qrels", path, str(table)]) == 0
    assert table.read_text() == judged
    lines = table.read_text().splitlines()
    assert lines[0] == "query-id\tcorpus-id\tscore"
    assert lines[1] == f"q0\t{documents[0]['_id']}\t1"
    assert len(lines) == 9
    trec = tmp_path / "qrels.trec"
    assert main(["qrels", path, str(trec), "--trec"]) == 0
    assert trec.read_text().splitlines()[0] == f"q0 0 {documents[0]['_id']} 1"

    run = tmp_path / "run.trec"
    run.write_text(
        f"q0 Q0 {documents[1]['_id']} 1 9.5 x\nq0 Q0 {documents[0]['_id']} 2 7 x\n"
        f"q1 Q0 {documents[0]['_id']} 1 3 x\n"
    )
    figures = tmp_path / "figures.json"
    arguments = ["retrieval", str(run), path, "--k", "1", "2", "--output", str(figures)]
    assert main([*arguments, "--corpus", str(out / "corpus.jsonl")]) == 0
    by_title = json.loads(figures.read_text())
    assert by_title["metrics"]["recall@2"] == 37.5
    plain = {"q0": [documents[1]["_id"], documents[0]["_id"]], "q1": [documents[0]["_id"]]}
    for form in (plain, {"q0": {documents[1]["_id"]: 9, documents[0]["_id"]: 7.5},
                         "q1": {documents[0]["_id"]: 3}}):  # fmt: skip
        ids = ["retrieval", str(write(tmp_path / "run.json", form)), str(table), "--k", "2"]
        assert main([*ids, "--output", str(figures)]) == 0
        assert json.loads(figures.read_text())["metrics"]["recall@2"] == 37.5
    for judgments in (table, trec, out):
        ids = ["retrieval", str(run), str(judgments), "--k", "1", "2", "--output", str(figures)]
        assert main(ids) == 0
        assert json.loads(figures.read_text())["metrics"] == by_title["metrics"]
    capsys.readouterr()
    assert main(arguments) == 2
    assert "--corpus" in capsys.readouterr().err
    assert main(["retrieval", str(run), str(out), "--split", "test"]) == 2
    assert "has judgments of validation, not of test" in capsys.readouterr().err


def test_forms_of_rankings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golds, _ = several(2)
    path = str(write(tmp_path / "dev.json", golds))
    titles = ["Tavik Orrel", "Dessa Orrel"]
    forms = [
        {"q0": titles, "q1": titles}, {"q0": [{"title": one} for one in titles], "q1": titles},
        [{"id": name, "titles": titles} for name in ("q0", "q1")],
        [{"_id": name, "retrieved": titles} for name in ("q0", "q1")],
        [{"id": name, "retrieval_result": [{"contents": f"\"{one}\"\nText."} for one in titles]}
         for name in ("q0", "q1")],
        [{"id": name, "ctxs": [{"title": one, "text": "It is."} for one in titles]}
         for name in ("q0", "q1")],
        [{"id": name, "output": {"retrieval_result": [{"contents": f"{one}\nIt is."}
                                                      for one in titles], "pred": "x"}}
         for name in ("q0", "q1")],
        [{"id": name, "docs": [f"{one}\nIt is." for one in titles], "doc_scores": [2, 1]}
         for name in ("q0", "q1")],
        [{"id": name, "hits": [{"document": {"title": one, "contents": "It is."}, "score": 1}
                               for one in titles]} for name in ("q0", "q1")],
        [{"id": name, "retrieved_docs": [{"page_content": "It is.", "metadata": {"title": one}}
                                         for one in titles]} for name in ("q0", "q1")],
        {name: {"titles": titles, "paras": ["It is.", "It was."]} for name in ("q0", "q1")},
        {name: [[one, 1.5] for one in titles] for name in ("q0", "q1")},
    ]  # fmt: skip
    for form in forms:
        assert main(["retrieval", str(write(tmp_path / "r.json", form)), path]) == 0
        assert "recall@2     100.00 [100.00, 100.00]" in capsys.readouterr().out
    lines = "".join(json.dumps(record) + "\n" for record in forms[2])
    (tmp_path / "r.jsonl").write_text(lines)
    assert main(["retrieval", str(tmp_path / "r.jsonl"), path]) == 0
    for bad in ([{"titles": titles}], [{"id": "q0"}], {"q0": "Tavik Orrel"}, {"q0": [1]}):
        assert main(["retrieval", str(write(tmp_path / "r.json", bad)), path]) == 2
    for line in ("q0 d7 0.5\n", "q0\tQ0\td7\n"):
        (tmp_path / "r.txt").write_text(line)
        assert main(["retrieval", str(tmp_path / "r.txt"), path, "--corpus", path]) == 2
    (tmp_path / "r.txt").write_text("what is this\n")
    assert main(["retrieval", str(tmp_path / "r.txt"), path, "--corpus", path]) == 2


@pytest.mark.parametrize(
    "text",
    ["q Q0 d9 1 2.5 run\nq Q0 d1 2 1.5 run\n", "q\tQ0\td9\t1\t2.5\trun\nq\tQ0\td1\t2\t1.5\trun\n",
     "q\td9\t1\t2.5\nq\td1\t2\t1.5\n", "q\td9\t1\nq\td1\t2\n"],
)  # fmt: skip
def test_lines_of_document_ids(text: str, tmp_path: Path) -> None:
    for name in ("run.tsv", "run.txt", "run.trec"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert read_rankings(tmp_path / name)["q"].ids == ["d9", "d1"]
