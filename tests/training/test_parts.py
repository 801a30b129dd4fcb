"""The pieces of training: configuration, batches, features on disk, vocabulary, checkpoints."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from accelerate.data_loader import prepare_data_loader
from hypothesis import given
from hypothesis import strategies as st

from tests.small_encoder import settings
from tests.small_model import GOLD_Q1, examples, model_and_windows, setting, with_vocabulary
from tests.tiny_data import tiny_examples, tiny_files
from twowiki.data.schema import Example
from twowiki.errors import DataError
from twowiki.hub.run_record import run_id
from twowiki.io import stages
from twowiki.io.ownership import OwnedFolder
from twowiki.models.processing_baseline import BaselineCollator, BaselineProcessor
from twowiki.models.processing_encoder import EncoderProcessor
from twowiki.training import checkpoints, data, encoding, feature_store, reports, vocabulary
from twowiki.training import loop as optimization
from twowiki.training.baseline import BaselineTask
from twowiki.training.checkpoints import RunState
from twowiki.training.encoding import encode_windows
from twowiki.training.extractive import aliases_of
from twowiki.training.feature_store import fingerprint
from twowiki.training.loaders import LongestFirst, make_loader
from twowiki.training.settings import BaselineArguments


def test_the_sampler_hides_what_makes_accelerate_drop_windows() -> None:
    sampler = LongestFirst([5, 7, 6], 2)
    assert list(sampler) == [[1, 2], [0]]
    assert not hasattr(sampler, "batch_size")
    assert not hasattr(sampler, "drop_last")


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_uneven_batches_reach_the_processes_without_loss(processes: int) -> None:
    model, windows = model_and_windows()
    seen: Counter[int] = Counter()
    lengths = [len(window.token_ids) for window in windows]
    for rank in range(processes):
        loader = make_loader(windows, BaselineCollator(model.config), LongestFirst(lengths, 5), 1)
        prepared = prepare_data_loader(
            loader, num_processes=processes, process_index=rank, put_on_device=False
        )
        seen.update(n for batch in prepared for n in batch["numbers"].tolist())
    assert set(seen) == set(range(len(windows)))
    assert sum(seen.values()) <= len(windows) + 5 * (processes - 1)


def test_features_come_back_from_disk_as_they_were(tmp_path: Path) -> None:
    config, tokenizer = with_vocabulary(setting())
    encoder = BaselineProcessor(config, tokenizer)
    direct = [w for n, e in enumerate(examples()) for w in encoder.encode(e, n)]
    features = encode_windows(examples(), BaselineProcessor(config, tokenizer), tmp_path, "content")
    assert len(features) == len(direct)
    assert features.lengths("token_ids") == [len(window.token_ids) for window in direct]
    for one, other in zip(features, direct, strict=True):
        for name in one._fields:
            assert numpy.array_equal(getattr(one, name), getattr(other, name)), name
    assert features[-1].text == direct[-1].text
    assert [window.example for window in features[2:4]] == [2, 3]
    with pytest.raises(IndexError):
        features[len(features)]


def test_no_windows_at_all_can_be_stored(tmp_path: Path) -> None:
    config, tokenizer = with_vocabulary(setting())
    features = encode_windows([], BaselineProcessor(config, tokenizer), tmp_path, "content")
    assert len(features) == 0
    assert features.lengths("token_ids") == []


@pytest.mark.slow
def test_processes_encode_and_count_as_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "PART_ITEMS", 2)
    monkeypatch.setattr(vocabulary, "PART_ITEMS", 2)
    config, tokenizer = with_vocabulary(setting())
    subwords, word_pieces = settings("bert")
    given = [*examples(), examples()[0]._replace(answer="never said")]
    notes, files = [], []
    for workers in (1, 2):
        for number, processor in enumerate(
            (BaselineProcessor(config, tokenizer), EncoderProcessor(subwords, word_pieces))
        ):
            folder = tmp_path / f"{number}-{workers}"
            store = encode_windows(given, processor, folder, "content", workers)
            files.append((store.folder / feature_store.ROWS_FILE).read_bytes())
            notes.append(store.notes)
    assert files[:2] == files[2:]
    assert notes[:2] == notes[2:]
    assert notes[0]["counts"]
    counts = [vocabulary.count_vocabulary(examples(), config, workers) for workers in (1, 2)]
    assert counts[0] == counts[1]


def test_what_a_start_counts_is_counted_once(tmp_path: Path) -> None:
    tiny_files(tmp_path)
    train, _ = data.find_sources(BaselineArguments(data_dir=str(tmp_path)))
    folder, content = tmp_path / "cache", train.content()
    first = vocabulary.stored_counts(train, content, setting(), folder)
    relations = vocabulary.stored_relations(train, content, folder)
    assert sorted(first.relations) == relations
    gone = replace(train, files=("nowhere.json",))
    assert vocabulary.stored_counts(gone, content, setting(), folder) == first
    assert vocabulary.stored_relations(gone, content, folder) == relations


def test_a_file_is_hashed_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []
    original = stages.sha256_of
    monkeypatch.setattr(stages, "sha256_of", lambda path: hashed.append(path) or original(path))
    path, folder = tmp_path / "train.json", tmp_path / "cache"

    def hashes(text: str | None = None) -> tuple[int, bool]:
        """How often the file was read for two hashes, and whether both are right."""
        if text is not None:
            path.write_text(text, encoding="utf-8")
        hashed.clear()
        found = {stages.file_hash(str(path), folder) for _ in range(2)}
        return len(hashed), found == {original(path)}

    assert hashes("one") == (2, True)  # it changed a moment ago
    monkeypatch.setattr(stages, "_SETTLED", -1)
    assert hashes() == (1, True)
    assert hashes() == (0, True)
    assert hashes("two") == (1, True)  # as many bytes
    kept = path.stat()
    path.write_text("six", encoding="utf-8")
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert hashes() == (1, True)
    for damaged in ("{", "[]"):
        (folder / stages.HASHES).write_text(damaged, encoding="utf-8")
        assert hashes() == (1, True)


def test_a_second_start_reads_no_training_data_and_encodes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_files(tmp_path)
    config = BaselineArguments(
        data_dir=str(tmp_path), output_dir=str(tmp_path / "run"), preprocessing_num_workers=1
    )
    monkeypatch.setattr(stages, "_SETTLED", -1)
    BaselineTask(config).prepare(None)
    read: Counter[str] = Counter()
    original = data.Source.examples

    def counted(source: data.Source) -> Iterator[Example]:
        for example in original(source):
            read[source.split] += 1
            yield example

    def refused(*_: object) -> None:
        raise AssertionError("this was done before")

    monkeypatch.setattr(data.Source, "examples", counted)
    monkeypatch.setattr(stages, "sha256_of", refused)
    monkeypatch.setattr(BaselineProcessor, "encode_example", refused)
    task = BaselineTask(config)
    task.prepare(None)
    assert read == {"validation": len(task.examples)}
    assert len(task.train) > len(task.validation) > 0


def test_encoded_examples_follow_the_content_of_their_file(tmp_path: Path) -> None:
    from twowiki.data.schema import to_official

    config, tokenizer = with_vocabulary(setting())
    path = tmp_path / "train.json"
    lengths = []
    for count in (1, 2):
        records = [to_official(example, config="data") for example in examples()[:count]]
        path.write_text(json.dumps(records), encoding="utf-8")
        source = data.source_of_file(str(path), "train")
        encoder = BaselineProcessor(config, tokenizer)
        features = encode_windows(source.examples(), encoder, tmp_path / "cache", source.content())
        lengths.append(len(features))
    assert lengths == [1, 2]
    again = encode_windows(iter(()), encoder, tmp_path / "cache", source.content())
    assert len(again) == 2  # nothing was read: the file is there already


def test_whatever_moves_an_encoding_moves_its_fingerprint() -> None:
    config, tokenizer = with_vocabulary(setting())
    base = fingerprint(BaselineProcessor(config, tokenizer), "content")
    assert base == fingerprint(BaselineProcessor(config, tokenizer), "content")
    others = {
        fingerprint(BaselineProcessor(config, tokenizer), "other"),
        fingerprint(BaselineProcessor(config, tokenizer, {"Q1": ["A"]}), "content"),
        fingerprint(BaselineProcessor(*with_vocabulary(setting(ignore_case=False))), "content"),
        fingerprint(BaselineProcessor(*with_vocabulary(setting(), [GOLD_Q1])), "content"),
    }
    assert len(others) == 4
    assert base not in others


def test_vectors_are_read_from_text_arrays_and_archives(tmp_path: Path) -> None:
    lines = "the 0.5 1.0 -2\n. . . 1 2 3\r\nÉlan 1e-3 0 0\nthe 9 9 9\n"
    text = tmp_path / "glove.txt"
    text.write_text(lines, encoding="utf-8", newline="")
    with zipfile.ZipFile(tmp_path / "glove.zip", "w") as archive:
        archive.writestr("glove.3d.txt", lines)
    (tmp_path / "w2v.txt").write_text("3 3\n" + lines.replace("\r", ""), encoding="utf-8")
    numpy.save(tmp_path / "v.npy", numpy.array([[0.5, 1, -2], [1, 2, 3], [1e-3, 0, 0]]))
    (tmp_path / "v.txt").write_text("the\n. . .\nÉlan\n", encoding="utf-8")
    for name in ("glove.txt", "glove.zip", "w2v.txt", "v.npy"):
        vectors = vocabulary.read_vectors(str(tmp_path / name))
        assert list(vectors) == ["the", ". . .", "Élan"], name
        assert vectors["the"].tolist() == [0.5, 1.0, -2.0]
    some = vocabulary.read_vectors(str(text), wanted={"Élan"}.__contains__, extra=1)
    assert list(some) == ["the", "Élan"]


@pytest.mark.parametrize("text", ["", "word\n", "the 1 2\nbad 1\n", "the 1 2\nbad x y\n"])
def test_files_that_are_no_vectors_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"bad\.txt"):
        vocabulary.read_vectors(str(path))


def test_words_with_vectors_get_them_and_specials_stay_zero() -> None:
    config = setting(word_dim=2)
    counts = vocabulary.count_vocabulary(examples(), config)
    known = {"film": numpy.array([1, 2], "f4"), "unseen": numpy.array([3, 4], "f4")}
    tokenizer, _ = vocabulary.make_vocabulary(counts, config, known=known)
    matrix = vocabulary.vector_matrix(tokenizer, known, seed=1)
    ids = tokenizer.get_vocab()
    assert matrix[ids["film"]].tolist() == [1, 2]
    assert matrix[ids["unseen"]].tolist() == [3, 4]
    assert not matrix[:2].any()
    frozen = setting(freeze_word_vectors=True)
    tokenizer, _ = vocabulary.make_vocabulary(counts, frozen, known=known)
    assert tokenizer.get_vocab() == {"[PAD]": 0, "[UNK]": 1, "film": 2}


def test_aliases_are_read_by_line_and_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "id_aliases.json"
    path.write_text(
        '{"Q_id": "Q1", "aliases": [], "demonyms": []}\n\n'
        '{"Q_id": "Q2", "aliases": ["Lady Dessa"], "demonyms": ["Veltrian"]}\r\n{"Q_id": "Q3"}\n',
        encoding="utf-8",
    )
    names = {"Q1": [], "Q2": ["Lady Dessa", "Veltrian"], "Q3": []}
    assert aliases_of(str(path)) == names
    (tmp_path / "packed.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert aliases_of(str(tmp_path / "packed.gz")) == names
    assert aliases_of("") == {}
    for bad, said in (
        ('{"aliases": ["Dessa"]}', "number 1.*Q_id"),
        ('{"Q_id": "Q2", "aliases": ["a"', "truncated"),
        ('{"Q_id": "Q2", "aliases": 7}', "Q2"),
    ):
        path.write_text('{"Q_id": "Q1", "aliases": []}\n' + bad + "\n", encoding="utf-8")
        with pytest.raises(DataError, match=said):
            aliases_of(str(path))
    with pytest.raises(DataError, match="no such file"):
        aliases_of(str(tmp_path / "absent.json"))


def test_data_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        data.find_sources(
            BaselineArguments(train_file="absent.json", validation_file="absent.json")
        )
    with pytest.raises(DataError, match="validation_file"):
        data.find_sources(BaselineArguments(train_file="a.json"))
    (tmp_path / "train.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match="no validation split"):
        data.find_sources(BaselineArguments(data_dir=str(tmp_path)))


@given(paragraphs=st.integers(1, 8), copies=st.integers(1, 3))
def test_training_examples_keep_their_gold_paragraphs_and_some_others(
    paragraphs: int, copies: int
) -> None:
    whole = list(tiny_examples(6, seed=1))
    found = list(data.with_fewer_paragraphs(whole, paragraphs, copies))
    again = list(data.with_fewer_paragraphs(whole[::-1], paragraphs, copies))
    assert sorted(found) == sorted(again)  # what an example keeps follows from its id
    assert len({example.id for example in found}) == len(found) == len(whole) * copies
    for number, example in enumerate(found):
        before = whole[number // copies]
        gold = {fact.title for fact in before.supporting_facts}
        kept = list(example.context)
        assert kept == [paragraph for paragraph in before.context if paragraph in kept]
        assert gold <= {paragraph.title for paragraph in kept}
        golden = sum(paragraph.title in gold for paragraph in before.context)
        assert len(kept) == min(len(before.context), max(paragraphs, golden))
        assert example._replace(id=before.id, context=before.context) == before


def test_fewer_paragraphs_are_for_training_and_have_a_content_of_their_own(tmp_path: Path) -> None:
    _, train_file, _, validation_file = tiny_files(tmp_path, 4)
    whole = BaselineArguments(train_file=train_file, validation_file=validation_file)
    fewer = replace(whole, train_paragraphs=2, train_copies=2)
    train, validation = data.find_sources(fewer)
    assert len(list(train.examples())) == 8
    assert {len(example.context) for example in train.examples()} <= {2, 3, 4}
    assert validation == data.find_sources(whole)[1]
    assert train.content() != data.find_sources(whole)[0].content()
    assert train.content() != replace(train, copies=3).content()


@pytest.mark.slow
def test_a_world_is_made_once_and_trained_on(tmp_path: Path) -> None:
    world = "people=150, films=110, seed=3, brief=1, limit_per_type=20"
    config = BaselineArguments(world=world, output_dir=str(tmp_path), max_eval_samples=5)
    train, validation = data.find_sources(config)
    made = Path(train.files[0])
    assert made.parent.parent.parent == tmp_path
    assert len(list(train.examples())) > 20
    assert len(list(validation.examples())) == 5
    before = made.stat().st_mtime_ns
    assert data.find_sources(config)[0].content() == train.content()
    assert made.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("world", "said"),
    [
        ("people=150,film=10", "Did you mean films"),
        ("people=many", "field 'people'"),
        ("people", "sets nothing"),
        ("people=1,films=100", "from 50"),
        ("people=150,films=100,mix=even,people=2", "given twice"),
    ],
)
def test_a_world_that_cannot_be_made_is_refused(world: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        data.find_sources(BaselineArguments(world=world, output_dir=str(tmp_path)))
    assert not list(tmp_path.rglob("*.json"))


def test_learning_rates_warm_up_fall_and_halve() -> None:
    config = BaselineArguments(learning_rate=1.0)
    state = RunState(step=4)
    assert optimization.learning_rate_at(config, state, 0.0, 10) == 0.5
    assert optimization.learning_rate_at(config, replace_step(state, 50), 0.75, 10) == 0.25
    assert optimization.learning_rate_at(config, replace_step(state, 99), 1.0, 10) == 0.01
    cosine = replace(config, lr_scheduler_type="cosine")
    rates = [optimization.learning_rate_at(cosine, state, part, 0) for part in (0.0, 0.5, 1.0)]
    assert rates == [1.0, pytest.approx(0.5), 0.01]
    halving = replace(config, lr_scheduler_type="halving", early_stopping_patience=0)
    for figure, factor, over in ((1.0, 1.0, False), (1.0, 0.5, False), (2.0, 0.5, False)):
        optimization.note_evaluation(halving, state, figure)
        assert state.rate_factor == factor
        assert bool(optimization.is_over(halving, state)) is over
    for _ in range(6):
        optimization.note_evaluation(halving, state, 0.0)
    assert "hundredth" in optimization.is_over(halving, state)


def replace_step(state: RunState, step: int) -> RunState:
    return replace(state, step=step)


def test_patience_stops_at_the_metric_that_was_asked_for() -> None:
    config, state = BaselineArguments(early_stopping_patience=2), RunState()
    assert optimization.note_evaluation(config, state, 1.0)
    for figure in (1.0, 0.5):
        assert not optimization.note_evaluation(config, state, figure)
    assert optimization.is_over(config, state) == "no better joint_f1 in 2 evaluations"


def test_the_latest_model_is_kept_while_nothing_scores() -> None:
    config, state = BaselineArguments(early_stopping_patience=2), RunState()
    kept = []
    for step in (0, 10, 20):
        state.step = step
        kept.append(optimization.note_evaluation(config, state, 0.0))
    assert kept == [True, True, True]
    assert (state.best, state.best_step, state.waited) == (0.0, 20, 2)


def test_matrices_decay_and_vectors_do_not() -> None:
    model, _ = model_and_windows()
    groups = optimization.make_optimizer(model, BaselineArguments()).param_groups
    assert groups[0]["weight_decay"] > 0 == groups[1]["weight_decay"]
    assert all(parameter.dim() < 2 for parameter in groups[1]["params"])
    sgd = optimization.make_optimizer(model, BaselineArguments(optim="sgd"))
    assert sgd.param_groups[0]["momentum"] == 0


def test_only_checkpoints_of_the_run_count(tmp_path: Path) -> None:
    for name in ("checkpoint-2", "checkpoint-10", "checkpoint-9.tmp", "checkpoint-x", "notes"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").write_text("{}")
    (tmp_path / "checkpoint-11").write_text("a file")
    for name in ("checkpoint-2", "checkpoint-10"):
        (tmp_path / "aside").mkdir()
        (tmp_path / "aside" / "run.json").write_text("{}")
        (tmp_path / name / "run.json").unlink()
        OwnedFolder(tmp_path).put(tmp_path / "aside", name)
    found = [path.name for path in checkpoints.list_checkpoints(str(tmp_path))]
    assert found == ["checkpoint-2", "checkpoint-10"]


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    config = BaselineArguments(learning_rate=1.0)
    identity = checkpoints.run_identity(config, ["a", "b"])
    content = {"identity": identity, "config": {}}
    (tmp_path / "run.json").write_text(json.dumps(content), encoding="utf-8")
    (tmp_path / "trainer_state.json").write_text("{}", encoding="utf-8")

    def check(data: list[str] | None = None, **changes: object) -> None:
        mine = replace(config, **changes)  # type: ignore[arg-type]
        checkpoints.check_same_run(tmp_path, checkpoints.run_identity(mine, data or ["a", "b"]))

    check(num_train_epochs=99)
    with pytest.raises(DataError, match=r"learning_rate = 1\.0"):
        check(learning_rate=2.0)
    with pytest.raises(DataError, match="other data"):
        check(["a", "c"])
    with pytest.raises(DataError, match="is not a checkpoint"):
        checkpoints.find_checkpoint(
            replace(config, resume_from_checkpoint=str(tmp_path / "nowhere"))
        )


def test_a_run_is_what_its_result_follows_from(tmp_path: Path) -> None:
    config = BaselineArguments()
    start = tmp_path / "start"
    start.mkdir()
    (start / "config.json").write_text("{}")
    other = replace(config, model_name_or_path=str(start))

    def identify(config: BaselineArguments, *data: str) -> str:
        return run_id(checkpoints.run_identity(config, list(data or "d")))

    assert identify(config) == identify(replace(config, output_dir="x", max_steps=3))
    ids = [identify(config), identify(replace(config, seed=14)), identify(config, "e")]
    ids.append(identify(other))
    (start / "config.json").write_text('{"a": 1}')
    assert len({*ids, identify(other)}) == 5


def test_curves_and_tables_are_made_of_any_history(tmp_path: Path) -> None:
    metrics = dict.fromkeys(reports.JOINT_COLUMNS, 12.345)
    history = [
        {"step": 1, "loss": 2.0, "losses": {"span": 1.0}, "rate": 0.1},
        {"step": 1, "epoch": 0, "metrics": metrics},
    ]
    for number, part in enumerate((history, history[:1], [])):
        path = tmp_path / f"{number}.png"
        reports.draw_curves(part, path, "joint_f1")
        assert path.read_bytes().startswith(b"\x89PNG")
    table = reports.render_by_type({"inference": metrics}, metrics).splitlines()
    assert len(table) == 3
    assert table[1].split() == ["inference", *["12.35"] * 8] or "12.34" in table[1]
    assert {"python", "torch", "twowiki"} <= set(reports.versions())
