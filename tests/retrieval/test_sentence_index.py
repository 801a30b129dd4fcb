"""Retrieval: corpora of every form, both engines against plain BM25, builds that broke off."""

from __future__ import annotations

import bz2
import gzip
import json
import math
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arc_da_files import arc_da, read_lines, write_lines
from twowiki.arc_da.schema import Question
from twowiki.errors import DataError
from twowiki.retrieval import engines
from twowiki.retrieval import sentence_store as store
from twowiki.retrieval.analysis import analyze
from twowiki.retrieval.arc_da_contexts import (
    ContextSettings,
    find_contexts,
    read_contexts,
    report_quality,
)
from twowiki.retrieval.corpora import Sentence, SentenceCorpus
from twowiki.retrieval.engines import Found
from twowiki.retrieval.index import IndexSettings, SentenceIndex, build_index
from twowiki.retrieval.sentence_store import HashSet, SentenceStore, fill_store

FIVE = [
    "Salt melts ice on roads.",
    "Ice is frozen water.",
    "The sun warms the earth.",
    "Plants make food from light.",
    "Iron rusts in wet air.",
]
WORDS = "ice water salt heat light plant iron rust earth sun moon air food root leaf cell".split()


def texts(*sources: object, **options: Any) -> list[str]:
    return [sentence.text for sentence in SentenceCorpus(list(map(str, sources)), **options)]


def index_of(folder: Path, lines: Sequence[str], **setting: Any) -> SentenceIndex:
    corpus = folder / "corpus.txt"
    corpus.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    build_index(SentenceCorpus([corpus]), folder / "index", IndexSettings(**setting))
    return SentenceIndex(folder / "index")


def found(index: SentenceIndex, question: str, k: int = 10) -> list[str]:
    return [hit.entry.text for hit in index.search([question], k)[0]]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lines.txt", "Ice melts.\r\nWater boils.\r\n"),
        ("bom.txt", "\ufeffIce melts.\nWater boils."),
        ("records.jsonl", '{"sentence": "Ice melts."}\n{"generic_sentence": "Water boils."}\n'),
        ("array.json", '[{"title": "Ice", "text": "Ice melts. Water boils."}]'),
        ("lists.jsonl", '{"title": "Ice", "sentences": ["Ice melts.", "Water boils."]}'),
        ("nested.jsonl", '{"knowledge": {"sentence": "Ice melts."}}\n{"fact": "Water boils."}'),
        ("table.csv", "id,sentence\n1,Ice melts.\n2,Water boils.\n"),
        (
            "GenericsKB-Best.tsv",
            "SOURCE\tTERM\tQUANTIFIER\tGENERIC SENTENCE\tSCORE\n"
            "ARC\tice\t\tIce melts.\t1.0\nWaterloo\twater\t\tWater boils.\t0.5\n",
        ),
    ],
)
@pytest.mark.parametrize("packed", ["", ".gz", ".bz2"])
def test_corpora_of_every_form(tmp_path: Path, name: str, content: str, packed: str) -> None:
    path = tmp_path / f"{name}{packed}"
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[packed]
    path.write_bytes(pack(content.encode()))
    assert texts(path) == ["Ice melts.", "Water boils."]


def test_a_parquet_corpus(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"generic_sentence": ["Ice melts.", "Water boils."], "score": [1.0, 0.5]})
    pq.write_table(table, tmp_path / "train-00000-of-00001.parquet")
    assert texts(tmp_path) == ["Ice melts.", "Water boils."]


def test_a_release_names_its_corpus(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "ARC-V1-Feb2018.zip", "w") as archive:
        archive.writestr("ARC-V1-Feb2018-2/ARC_Corpus.txt", "Ice melts.\nWater boils.\n")
        archive.writestr("ARC-V1-Feb2018-2/README.txt", "Read me.\n")
    assert texts(tmp_path / "ARC-V1-Feb2018.zip") == ["Ice melts.", "Water boils."]


