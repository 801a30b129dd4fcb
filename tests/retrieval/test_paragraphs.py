"""Paragraphs from corpus to context: test sets, indexes, rankings, and who is asked with them."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joint_files import ROOT, gold, several, write
from twowiki.cli.main import main
from twowiki.data.schema import Paragraph, parse_record
from twowiki.errors import DataError
from twowiki.retrieval import (
    IndexSettings,
    ParagraphCorpus,
    SentenceIndex,
    build_corpus,
    build_index,
    read_rankings,
    retrieve_by_hops,
    with_retrieved,
)
from twowiki.retrieval.corpus import document_of
from twowiki.retrieval.iterative import triple_reader
from twowiki.retrieval.paragraphs import document_of_record

WORLD_PAGES = ROOT / "tests" / "data" / "world" / "paragraphs.jsonl"
PAGES = [
    ("Salt of Oru (film)", ["Salt of Oru is a 1950 film.", "It was directed by Dessa Orrel."]),
    ("Dessa Orrel", ["Dessa Orrel (born 1907) was a painter.", "Lin Ashford bore her."]),
    ("Lin Ashford", ["Lin Ashford was a painter from Brinmoor."]),
    ("Lake Oru", ["Lake Oru is deep."]),
    ("Horst Salt", ["Horst Salt was an actor in films."]),
]


def lines(path: Path, records: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def asked(**fields: Any) -> dict[str, Any]:
    """A question whose own context lacks what is needed."""
    return gold(
        question="Who is the mother of the director of film Salt Of Oru?",
        context=[["Lake Oru", ["Lake Oru is deep."]]],
        supporting_facts=[["Salt of Oru (film)", 1], ["Dessa Orrel", 1]],
        evidences=[["Salt of Oru", "director", "Dessa Orrel"],
                   ["Dessa Orrel", "mother", "Lin Ashford"]],
        answer="Lin Ashford",
        **fields,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with pages, an index of them, and two questions."""
    pages = ({"id": str(n), "title": title, "sentences": sentences, "mentions": []}
             for n, (title, sentences) in enumerate(PAGES))  # fmt: skip
    lines(tmp_path / "pages.jsonl", pages)
    assert main(["index", str(tmp_path / "pages.jsonl"), str(tmp_path / "index")]) == 0
    write(tmp_path / "dev.json", [asked(), asked(_id="q2", type="inference")])
    return tmp_path


def retrieve(folder: Path, *flags: str, out: str = "ranked.jsonl") -> int:
    names = [str(folder / name) for name in ("index", "dev.json", out)]
    return main(["retrieve", *names, "--k", "3", *flags])


@given(st.lists(st.text("ab. \t\n", max_size=8), max_size=5), st.text("Oru ", max_size=6))
def test_a_paragraph_comes_back_with_its_sentences(sentences: list[str], title: str) -> None:
    document = document_of(Paragraph(title, tuple(sentences)))
    assert document.text == document.text.strip()
    if sentences:
        expected = tuple(sentence.strip() for sentence in sentences)
        assert document.paragraph == Paragraph(title, expected)
    record = {"_id": document.id, "title": title, "text": document.text,
              "metadata": {"sentence_starts": list(document.starts)}}  # fmt: skip
    assert document_of_record(record).id == document.id
    if document.starts:
        assert document_of_record(record) == document


@pytest.mark.parametrize(
    ("record", "title", "text", "own_id"),
    [
        ({"title": "Oru", "text": "It is deep. It is cold."}, "Oru", "It is deep. It is cold.", ""),
        ({"title": "Oru", "text": "It is.", "idx": 5}, "Oru", "It is.", ""),
        ({"id": "7", "contents": '"Oru"\nIt is.'}, "Oru", "It is.", "7"),
        ({"_id": "d1", "title": "Oru", "text": "It is."}, "Oru", "It is.", "d1"),
        ({"id": "5000", "title": "Oru", "sentences": ["It is."], "mentions": []}, "Oru", "It is.",
         ""),
        ({"docid": 9, "passage": "It is."}, "", "It is.", "9"),
    ],
)  # fmt: skip
def test_records_of_many_corpora(
    record: dict[str, Any], title: str, text: str, own_id: str
) -> None:
    document = document_of_record(record)
    assert (document.title, document.text) == (title, text)
    sentences = [one.strip() for one in text.replace(". ", ".|").split("|")]
    assert list(document.paragraph.sentences) == sentences
    assert document.id == own_id or document_of(Paragraph(title, tuple(sentences))).id


