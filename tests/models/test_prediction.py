"""One question asked in any form: what comes back, and what is refused with which words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twowiki
from tests.joint_files import ROOT
from tests.small_model import GOLD_Q1, examples, model_and_windows, reproduced, setting
from twowiki.errors import DataError
from twowiki.models.prediction import (
    MAX_BATCH_AREA,
    QUESTION_CHARACTERS,
    batch_windows,
    check_question,
    parse_paragraphs,
)

QUESTION = GOLD_Q1.question
PAIRS = [(title, list(sentences)) for title, sentences in GOLD_Q1.context]
TEXTS = [(title, "".join(sentences)) for title, sentences in PAIRS]


@pytest.fixture(scope="module")
def model() -> Any:
    return model_and_windows(setting(support_threshold=0.0))[0]


@pytest.fixture(scope="module")
def folder(model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("saved") / "run 1.5-a"
    model.save_pretrained(place)
    model.answer_tokenizer.save_pretrained(place)
    return place


@pytest.mark.parametrize(
    "paragraphs",
    [
        TEXTS,
        tuple(map(tuple, PAIRS)),
        json.loads(json.dumps(PAIRS)),
        dict(PAIRS),
        dict(TEXTS),
        [{"title": title, "sentences": sentences} for title, sentences in PAIRS],
        [{"title": title, "text": text} for title, text in TEXTS],
        {"title": [title for title, _ in PAIRS], "sentences": [list(s) for _, s in PAIRS]},
        GOLD_Q1.context,
        iter(PAIRS),
    ],
)
def test_paragraphs_may_come_in_any_usual_form(paragraphs: Any) -> None:
    assert parse_paragraphs(paragraphs) == tuple((title, tuple(said)) for title, said in PAIRS)


def test_everything_about_an_answer_is_told(model: Any) -> None:
    said = model.predict(QUESTION, TEXTS)
    assert isinstance(said["answer"], str)
    assert said["answer_type"] in ("span", "yes", "no")
    assert said["sp"] == [("Tavik Orrel", 0), ("Dessa Orrel", 0), ("Dessa Orrel", 1)]
    assert said["supporting_sentences"] == said["sentences"]
    assert [one["sentence"] for one in said["sentences"]] == [
        "Tavik Orrel was a runner, the son of Dessa Orrel.",
        "Dessa Orrel was a painter.",
        "She was born in Brinmoor.",
    ]
    assert all(0 <= one["score"] <= 1 for one in said["sentences"])
    json.dumps(said)
    for triple in said["triples"]:
        for side in ("subject", "object"):
            start, end = triple[f"{side}_span"]
            assert said["text"][start:end].strip("\x02\x03 ") == triple[side]
            if place := triple[f"{side}_place"]:
                (sentences,) = (s for title, s in PAIRS if title == place["title"])
                whole = (place["title"], *sentences)[place["sent_id"] + 1]
                assert whole[place["start"] : place["end"]].strip() == triple[side]


def test_equal_titles_keep_their_own_sentences(model: Any) -> None:
    said = model.predict("Who?", [("A", ["One here."]), ("A", ["Two there."])])
    assert [one["sentence"] for one in said["sentences"]] == ["One here.", "Two there."]


def test_several_questions_are_answered_as_each_alone(model: Any) -> None:
    asked = [(example.question, example.context) for example in examples()[:5]]
    alone = [model.predict(question, context) for question, context in asked]
    together = model.predict(*map(list, zip(*asked, strict=True)))
    assert [one["sp"] for one in together] == [one["sp"] for one in alone]
    assert [one["answer"] for one in together] == [one["answer"] for one in alone]
    assert model.predict([], []) == []


@pytest.mark.parametrize(
    ("question", "paragraphs", "said"),
    [
        ("", PAIRS, "the question is empty"),
        (" \n", PAIRS, "the question is empty"),
        ("Who?", [], "there are no paragraphs"),
        ("Who?", [("", [])], "have no text"),
        ("Who?", [("Title", "")], "have no text"),
        ("Who?", [("Title", [" "])], "have no text"),
        ("Who?", " ", "Give .title, sentences. or .title, text. pairs"),
        ("Who?", None, "the paragraphs are None"),
        ("Who?", [["only a text"]], "paragraph 0 is .'only a text'., not a"),
        ("Who?", [("A", ["b."]), ("A", "b", "c")], "paragraph 1"),
        ("Who?", [(None, ["b."])], "the title is None"),
        ("Who?", [("A", [1])], "the sentence 1 is not a text"),
        ("Who?", [("A", None)], "None is neither"),
        ("Who?", [{"name": "A"}], "paragraph 0"),
        (7, PAIRS, "the question is 7"),
        (None, PAIRS, "the question is None"),
        (b"Who?", PAIRS, "the question is b'Who"),
        (["Who?", 7], [PAIRS, PAIRS], "the question is 7"),
        (["Who?"], [PAIRS, PAIRS], "1 questions, but the paragraphs of 2"),
        (["Who?"], "a text", "the paragraphs of each"),
        ("x" * (QUESTION_CHARACTERS + 1), PAIRS, "10,001 characters"),
    ],
)
def test_what_cannot_be_asked_is_told(
    model: Any, question: Any, paragraphs: Any, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        model.predict(question, paragraphs)


def test_longer_paragraphs_than_a_model_reads_are_told() -> None:
    small, _ = model_and_windows(reproduced(max_context_tokens=20, max_question_tokens=9))
    with pytest.raises(ValueError, match="more than the 20 words that this model reads"):
        small.predict("Who?", [("A", ["b " * 40])])
    with pytest.raises(ValueError, match="more than the 9 words that this model reads"):
        small.predict("Who " * 10, [("A", ["b c."])])
    assert small.answer([GOLD_Q1._replace(question="Who " * 10)])[0].answer == ""


def test_paragraphs_of_any_length_are_read_in_windows() -> None:
    windowed, _ = model_and_windows(setting(window_tokens=64, window_stride=16))
    paragraphs = [(f"T {n}", f"Sentence {n} of it. Another one of {n}.") for n in range(60)]
    said = windowed.predict("Who is T 4?", paragraphs)
    assert len(said["sentences"]) == 120


def test_long_windows_go_in_smaller_batches() -> None:
    _, windows = model_and_windows()
    long = windows[0]._replace(token_ids=windows[0].token_ids.repeat(2048)[:2048])
    sizes = [len(part) for part in batch_windows([long] * 20 + windows, 32)]
    assert sum(sizes) == 20 + len(windows)
    for part in batch_windows([long] * 20 + windows, 32):
        longest = max(len(window.token_ids) for window in part)
        assert len(part) == 1 or len(part) * longest**2 <= MAX_BATCH_AREA


@given(
    st.text(min_size=1).filter(str.strip),
    st.lists(st.tuples(st.text(), st.text() | st.lists(st.text())), max_size=4),
)
def test_any_texts_are_answered_or_refused(question: str, paragraphs: list[Any]) -> None:
    model, _ = _SMALL
    if any(sentence.strip() for _, said in paragraphs for sentence in said):
        json.dumps(model.predict(question, paragraphs))
    else:
        with pytest.raises(ValueError, match="paragraphs"):
            model.predict(question, paragraphs)


_SMALL = model_and_windows(setting())


def test_a_folder_is_loaded_without_asking_for_its_code(folder: Path) -> None:
    model = twowiki.load_model(folder)
    assert model.predict(QUESTION, PAIRS)["sp"]
    assert not model.training
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["custom_pipelines"]["multihop-qa"]["impl"] == "pipeline.MultihopQAPipeline"
    assert {"pipeline.py", "prediction.py", "text.py"} <= {p.name for p in folder.glob("*.py")}


def test_a_folder_is_loaded_from_within_and_asked_from_elsewhere(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoModel

    monkeypatch.chdir(folder)
    models = [twowiki.load_model("."), AutoModel.from_pretrained(".", trust_remote_code=False)]
    monkeypatch.chdir(tmp_path)
    assert models[0].predict(QUESTION, PAIRS) == models[1].predict(QUESTION, PAIRS)


def test_the_folder_of_a_run_is_that_of_its_best_model(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"task": "baseline"}', encoding="utf-8")
    (tmp_path / "best").symlink_to(folder)
    assert twowiki.load_model(tmp_path).predict(QUESTION, PAIRS)["sp"]


def test_what_is_no_model_is_told(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "run" / "best").mkdir(parents=True)
    (tmp_path / "run" / "best" / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(DataError, match="is a file"):
        twowiki.load_model(tmp_path / "file")
    with pytest.raises(DataError, match="no saved model"):
        twowiki.load_model(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        twowiki.load_model(tmp_path / "nowhere")
    with pytest.raises(DataError, match="cannot be loaded"):
        twowiki.load_model(tmp_path / "run" / "best")
    with pytest.raises(DataError, match="device"):
        twowiki.load_model(folder, device="cuda:77")


def test_the_pipeline_answers_one_and_many(folder: Path) -> None:
    ask = twowiki.pipeline(model=folder, device="cpu")
    one = ask(QUESTION, TEXTS)
    assert one == twowiki.load_model(folder).predict(QUESTION, TEXTS)
    assert ask(question=QUESTION, paragraphs=TEXTS) == one
    assert ask({"question": QUESTION, "context": PAIRS})["sp"] == one["sp"]
    rows = [
        {"question": example.question, "paragraphs": example.context} for example in examples()[:5]
    ]
    alone = [said["sp"] for said in ask(rows)]
    assert [said["sp"] for said in ask(rows, batch_size=2)] == alone
    assert [said["sp"] for said in ask((row for row in rows), batch_size=3)] == alone
    questions, contexts = ([row[name] for row in rows] for name in ("question", "paragraphs"))
    assert [said["sp"] for said in ask(questions, contexts)] == alone
    assert ask([]) == []


def test_the_pipeline_reads_rows_of_the_data_set(folder: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = [twowiki.data.to_row(example) for example in examples()[:3]]
    data = datasets.Dataset.from_list(
        [{"question": row["question"], "context": row["context"]} for row in rows]
    )
    ask = twowiki.load_model(folder).as_pipeline(device="cpu")
    said = list(ask(data, batch_size=2))
    assert [one["sp"] for one in said] == [one["sp"] for one in ask(list(data))]


def test_the_examples_of_the_docs_run(folder: Path) -> None:
    blocks = (ROOT / "docs" / "hub.md").read_text(encoding="utf-8").split("```python\n")[1:3]
    names: dict[str, Any] = {
        "question": QUESTION,
        "paragraphs": PAIRS,
        "dataset": [{"question": QUESTION, "context": PAIRS}] * 3,
    }
    for block in blocks:
        code = block.split("```")[0].replace("runs/tiny", str(folder))
        code = code.replace("device=0", "device='cpu'")
        exec(code, names)
    assert names["prediction"]["answer"] == names["ask"](QUESTION, PAIRS)["answer"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("Who?",), "the paragraphs are None"),
        ((["Who?"],), "not a dict of"),
        (({"q": 1},), "not a dict of"),
        ((["Who?"], []), "1 questions, but the paragraphs of 0"),
        ((None,), "not a dict of"),
    ],
)
def test_the_pipeline_says_what_it_wants(folder: Path, given: Any, said: str) -> None:
    ask = twowiki.load_model(folder).as_pipeline(device="cpu")
    with pytest.raises(ValueError, match=said):
        ask(*given)
    with pytest.raises(TypeError, match="no option top_k"):
        ask("Who?", PAIRS, top_k=3)


def test_a_saved_pipeline_is_a_saved_model(folder: Path, tmp_path: Path) -> None:
    twowiki.load_model(folder).as_pipeline(device="cpu").save_pretrained(tmp_path / "again")
    assert {path.name for path in folder.iterdir()} == {
        path.name for path in (tmp_path / "again").iterdir()
    }
    assert twowiki.load_model(tmp_path / "again").predict(QUESTION, PAIRS)["sp"]


class Document:
    """A retriever's document: LangChain's, Haystack's or LlamaIndex's, by its attributes."""

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)


ORREL = ("Tavik Orrel", ("He was a runner.", "The son of Dessa Orrel."))


@pytest.mark.parametrize(
    "context",
    [
        "He was a runner. The son of Dessa Orrel.",
        ["He was a runner. The son of Dessa Orrel."],
        {"text": "He was a runner. The son of Dessa Orrel."},
    ],
    ids=["a text", "a list of texts", "a document"],
)
def test_texts_without_titles_are_paragraphs(context: Any) -> None:
    found = check_question("Who?", context).context
    assert [(title, [s.strip() for s in part]) for title, part in found] == [("", [*ORREL[1]])]


TEXT = "He was a runner. The son of Dessa Orrel."


@pytest.mark.parametrize(
    "document",
    [
        {"title": "Tavik Orrel", "text": TEXT},
        {"title": "Tavik Orrel", "sentences": list(ORREL[1])},
        {"name": "Tavik Orrel", "content": TEXT},
        {"page_content": TEXT, "metadata": {"title": "Tavik Orrel", "source": "wiki"}},
        Document(page_content=TEXT, metadata={"title": "Tavik Orrel"}),
        Document(id="1", content=TEXT, meta={"name": "Tavik Orrel"}, score=0.5),
        Document(node=Document(text=TEXT, metadata={"title": "Tavik Orrel"}), score=0.5),
        ORREL,
        ("Tavik Orrel", TEXT),
    ],
)
def test_documents_of_retrievers_are_paragraphs(document: Any) -> None:
    ((title, sentences),) = check_question("Who?", [document]).context
    assert (title, [sentence.strip() for sentence in sentences]) == (ORREL[0], [*ORREL[1]])


def test_a_text_is_answered_from_by_name_and_by_position(model: Any) -> None:
    ask = model.as_pipeline()
    answer = model.predict("Who?", TEXT)
    assert [one["title"] for one in answer["sentences"]] == ["", ""]
    for found in (
        ask(question="Who?", context=TEXT),
        ask("Who?", TEXT),
        ask({"question": "Who?", "context": TEXT}),
        ask(question=["Who?"], context=[TEXT])[0],
        ask(question="Who?", context=[{"page_content": TEXT}]),
    ):
        assert found == answer