def test_quotation_marks_of_a_table_are_the_sentences_own(tmp_path: Path) -> None:
    path = tmp_path / "kb.tsv"
    path.write_text('GENERIC SENTENCE\tSCORE\nThe "ice" melts.\t1\n"A ""b"" c."\t2\n', "utf-8")
    assert texts(path) == ['The "ice" melts.', 'A "b" c.']


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "web.txt"
    path.write_bytes(b"Ice melts.\n\n12345\n" + b"a " * 600 + b"\nBad \xff byte.\n")
    corpus = SentenceCorpus([path])
    assert [one.text for one in corpus] == ["Ice melts.", "Bad \ufffd byte."]
    assert corpus.dropped == {
        "empty": 1,
        "no letter": 1,
        "longer than 1000 characters": 1,
        "bytes that are not UTF-8 (replaced)": 1,
    }


def test_titles_and_splitting(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "d.jsonl", [{"title": "Ice", "text": "It melts. Ice floats."}])
    assert list(SentenceCorpus([path])) == [
        Sentence("It melts.", "Ice"),
        Sentence("Ice floats.", "Ice"),
    ]
    assert texts(path, splitting="no") == ["It melts. Ice floats."]
    assert texts(path, title_first=True) == ["Ice: It melts.", "Ice floats."]
    lines = tmp_path / "l.txt"
    lines.write_text("It melts. Ice floats.\n", "utf-8")
    assert texts(lines) == ["It melts. Ice floats."]
    assert texts(lines, splitting="yes") == ["It melts.", "Ice floats."]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.jsonl", '{"title": "Ice"}', "no sentence or text among 'title'"),
        ("x.jsonl", '{"text": 5}', "must be text"),
        ("x.jsonl", "[1, 2]", "must be a JSON object"),
        ("x.pdf", "%PDF", "not a corpus by its name"),
        ("x.txt", "\n \n", "has no usable text"),
        ("x.txt", "", "has no usable text"),
        ("x.txt", "a" * (1 << 20) + "b", "longer than a megabyte"),
    ],
)
def test_a_bad_corpus_is_one_sentence(
    tmp_path: Path, name: str, content: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    assert arc_da("index", tmp_path / name, tmp_path / "index") == 2
    assert says in capsys.readouterr().err
    assert arc_da("index", tmp_path / "missing.txt", tmp_path / "index2") == 2
    assert "no such file" in capsys.readouterr().err


def test_words_of_the_two_analyzers() -> None:
    text = "The Earth's 3.5 kg of U.S. water, don't melt! 水は"
    assert analyze(text, "std") == [
        "the", "earth's", "3.5", "kg", "of", "u.s", "water", "don't", "melt", "水", "は",
    ]  # fmt: skip
    assert analyze(text, "en") == [
        "earth",
        "3.5",
        "kg",
        "u.s",
        "water",
        "don't",
        "melt",
        "水",
        "は",
    ]
    assert analyze("running ran Plants", "en") == ["run", "ran", "plant"]
    assert analyze("", "en") == analyze("?!", "std") == []


@pytest.mark.parametrize("engine", ["bm25s", "tantivy"])
def test_the_sentence_that_answers_comes_first(tmp_path: Path, engine: str) -> None:
    index = index_of(tmp_path, [*FIVE, "ICE is frozen water", "Salt melts ice on roads."],
                     engine=engine)  # fmt: skip
    assert index.manifest["entries"] == 5
    assert index.manifest["dropped"] == {"duplicate": 2}
    assert found(index, "What melts ice?")[0] == FIVE[0]
    assert found(index, "quantum") == found(index, "") == found(index, "the of") == []
    for odd in ('"', "(a", "a:b", "CO2 + H2O -> ?", "don't [x TO y]", "\\n", "ice" * 500):
        assert isinstance(found(index, odd), list)
    index.close()


@pytest.mark.parametrize("engine", ["bm25s", "tantivy"])
def test_one_sentence_and_no_common_word(tmp_path: Path, engine: str) -> None:
    index = index_of(tmp_path, ["Ice melts."], engine=engine)
    assert found(index, "Why do plants grow?") == []
    assert found(index, "ice", k=50) == ["Ice melts."]
    index.close()


def bm25(lines: Sequence[str], question: str, analyzer: str) -> list[Found]:
    """Score by the formula, with no index."""
    documents = [analyze(line, analyzer) for line in lines]
    average = sum(map(len, documents)) / len(documents)
    results = []
    for number, words in enumerate(documents):
        counts, total = Counter(words), 0.0
        for word in analyze(question, analyzer):
            having = sum(word in other for other in documents)
            idf = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
            grown = counts[word] + 1.2 * (1 - 0.75 + 0.75 * len(words) / average)
            total += idf * counts[word] / grown
        if total > 0:
            results.append(Found(number, total))
    return sorted(results, key=lambda one: (-round(one.score, 4), one.number))


@pytest.mark.parametrize("analyzer", ["en", "std"])
def test_both_engines_are_bm25(tmp_path: Path, analyzer: str) -> None:
    rng = Random(5)
    lines = list(dict.fromkeys(" ".join(rng.choices(WORDS, k=rng.randint(2, 9)))
                               for _ in range(120)))  # fmt: skip
    questions = [" ".join(rng.choices(WORDS, k=3)) for _ in range(12)]
    (tmp_path / "b").mkdir()
    (tmp_path / "t").mkdir()
    by_arrays = index_of(tmp_path / "b", lines, engine="bm25s", analyzer=analyzer)
    by_tantivy = index_of(tmp_path / "t", lines, engine="tantivy", analyzer=analyzer)
    for question in questions:
        expected = bm25(lines, question, analyzer)[:10]
        got = by_arrays.engine.search([question], 10)[0]
        assert [one.score for one in got] == pytest.approx([e.score for e in expected], rel=1e-4)
        assert [one.number for one in got] == [one.number for one in expected]
        other = by_tantivy.engine.search([question], 10)[0]
        assert [one.number for one in other] == [one.number for one in expected]
    by_arrays.close()
    by_tantivy.close()


def test_auto_takes_tantivy_for_many_sentences(tmp_path: Path) -> None:
    assert index_of(tmp_path, FIVE, tantivy_from=4).manifest["engine"] == "tantivy"


@given(st.lists(st.lists(st.integers(0, 40), max_size=12), max_size=12))
def test_hashes_seen_are_a_set(blocks: list[list[int]]) -> None:
    import numpy as np

    seen, known = HashSet(), set[int]()
    for block in blocks:
        values = np.array(sorted(set(block)), dtype=np.uint64)
        assert seen.contains(values).tolist() == [int(one) in known for one in values]
        seen.add(np.array([one for one in values if int(one) not in known], dtype=np.uint64))
        known |= set(map(int, values))
    assert sum(map(len, seen.arrays)) == len(known)


class Broken(Exception):
    """What kills a build in these tests."""


class Breaking(SentenceCorpus):
    """A corpus whose reading breaks off."""

    after = 0

    def __iter__(self) -> Iterator[Sentence]:
        for number, sentence in enumerate(super().__iter__()):
            if number == self.after:
                raise Broken
            yield sentence


def test_a_store_that_broke_off_goes_on_with_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_text("".join(f"Fact number {n % 17} is {n % 23}.\n" for n in range(300)), "utf-8")
    whole = fill_store(SentenceCorpus([path]), tmp_path / "whole", part=20)
    broken = Breaking([path])
    for after in (7, 45, 130):
        broken.after = after
        with pytest.raises(Broken):
            fill_store(broken, tmp_path / "broken", part=20)
    again = fill_store(SentenceCorpus([path]), tmp_path / "broken", part=20)
    assert len(again) == len(whole) == len(set(whole.entries()))
    for file in sorted((tmp_path / "whole").iterdir()):
        assert (tmp_path / "broken" / file.name).read_bytes() == file.read_bytes()
    assert [whole[n] for n in (0, 19, 20, len(whole) - 1)] == [
        list(whole.entries())[n] for n in (0, 19, 20, len(whole) - 1)
    ]
    assert list(whole.entries(25)) == list(whole.entries())[25:]
    whole.close()
    again.close()


def test_a_tantivy_build_that_broke_off_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.txt"
    path.write_text("".join(f"Fact {n} of ice.\n" for n in range(50)), "utf-8")
    full = fill_store(SentenceCorpus([path]), tmp_path / "sentences")

    class Half(SentenceStore):
        def entries(self, start: int = 0) -> Iterator[Sentence]:
            for number, sentence in enumerate(super().entries(start), start=start):
                if number == 33:
                    raise Broken
                yield sentence

    with pytest.raises(Broken):
        engines.TantivyEngine.build(Half(tmp_path / "sentences"), tmp_path / "t", "en", batch=10)
    engines.TantivyEngine.build(full, tmp_path / "t", "en", batch=10)
    hits = engines.TantivyEngine(tmp_path / "t", "en").search(["ice"], 100)[0]
    assert sorted(one.number for one in hits) == list(range(50))
    full.close()


def test_folders_of_something_else_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = tmp_path / "c.txt"
    corpus.write_text("Ice melts.\n", "utf-8")
    assert arc_da("index", corpus, tmp_path / "index") == 0
    assert arc_da("index", corpus, tmp_path / "index") == 0  # nothing left to do
    assert arc_da("index", corpus, tmp_path / "index", "--analyzer", "std") == 2
    assert "analyzer was 'en', and is 'std'" in capsys.readouterr().err
    assert arc_da("index", corpus, tmp_path) == 2
    assert "it holds files of others, such as 'c.txt'" in capsys.readouterr().err
    assert arc_da("retrieve", tmp_path / "none", corpus, tmp_path / "out.jsonl") == 2
    assert "no index here" in capsys.readouterr().err
    (tmp_path / "index" / "manifest.json").unlink()
    assert arc_da("retrieve", tmp_path / "index", corpus, tmp_path / "out.jsonl") == 2
    assert "not finished" in capsys.readouterr().err
    assert arc_da("index", corpus, tmp_path / "index3", "--engine", "server") == 2
    assert "--server URL" in capsys.readouterr().err


QUESTIONS = [
    {"question_id": "q1", "tag": "EASY-DEV", "question": "What melts ice on a road?",
     "answers": ["salt", "heat"]},
    {"question_id": "q2", "tag": "EASY-DEV", "question": "What do plants need to make food?",
     "answers": ["light", "sunlight"]},
    {"question_id": "q3", "tag": "EASY-DEV", "question": "Zzz?", "answers": ["nothing"]},
]  # fmt: skip


def test_ten_sentences_a_question_near_equal_ones_once_copies_passed_over(
    tmp_path: Path,
) -> None:
    lines = [
        *FIVE,
        "Salts melt the ice on a road.",
        "Q: What melts ice on a road? A: heat",
        *(f"Ice number {n} melts on road {n}." for n in range(20)),
    ]
    index = index_of(tmp_path, lines)
    question = Question("q1", None, "What melts ice on a road?", ("salt",))
    context = find_contexts(index, [question], ContextSettings())[0]
    kept = [hit.entry.text for hit in context.hits]
    assert len(kept) == 10
    assert ("Salts melt the ice on a road." in kept) != (FIVE[0] in kept)
    assert not any("Q: What melts" in text for text in kept)
    assert context.skipped == {"holds_the_question": 1, "near_duplicate": 1}
    with_copies = find_contexts(index, [question], ContextSettings(copies=True))[0]
    assert with_copies.hits[0].entry.text.startswith("Q: What melts")
    index.close()


def test_the_commands_write_contexts_a_report_and_the_same_bytes_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = tmp_path / "corpus.json"
    corpus.write_text(json.dumps([{"title": "All", "text": " ".join(FIVE)}]), "utf-8")
    questions = write_lines(tmp_path / "dev.jsonl", QUESTIONS)
    assert arc_da("index", corpus, tmp_path / "index") == 0
    run = ("retrieve", tmp_path / "index", questions)
    assert arc_da(*run, tmp_path / "a.jsonl", "--report", tmp_path / "r.json") == 0
    assert arc_da(*run, tmp_path / "b.jsonl", "--batch", "1") == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert not list(tmp_path.glob("*.unfinished"))
    contexts = read_contexts(tmp_path / "a.jsonl")
    assert contexts["q1"][0] == FIVE[0]
    assert contexts["q2"][0] == FIVE[3]
    assert contexts["q3"] == ()
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert report["answer_in@1"] == pytest.approx(200 / 3)
    assert report["chance_in@1"] == 0.0
    assert report["questions_without_sentences"] == 1
    assert "answer_in@10" in capsys.readouterr().out


def test_retrieval_that_broke_off_goes_on_and_other_settings_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    index_of(tmp_path, FIVE).close()
    questions = write_lines(tmp_path / "dev.jsonl", QUESTIONS)
    run = ("retrieve", tmp_path / "index", questions, tmp_path / "out.jsonl", "--batch", "1")
    real, asked = SentenceIndex.search, list[str]()

    def search(self: SentenceIndex, batch: list[str], k: int) -> Any:
        asked.extend(batch)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return real(self, batch, k)

    monkeypatch.setattr(SentenceIndex, "search", search)
    assert arc_da(*run) == 130
    assert not (tmp_path / "out.jsonl").exists()
    assert arc_da(*run, "--sentences", "3") == 2
    assert "sentences was 10, and is 3" in capsys.readouterr().err
    assert arc_da(*run) == 0
    assert asked == [QUESTIONS[0]["question"], *(q["question"] for q in QUESTIONS[1:2]),
                     *(q["question"] for q in QUESTIONS[1:])]  # fmt: skip
    assert [one["question_id"] for one in read_lines(tmp_path / "out.jsonl")] == ["q1", "q2", "q3"]


def test_options_may_help_multiple_choice_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index_of(tmp_path, FIVE).close()
    choices = [{"label": "1", "text": "salt"}, {"label": "2", "text": "iron rusts"}]
    arc = write_lines(
        tmp_path / "ARC-Easy-Train.jsonl",
        [{"id": "7", "question": {"stem": "What melts it?", "choices": choices}, "answerKey": "1"}],
    )
    out = tmp_path / "mc.jsonl"
    run = ("retrieve", tmp_path / "index", arc, out, "--kind", "mc")
    assert arc_da(*run, "--query", "question_options") == 0
    assert read_lines(out)[0]["question_id"] == "ARCEZ_7"
    assert {FIVE[0], FIVE[4]} <= set(read_contexts(out, direct_answer=False)["ARCEZ_7"])
    with pytest.raises(DataError, match="retrieved with the options"):
        read_contexts(out)
    questions = write_lines(tmp_path / "dev.jsonl", QUESTIONS)
    assert arc_da("retrieve", tmp_path / "index", questions, tmp_path / "o", "--query",
                  "question_options") == 2  # fmt: skip
    assert "must not help" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"sentences": []}, "no question id"),
        ({"question_id": "q", "sentences": "text"}, "must be a list"),
        ({"question_id": "q", "sentences": [5]}, "must contain texts"),
    ],
)
def test_bad_contexts_are_refused(tmp_path: Path, record: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_contexts(write_lines(tmp_path / "c.jsonl", [record]))
    good = {"question_id": "q", "sentences": ["Plain text."]}
    assert read_contexts(write_lines(tmp_path / "c.jsonl", [good])) == {"q": ("Plain text.",)}
    with pytest.raises(DataError, match="duplicate id"):
        read_contexts(write_lines(tmp_path / "c.jsonl", [good, good]))


def test_answers_that_the_question_holds_say_nothing_about_retrieval() -> None:
    held = Question("a", None, "Is ice or salt colder?", ("ice",))
    own = Question("b", None, "What melts it?", ("rock salts",))
    report = report_quality([held, own], {"b": ["Spread rock salt."]})
    assert report["with_usable_gold"] == 1
    assert report["answer_in@1"] == 100.0
    assert report["chance_in@1"] is None
    assert report_quality([held], {})["answer_in@10"] is None


def test_parts_are_found_by_number_however_many_are_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_OPEN_PARTS", 2)
    path = tmp_path / "c.txt"
    path.write_text("".join(f"Fact {n}.\n" for n in range(30)), "utf-8")
    made = fill_store(SentenceCorpus([path]), tmp_path / "s", part=4)
    assert [made[n].text for n in (29, 0, 17, 4, 28)] == [f"Fact {n}." for n in (29, 0, 17, 4, 28)]
    made.close()


def test_the_real_stand_in_corpus(shared: Path, tmp_path: Path) -> None:
    corpus = shared / "data/two_wiki/corpus_6119.json"
    for engine in ("bm25s", "tantivy"):
        assert arc_da("index", corpus, tmp_path / engine, "--engine", engine) == 0
        dev = shared / "data/arc_da/dev.jsonl"
        assert arc_da("retrieve", tmp_path / engine, dev, tmp_path / f"{engine}.jsonl") == 0
    first, second = (read_contexts(tmp_path / f"{name}.jsonl") for name in ("bm25s", "tantivy"))
    assert len(first) == 338
    assert all(len(found) == len(set(found)) == 10 for found in first.values())
    shared_hits = sum(len(set(first[name]) & set(second[name])) for name in first)
    assert shared_hits >= 0.99 * 3380