def test_one_paragraph_has_one_id_in_every_corpus(tmp_path: Path) -> None:
    record = gold()
    from_contexts = list(build_corpus([record]).documents)
    pages = [{"id": str(n), "title": title, "sentences": sentences}
             for n, (title, sentences) in enumerate(record["context"])]  # fmt: skip
    (tmp_path / "p.jsonl.gz").write_bytes(
        gzip.compress("".join(json.dumps(page) + "\n" for page in pages).encode())
    )
    write(tmp_path / "dev.json", [record])
    contexts = [{"title": title, "paragraph_text": " ".join(map(str.strip, sentences)),
                 "is_supporting": True} for title, sentences in record["context"]]  # fmt: skip
    asked_elsewhere = {"question_id": "q1", "question_text": "Where?", "contexts": contexts}
    lines(tmp_path / "other_tool.jsonl", [asked_elsewhere])
    for name in ("p.jsonl.gz", "dev.json", "other_tool.jsonl"):
        assert [one.id for one in ParagraphCorpus([tmp_path / name])] == from_contexts
    assert main(["corpus", str(tmp_path / "dev.json"), str(tmp_path / "out")]) == 0
    assert [one.id for one in ParagraphCorpus([tmp_path / "out"])] == from_contexts


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("x.jsonl", '{"title": "Oru"}\n', "no text among 'title'"),
        ("x.jsonl", '{"title": "Oru", "text": 5}\n', "must be text"),
        ("x.json", "[5]", "must be a JSON object"),
        ("x.json", '[{"_id": "q", "question": "Q?", "context": 7}]', "record q"),
        ("x.jsonl", '{"title": "Oru", "text": " "}\n', "has no usable text (1 empty)"),
    ],
)
def test_another_corpus_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, problem: str
) -> None:
    (tmp_path / name).write_text(text)
    assert main(["index", str(tmp_path / name), str(tmp_path / "index")]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1
    assert name in error


def test_all_pages_are_the_corpus_and_titles_decide(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, pages = folder / "set", str(folder / "pages.jsonl")
    assert main(["corpus", str(folder / "dev.json"), str(out), "--pages", pages]) == 0
    documents = {one["_id"]: one["title"] for one in read_lines(out / "corpus.jsonl")}
    assert sorted(documents.values()) == sorted(title for title, _ in PAGES)
    rows = [row.split("\t") for row in (out / "qrels/validation.tsv").read_text().splitlines()[1:]]
    assert [(row[0], documents[row[1]]) for row in rows] == [
        (name, title) for name in ("q1", "q2") for title in ("Salt of Oru (film)", "Dessa Orrel")
    ]
    assert [one["metadata"] for one in read_lines(out / "queries.jsonl")] == [
        {"type": "compositional"}, {"type": "inference"},
    ]  # fmt: skip
    assert main(["corpus", pages, str(folder / "alone")]) == 0
    assert (folder / "alone/corpus.jsonl").read_bytes() == (out / "corpus.jsonl").read_bytes()
    assert not (folder / "alone/qrels").exists()
    capsys.readouterr()
    assert main(["corpus", str(folder / "dev.json"), str(out), "--split", "train"]) == 0
    assert [path.name for path in (out / "qrels").iterdir()] == ["train.tsv"]
    (folder / "mine").mkdir()
    (folder / "mine/corpus.jsonl").write_text("mine")
    assert main(["corpus", pages, str(folder / "mine")]) == 2
    assert "this run did not write it" in capsys.readouterr().err
    assert (folder / "mine/corpus.jsonl").read_text() == "mine"
    lines(folder / "other.jsonl", [{"id": "1", "title": "X", "sentences": ["It is."]}])
    flags = ["--pages", str(folder / "other.jsonl")]
    assert main(["corpus", str(folder / "dev.json"), str(folder / "set2"), *flags]) == 2
    assert "no page has the title of a supporting fact" in capsys.readouterr().err
    assert not (folder / "set2/corpus.jsonl").exists()
    assert main(["corpus", str(folder / "dev.json"), str(folder / "set2"), "--all"]) == 2
    assert "--pages FILE" in capsys.readouterr().err


def test_an_index_is_marked_resumed_and_restarted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["index", str(folder / "pages.jsonl"), str(folder / "index")]
    once = (folder / "index/manifest.json").read_bytes()
    assert main(arguments) == 0
    assert (folder / "index/manifest.json").read_bytes() == once
    capsys.readouterr()
    assert main([*arguments, "--analyzer", "std"]) == 2
    assert "--restart" in capsys.readouterr().err
    assert main([*arguments, "--analyzer", "std", "--restart"]) == 0
    assert json.loads((folder / "index/manifest.json").read_text())["analyzer"] == "std"
    (folder / "index/mine.txt").write_text("mine")
    capsys.readouterr()
    assert main([*arguments, "--restart"]) == 2
    assert "mine.txt" in capsys.readouterr().err
    assert (folder / "index/manifest.json").is_file()
    inside = ["index", str(folder / "pages.jsonl"), str(folder)]
    assert main(inside) == 2


@pytest.mark.parametrize("engine", ["bm25s", "tantivy"])
def test_a_second_query_finds_the_second_page(
    folder: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    arguments = ["index", str(folder / "pages.jsonl"), str(folder / "index"), "--restart"]
    assert main([*arguments, "--engine", engine]) == 0
    found = {}
    for hops in ("1", "2"):
        report = folder / f"{hops}.json"
        assert retrieve(folder, "--hops", hops, "--report", str(report)) == 0
        found[hops] = json.loads(report.read_text())
        first = read_lines(folder / "ranked.jsonl")[0]
        assert len(first["queries"]) == int(hops)
    assert found["1"]["by_hop"]["2"]["metrics"]["recall@2"] == 0
    assert found["2"]["metrics"]["all_gold@2"] == 100
    assert first["queries"][1].endswith("Dessa Orrel")
    assert [one["hop"] for one in first["paragraphs"][:2]] == [1, 2]
    assert first["paragraphs"][1]["sentences"] == PAGES[1][1]
    assert "hop 2" in capsys.readouterr().out


def test_a_reader_of_ones_own_and_an_end(folder: Path) -> None:
    index = SentenceIndex(folder / "index")
    read: list[tuple[str, list[str]]] = []

    def reader(questions: Any, paragraphs: Any) -> list[str]:
        for pair in zip(questions, paragraphs, strict=True):
            read.append((pair[0], [one.title for one in pair[1]]))
        return ["lake" if question.startswith("Salt") else "" for question in questions]

    rankings = retrieve_by_hops(index, ["Salt", "Zzz"], k=5, hops=3, read=reader)
    assert rankings[0].queries == ("Salt", "lake", "lake")
    assert rankings[1] == ((), (), ("Zzz",))
    assert [hit.entry.title for hit in rankings[0].hits][1] == "Lake Oru"
    assert len({hit.number for hit in rankings[0].hits}) == len(rankings[0].hits)
    assert {title for _, titles in read for title in titles} >= {"Horst Salt"}
    index.close()


def test_a_model_that_reads_adds_the_objects_of_its_triples(folder: Path) -> None:
    class Model:
        def answer(self, examples: Any, batch_size: int) -> Any:
            assert batch_size == 48
            titles = [paragraph.title for paragraph in examples[0].context]
            found = [("Salt of Oru", "director", "Dessa Orrel"), ("Oru", "in", "film Salt")]
            return [SimpleNamespace(evidences=found if titles[0] == PAGES[0][0] else [])
                    for _ in examples]  # fmt: skip

    index, question = SentenceIndex(folder / "index"), asked()["question"]
    read = triple_reader(Model())
    (ranking,) = retrieve_by_hops(index, [question], k=2, hops=3, read=read)
    assert ranking.queries == (question, f"{question} Dessa Orrel")
    assert [hit.entry.title for hit in ranking.hits] == ["Salt of Oru (film)", "Dessa Orrel"]
    index.close()


def test_retrieval_that_broke_off_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from twowiki.retrieval import iterative

    assert retrieve(folder) == 0
    whole = (folder / "ranked.jsonl").read_bytes()
    plain, calls = iterative.retrieve_by_hops, []

    def breaking(index: Any, questions: list[str], **options: Any) -> Any:
        calls.append(list(questions))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(index, questions, **options)

    monkeypatch.setattr(iterative, "retrieve_by_hops", breaking)
    assert retrieve(folder, "--batch", "1", out="again.jsonl") == 130
    assert retrieve(folder, "--batch", "1", "--hops", "2", out="again.jsonl") == 2
    with (folder / "again.jsonl.unfinished.lines").open("ab") as stream:
        stream.write(b'{"id": "q2", "para')  # what a kill leaves between lines and journal
    assert retrieve(folder, "--batch", "1", out="again.jsonl") == 0
    assert [len(call) for call in calls] == [1, 1, 1]
    assert (folder / "again.jsonl").read_bytes() == whole
    assert not list(folder.glob("again.jsonl.*"))
    calls[:] = []
    assert retrieve(folder, "--batch", "1", out="third.jsonl") == 130
    write(folder / "dev.json", [{**asked(), "question": "Which?"}, asked(_id="q2")])
    assert retrieve(folder, "--batch", "1", out="third.jsonl") == 2
    assert retrieve(folder, "--batch", "1", "--restart", out="third.jsonl") == 0


def test_rankings_into_a_pipe_are_not_read_back(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        arguments = [str(folder / "index"), str(folder / "dev.json"), str(pipe), "--k", "3"]
        assert main(["retrieve", *arguments]) == 0
        assert json.loads(read.result(timeout=30).splitlines()[0])["paragraphs"]
    assert "no scores: the rankings went into a pipe" in capsys.readouterr().out


def test_sentences_are_no_paragraphs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "facts.txt").write_text("Ice melts.\n")
    assert main(["arc-da", "index", str(folder / "facts.txt"), str(folder / "facts")]) == 0
    out = str(folder / "x.jsonl")
    assert main(["retrieve", str(folder / "facts"), str(folder / "dev.json"), out]) == 2
    assert "it holds sentences" in capsys.readouterr().err
    wrong = ["index", str(folder / "pages.jsonl"), str(folder / "y"), "--title-first"]
    assert main(wrong) == 2
    assert "--unit sentence" in capsys.readouterr().err


def test_prompts_of_retrieved_paragraphs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert retrieve(folder, "--hops", "2") == 0
    dev, out = str(folder / "dev.json"), folder / "prompts.jsonl"
    arguments = ["prompt", dev, str(out), "--plain", "--rankings", str(folder / "ranked.jsonl")]
    assert main([*arguments, "--paragraphs", "2"]) == 0
    prompt = read_lines(out)[0]["prompt"]
    assert "They were retrieved for it" in prompt
    assert "Title: Dessa Orrel\n[0] Dessa Orrel (born 1907)" in prompt
    assert "Lake Oru is deep" not in prompt
    assert prompt.count("Title: ") == 2
    assert "2 retrieved prompts" in capsys.readouterr().out
    titles = write(folder / "titles.json", {name: ["Lin Ashford"] for name in ("q1", "q2")})
    bare = ["prompt", dev, str(out), "--rankings", str(titles)]
    for wrong, says in [
        ([*arguments, "--form", "gold-context"], "has no retrieved paragraphs"),
        (["prompt", dev, str(out), "--form", "retrieved"], "--rankings"),
        (bare, "the ranking has no texts"),
        ([*bare, "--corpus", dev], "is not in the corpus"),
    ]:
        assert main(wrong) == 2
        assert says in capsys.readouterr().err
    assert main([*bare, "--corpus", str(folder / "pages.jsonl")]) == 0
    assert "Lin Ashford was a painter" in out.read_text()
    write(folder / "less.json", {"q1": ["Lin Ashford"]})
    bare[-1] = str(folder / "less.json")
    assert main([*bare, "--corpus", str(folder / "pages.jsonl")]) == 2
    assert "q2" in capsys.readouterr().err


def test_of_two_paragraphs_with_one_title_the_better_one_is_shown(tmp_path: Path) -> None:
    ranked = {"q1": [{"title": "A", "text": "One."}, {"title": "A", "text": "Two."},
                     {"title": "B", "sentences": []}]}  # fmt: skip
    path = write(tmp_path / "r.json", {"q1": ranked["q1"][:2]})
    (example,) = with_retrieved([parse_record(gold())], read_rankings(path))
    assert example.context == (Paragraph("A", ("One.",)),)
    with pytest.raises(DataError, match="no texts"):
        list(with_retrieved([parse_record(gold())], read_rankings(write(path, ranked))))
    (empty,) = with_retrieved([parse_record(gold())], read_rankings(write(path, {"q1": []})))
    assert empty.context == ()


@pytest.mark.slow
def test_a_model_reads_what_was_retrieved(folder: Path) -> None:
    from tests.small_model import model_and_windows, setting

    model, _ = model_and_windows(setting())
    for part in (model, model.answer_tokenizer):
        part.save_pretrained(folder / "model")
    assert retrieve(folder, "--hops", "2") == 0
    arguments = ["predict", str(folder / "model"), str(folder / "dev.json"), str(folder / "p.json")]
    scores = ["--scores", str(folder / "scores.jsonl")]
    flags = ["--rankings", str(folder / "ranked.jsonl"), "--paragraphs", "2"]
    assert main([*arguments, *flags, *scores]) == 0
    titles = {one[0] for line in read_lines(folder / "scores.jsonl") for one in line["sentences"]}
    assert titles == {"Salt of Oru (film)", "Dessa Orrel"}
    assert main(["score", str(folder / "p.json"), str(folder / "dev.json"), *flags]) == 0
    reader = ["--hops", "2", "--reader", str(folder / "model")]
    assert retrieve(folder, *reader, out="read.jsonl") == 0
    assert len(read_lines(folder / "read.jsonl")) == 2
    assert retrieve(folder, *reader[2:], out="read.jsonl") == 2
    empty = write(folder / "none.json", {"q1": [], "q2": []})
    assert main([*arguments, "--rankings", str(empty)]) == 0
    assert json.loads((folder / "p.json").read_text())["sp"] == {"q1": [], "q2": []}


@pytest.mark.slow
def test_the_inspect_task_and_a_text_model_are_asked_with_them(folder: Path) -> None:
    pytest.importorskip("inspect_ai")
    from tests.text_models import model_of, tokenizer
    from twowiki.llm.inspect_task import two_wiki

    assert retrieve(folder, "--hops", "2") == 0
    ranked, dev = str(folder / "ranked.jsonl"), str(folder / "dev.json")
    task = two_wiki(dev, form="retrieved", rankings=ranked, paragraphs=2)
    assert "Lin Ashford bore her." in task.dataset[0].input[-1].text
    for options in ({"form": "retrieved"}, {"rankings": ranked}):
        with pytest.raises(DataError, match="belong to the form retrieved"):
            two_wiki(dev, **options)
    made = tokenizer()
    model_of("t5", made).save_pretrained(folder / "t5")
    made.save_pretrained(folder / "t5")
    arguments = ["predict", "--model", str(folder / "t5"), "--task", "two_wiki", dev]
    out = folder / "said.json"
    flags = ["--rankings", ranked, "--max-new-tokens", "4"]
    assert main([*arguments, str(out), *flags]) == 0
    outputs = read_lines(Path(f"{out}.outputs.jsonl"))
    assert any("They were retrieved for it" in str(one) for one in outputs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_any_sentence_encoder_from_a_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    encoder = save_encoder(folder / "encoder", seed=0)
    pages, questions = str(folder / "pages.jsonl"), ["Lake Oru is deep", "Lin Ashford painter"]
    best = {}
    for engine in ("dense", "faiss"):
        out = str(folder / engine)
        arguments = ["index", pages, out, "--engine", engine, "--encoder", str(encoder)]
        assert main(arguments) == 0
        vectors = Path(out, "dense", "vectors.f32")
        whole = vectors.read_bytes()
        vectors.write_bytes(whole[:-7])  # what an interrupted run left
        Path(out, "manifest.json").unlink()
        assert main(arguments) == 0
        assert vectors.read_bytes() == whole
        index = SentenceIndex(out)
        best[engine] = [[(hit.entry.title, round(hit.score, 4)) for hit in found]
                        for found in index.search(questions, 3)]  # fmt: skip
        index.close()
    assert best["dense"] == best["faiss"]
    assert [found[0][0] for found in best["dense"]] == ["Lake Oru", "Lin Ashford"]
    names = [str(folder / name) for name in ("dense", "dev.json", "d.jsonl")]
    assert main(["retrieve", *names, "--hops", "2"]) == 0
    other = save_encoder(folder / "other", seed=1)
    capsys.readouterr()
    assert main(["retrieve", *names, "--encoder", str(other)]) == 2
    assert "is another encoder" in capsys.readouterr().err
    for flags, says in [
        (["--engine", "dense"], "--encoder"),
        (["--encoder", str(encoder)], "has no encoder"),
        (["--engine", "dense", "--encoder", str(folder / "none")], "cannot be loaded"),
    ]:
        assert main(["index", pages, str(folder / "new"), *flags]) == 2
        error = capsys.readouterr().err
        assert says in error
        assert "Traceback" not in error


def save_encoder(folder: Path, seed: int) -> Path:
    """Save an encoder that averages a vector for each word of the pages."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    words = sorted({word for title, text in PAGES for word in f"{title} {text}".lower().split()})
    words = list(dict.fromkeys(["[UNK]", *(word.strip("().") for word in words)]))
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, "[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(seed)
    SentenceTransformer(modules=[StaticEmbedding(made, embedding_dim=32)]).save(str(folder))
    return folder


def test_indexes_agree_in_python_and_keep_no_server_in_mind(folder: Path) -> None:
    corpus = ParagraphCorpus([folder / "pages.jsonl"])
    manifest = build_index(corpus, folder / "again", IndexSettings(engine="bm25s"))
    assert manifest == json.loads((folder / "index/manifest.json").read_text()) | {
        "engine": "bm25s"
    }
    assert (manifest["entries"], manifest["unit"]) == (5, "paragraph")
    index = SentenceIndex(folder / "again")
    assert index.search(["Horst"], 1)[0][0].entry.paragraph.title == "Horst Salt"
    index.close()


def test_import_of_the_package_stays_light() -> None:
    code = (
        "import sys; import twowiki.retrieval as r; r.score_rankings; r.SentenceIndex;"
        "print([n for n in ('torch', 'datasets', 'bm25s', 'faiss') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_small_world_of_the_tests_is_a_corpus(tmp_path: Path) -> None:
    golds, _ = several(1)
    pages = list(ParagraphCorpus([WORLD_PAGES]))
    assert len({one.id for one in pages}) == len(read_lines(WORLD_PAGES))
    assert golds
