"""Pushing to a hub on the loopback interface: one commit, unchanged none, and every way to fail."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hub.folders import data_folder, model_folder, space_folder
from tests.hub.loopback_hub import OWNER, READ, WRITE, Fault, Hub, point_at, serving
from twowiki.cli.main import main
from twowiki.errors import DataError
from twowiki.hub.push import push, quiet_library
from twowiki.hub.secret_scan import hide_secrets

MODEL = f"{OWNER}/a-model"
# how the library uploads big files without Xet
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serving() as hub:
        point_at(hub, monkeypatch)
        yield hub


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_folder(tmp_path_factory.mktemp("saved") / "run 1.5-a")


@pytest.fixture
def model(saved: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(saved, tmp_path / "run"))


def failed(capsys: pytest.CaptureFixture[str], *given: Any) -> str:
    assert main(["push", *map(str, given)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    for token in (WRITE, READ, "signature", "Traceback"):
        assert token not in captured.err
    *waits, message = captured.err.strip().splitlines()
    assert all(line.startswith(("Rate limited", "Retrying")) for line in waits), waits
    return message


def test_a_model_is_pushed_in_one_commit(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["push", "model", str(model), MODEL]) == 0
    message = capsys.readouterr()
    assert f"to {hub.address}/{MODEL}" in message.out
    assert WRITE not in message.out + message.err
    tree = hub.tree("model", MODEL)
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md"} <= set(tree)
    assert any(path.endswith(".py") for path in tree)
    assert hub.commits("model", MODEL) == 1
    for path in (model / "best").iterdir():
        assert tree[path.name] == path.read_bytes()
    assert f'from_pretrained("{MODEL}", trust_remote_code=True)' in tree["README.md"].decode()
    assert not any(WRITE in f"{call.path}" for call in hub.calls)


def test_an_unchanged_folder_makes_no_commit(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = push(model / "best", MODEL)
    assert first.changed
    stored = dict(hub.stored)
    assert main(["push", "model", str(model), MODEL]) == 0
    assert "nothing has changed" in capsys.readouterr().out
    assert hub.commits("model", MODEL) == 1
    assert hub.stored == stored
    (model / "best" / "LICENSE").write_text("Apache-2.0\n", encoding="utf-8")
    third = push(model / "best", MODEL)
    assert third.changed
    assert hub.commits("model", MODEL) == 2


def test_what_a_folder_no_longer_has_is_deleted_in_the_same_commit(
    hub: Hub, tmp_path: Path
) -> None:
    folder = data_folder(tmp_path / "out", shard_rows=1000, rows=2500)
    name = f"{OWNER}/data"
    push(folder, name, "dataset")
    before = set(hub.tree("dataset", name))
    assert sum("train-" in path for path in before) == 3
    repository = hub.repositories["dataset", name]
    repository.commit("main", {**hub.tree("dataset", name), "notes/keep.parquet": b"x"})
    again = data_folder(tmp_path / "again", shard_rows=50_000, rows=2500)
    done = push(again, name, "dataset")
    after = set(hub.tree("dataset", name))
    assert sum("train-" in path for path in after) == 1
    assert "notes/keep.parquet" in after
    assert set(done.deleted) == {path for path in before if "train-" in path}
    assert hub.commits("dataset", name) == 3


@pytest.mark.parametrize(("kind", "folder"), [("metric", "twowiki_joint"), ("metric", "arc_da")])
def test_a_metric_becomes_a_space(hub: Hub, kind: str, folder: str) -> None:
    from tests.joint_files import ROOT

    name = f"{OWNER}/{folder}"
    assert push(ROOT / "metrics" / folder, name, kind).changed
    assert {f"{folder}.py", "app.py", "requirements.txt"} <= set(hub.tree("space", name))
    assert not push(ROOT / "metrics" / folder, name, kind).changed


def test_a_demo_becomes_a_space(hub: Hub, tmp_path: Path) -> None:
    folder = space_folder(tmp_path / "demo")
    (folder / ".env").write_text("SECRET=1", encoding="utf-8")
    (folder / "weights.pt").write_bytes(b"x")
    push(folder, f"{OWNER}/demo", "demo")
    tree = hub.tree("space", f"{OWNER}/demo")
    assert set(tree) == {".gitattributes", "README.md", "app.py", "requirements.txt"}


def test_a_dry_run_sends_and_writes_nothing(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    (model / "best" / "optimizer.bin").write_bytes(b"x")
    (model / "best" / ".env").write_text("x", encoding="utf-8")
    before = sorted(model.rglob("*"))
    assert main(["push", "model", str(model), MODEL, "--dry-run"]) == 0
    message = capsys.readouterr().out
    assert "model.safetensors" in message
    assert "optimizer.bin: a pickle" in message
    assert ".env: hidden" in message
    assert hub.calls == []
    assert sorted(model.rglob("*")) == before


def test_a_branch_a_pull_request_and_a_private_repository(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["push", "model", str(model), MODEL, "--private", "--revision", "try"]) == 0
    assert hub.repositories["model", MODEL].private
    assert hub.commits("model", MODEL) == 0
    assert hub.commits("model", MODEL, "try") == 1
    capsys.readouterr()
    assert main(["push", "model", str(model), MODEL, "--create-pr", "--message", "Better"]) == 0
    assert f"{hub.address}/{MODEL}/discussions/1" in capsys.readouterr().out
    assert hub.commits("model", MODEL) == 0
    assert "main" in failed(capsys, "model", model, MODEL, "--create-pr", "--revision", "try")


def test_a_public_repository_gets_nothing_that_should_be_private(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    push(model, MODEL)
    (model / "best" / "LICENSE").write_text("x", encoding="utf-8")
    assert "is public" in failed(capsys, "model", model, MODEL, "--private")
    assert hub.commits("model", MODEL) == 1


@pytest.mark.parametrize(
    ("token", "owner", "message"),
    [
        ("hf_" + "ATokenThatNobodyKnows123456789abcd", OWNER, "refuses the token"),
        (READ, OWNER, "may not do this"),
        (WRITE, "somebody", "may not do this"),
        ("", OWNER, "no token to push with"),
    ],
)
def test_a_token_that_will_not_do_is_reported(
    hub: Hub,
    model: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    token: str,
    owner: str,
    message: str,
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    text = failed(capsys, "model", model, f"{owner}/m")
    assert message in text
    assert "hf auth login" in text
    assert not token or token not in text
    assert hub.repositories == {}


DROPS = [
    "GET /api/models",
    "POST /api/repos/create",
    "POST /api/validate-yaml",
    "POST .*preupload",
    "POST .*batch",
    "PUT /_store",
    "POST /_verify",
    "POST .*commit/main",
]


@pytest.mark.parametrize("pattern", DROPS)
def test_a_dropped_connection_is_reported_and_loses_nothing(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str], pattern: str
) -> None:
    before = {path.name: path.read_bytes() for path in (model / "best").iterdir()}
    hub.faults = [Fault(pattern)]
    message = failed(capsys, "model", model, MODEL)
    assert "the connection broke" in message
    if ("model", MODEL) in hub.repositories:
        assert hub.commits("model", MODEL) == 0
        assert f"the repository {MODEL} was made for it, and is empty" in message
    for name, content in before.items():
        if name != "README.md":
            assert (model / "best" / name).read_bytes() == content
    hub.faults = []
    assert main(["push", "model", str(model), MODEL]) == 0
    assert hub.commits("model", MODEL) == 1


def test_an_answer_that_is_lost_after_the_commit_costs_no_second_one(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.faults = [Fault("POST .*commit/main", after=True, times=1)]
    assert "push again" in failed(capsys, "model", model, MODEL)
    assert main(["push", "model", str(model), MODEL]) == 0
    assert "nothing has changed" in capsys.readouterr().out
    assert hub.commits("model", MODEL) == 1


@pytest.mark.parametrize("pattern", ["PUT /_store", "POST .*preupload"])
def test_a_short_break_is_bridged(hub: Hub, model: Path, pattern: str) -> None:
    hub.faults = [Fault(pattern, times=2), Fault(pattern, status=503, times=1)]
    assert push(model, MODEL).changed


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (429, {"Retry-After": "90"}, "fewer requests .429.. .* after 90 seconds"),
        (429, {}, "fewer requests .429.. .* in a few minutes"),
        (500, {}, "in trouble .500., and answers: a fault"),
        (503, {}, "in trouble .503."),
        (413, {}, "no commit of this size"),
        (400, {}, "refuses it .400., and answers: a fault"),
        (404, {"X-Error-Code": "RevisionNotFound"}, "no such repository or branch"),
        (412, {}, "somebody else changed"),
    ],
)
def test_what_the_hub_answers_is_reported_in_a_sentence(
    hub: Hub,
    model: Path,
    capsys: pytest.CaptureFixture[str],
    status: int,
    headers: dict[str, str],
    message: str,
) -> None:
    hub.faults = [Fault("POST .*commit/", status=status, headers=headers)]
    text = failed(capsys, "model", model, MODEL)
    assert re.search(message, text), text
    assert hub.commits("model", MODEL) == 0


@pytest.mark.parametrize("pattern", ["validate-yaml", "preupload", "commit/"])
def test_an_answer_of_something_in_between_is_reported(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str], pattern: str
) -> None:
    hub.faults = [Fault(pattern, status=200, body=b"<html>a proxy's page</html>")]
    assert "cannot be read" in failed(capsys, "model", model, MODEL)


def test_a_card_that_the_hub_refuses_is_reported(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (model / "best" / "README.md").write_text("---\njust words\n---\n", encoding="utf-8")
    text = failed(capsys, "model", model, MODEL)
    assert "Invalid metadata in README.md: the metadata is no YAML" in text
    (model / "best" / "README.md").write_bytes(b"\xff\xfe")
    assert "not UTF-8 text" in failed(capsys, "model", model, MODEL)


def test_a_server_that_repeats_the_token_does_not_bring_it_out(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = {"error": f"bad token {WRITE} at https://me:pass@host/x?signature=abc"}
    hub.faults = [Fault("POST .*commit/", status=400, body=message)]
    text = failed(capsys, "model", model, MODEL)
    assert "[hidden]" in text
    assert "pass@" not in text


def test_somebody_elses_commit_in_between_is_not_overwritten(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import HfApi

    push(model, MODEL)
    (model / "best" / "LICENSE").write_text("x", encoding="utf-8")
    create = HfApi.create_commit

    def late(self: Any, *given: Any, **options: Any) -> Any:
        tree = hub.tree("model", MODEL)
        hub.repositories["model", MODEL].commit("main", {**tree, "other.txt": b"x"})
        return create(self, *given, **options)

    monkeypatch.setattr(HfApi, "create_commit", late)
    assert "somebody else" in failed(capsys, "model", model, MODEL)
    assert "other.txt" in hub.tree("model", MODEL)


@pytest.mark.parametrize(
    "repo", ["a-model", "/m", "me/", "a/b/c", "me/-m", "me/a b", "me/m--n", ""]
)
def test_a_name_without_owner_is_reported(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str], repo: str
) -> None:
    assert "field 'repo'" in failed(capsys, "model", model, repo)
    assert hub.calls == []


def test_no_network_is_wanted_and_said(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE" in failed(capsys, "model", model, MODEL)
    assert hub.calls == []


def test_nobody_at_the_address_is_reported(
    model: Path, capsys: pytest.CaptureFixture[str], hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://me:secret-word@127.0.0.1:9")
    text = failed(capsys, "model", model, MODEL)
    assert "the connection broke" in text
    assert "secret-word" not in text
    monkeypatch.setenv("HF_ENDPOINT", hub.address.replace("http://", "http://me:secret-word@"))
    assert "secret-word" not in failed(capsys, "model", model, MODEL)


def test_tokens_are_hidden_whatever_text_holds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", WRITE)
    text = f"{WRITE} other hf_abcdefghij https://u:p@h/x?X-Sig=1 end"
    assert hide_secrets(text) == "[hidden] other [hidden] https://h/x end"


def test_of_the_librarys_notes_only_waits_are_shown(hub: Hub) -> None:
    import io
    import logging

    shown = io.StringIO()
    handler = logging.StreamHandler(shown)
    logger = logging.getLogger("huggingface_hub")
    logger.addHandler(handler)
    try:
        with quiet_library():
            notes = logging.getLogger("huggingface_hub.utils._http")
            notes.warning("'x' thrown while requesting PUT https://h/x?signature=1")
            notes.warning("Rate limited. Waiting 90s before retry [Retry 1/5].")
    finally:
        logger.removeHandler(handler)
    assert shown.getvalue() == "Rate limited. Waiting 90s before retry [Retry 1/5].\n"


def test_the_token_of_a_login_is_used(
    hub: Hub, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants

    monkeypatch.delenv("HF_TOKEN")
    (tmp_path / "token").write_text(f"{WRITE}\n", encoding="utf-8")
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    assert push(model, MODEL).changed
    assert {call.token for call in hub.calls if call.path.startswith("/api")} == {WRITE}


LEAKS = {
    "a Hugging Face token": READ,
    "an OpenAI key": "sk-" + "proj-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "a GitHub token": "ghp_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "an AWS key": "AKIA" + "ABCDEFGHIJKL2345",
    "a Slack token": "xoxb-" + "1234567890-abcdefghijKLMN",
    "a private key": "-----BEGIN " + "RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_token_in_a_file_stops_the_push(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (model / "best" / "extra.py").write_text(f"# \nKEY = '{LEAKS[name]}'\n", encoding="utf-8")
    text = failed(capsys, "model", model, MODEL)
    assert f"{name} (line 2)" in text
    assert LEAKS[name] not in text
    assert hub.calls == []


def test_the_own_token_is_found_in_any_file(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = space_folder(tmp_path / "demo")
    (folder / "picture.png").write_bytes(b"\0" * 5_000_000 + WRITE.encode())
    assert "your token" in failed(capsys, "demo", folder, f"{OWNER}/demo")
    assert hub.calls == []


def test_examples_of_tokens_are_no_tokens(hub: Hub, tmp_path: Path) -> None:
    folder = space_folder(tmp_path / "demo")
    (folder / "a.py").write_text(f"# Set HF_TOKEN=hf_{'x' * 34}\n", encoding="utf-8")
    assert push(folder, f"{OWNER}/demo", "demo").changed


def remove(name: str) -> Any:
    return lambda folder: (folder / name).unlink()


def cut(name: str) -> Any:
    def apply(folder: Path) -> None:
        path = folder / name
        path.write_bytes(path.read_bytes()[:-7])

    return apply


def edit(name: str, **values: Any) -> Any:
    def apply(folder: Path) -> None:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps(content | values), encoding="utf-8")

    return apply


def text(name: str, content: str) -> Any:
    return lambda folder: (folder / name).write_text(content, encoding="utf-8")


MODEL_FAULTS = [
    (remove("config.json"), "no saved model"),
    (remove("model.safetensors"), "no weights"),
    (cut("model.safetensors"), "cut off"),
    (text("model.safetensors", "<!DOCTYPE html>"), "cut off"),
    (remove("tokenizer.json"), "no tokenizer"),
    (edit("config.json", auto_map={"AutoModel": "a/b--modeling.X"}), "another repository"),
    (edit("config.json", auto_map=None), "names no code"),
    (edit("config.json", auto_map=None, model_type="t5", custom_pipelines=None), None),
    (text("config.json", "{,}"), "broken JSON"),
    (text("config.json", "[]"), "not a JSON object"),
    (text("model.safetensors.index.json", '{"weight_map": {"a": "x.safetensors"}}'), "names x.saf"),
]


@pytest.mark.parametrize(("fault", "message"), MODEL_FAULTS)
def test_a_folder_that_is_not_whole_is_not_sent(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str], fault: Any, message: str | None
) -> None:
    fault(model / "best")
    if message is None:
        assert push(model / "best", MODEL).changed
    else:
        assert message in failed(capsys, "model", model / "best", MODEL)
        assert hub.calls == []


def test_every_module_of_the_code_must_be_there(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    modules = sorted((model / "best").glob("*.py"))
    assert len(modules) > 5
    for path in modules:
        code = path.read_bytes()
        path.unlink()
        assert f"needs {path.name}" in failed(capsys, "model", model, MODEL)
        path.write_bytes(code)
    assert hub.calls == []


def test_only_pickled_weights_are_no_model(
    hub: Hub, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (model / "best" / "model.safetensors").rename(model / "best" / "pytorch_model.bin")
    assert "as safetensors" in failed(capsys, "model", model, MODEL)


def test_links_out_of_the_folder_are_not_followed(hub: Hub, model: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("x = 1\n", encoding="utf-8")
    (model / "best" / "link.py").symlink_to(tmp_path / "outside.py")
    (model / "best" / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (model / "best" / "more").symlink_to(tmp_path)
    push(model, MODEL)
    assert not {"link.py", "gone.py"} & set(hub.tree("model", MODEL))


def test_a_card_that_was_edited_stays(hub: Hub, model: Path) -> None:
    push(model, MODEL)
    card = model / "best" / "README.md"
    written = card.read_text(encoding="utf-8")
    assert MODEL in written
    push(model, f"{OWNER}/other")
    assert f"{OWNER}/other" in card.read_text(encoding="utf-8")
    card.write_text(written.replace("## Limits", "## My limits"), encoding="utf-8")
    push(model, f"{OWNER}/third")
    assert hub.tree("model", f"{OWNER}/third")["README.md"].decode() == card.read_text("utf-8")
    assert "My limits" in card.read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_written_to_is_pushed_with_its_card(
    hub: Hub, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise DataError("cannot be written")

    monkeypatch.setattr("twowiki.hub.folder_checks.write_text", full)
    assert push(model, MODEL).changed
    assert MODEL in hub.tree("model", MODEL)["README.md"].decode()
    assert not (model / "best" / "README.md").exists()


DATA_FAULTS = [
    (lambda folder: [path.unlink() for path in folder.rglob("*.parquet")], "no Parquet"),
    (lambda folder: cut(next(folder.rglob("*.parquet")).relative_to(folder))(folder), "cut off"),
    (
        lambda folder: (folder / "README.md").write_text(
            (folder / "README.md").read_text().replace("name: question", "name: query")
        ),
        "other features",
    ),
    (
        lambda folder: (folder / "README.md").write_text(
            (folder / "README.md").read_text().replace("num_examples: 3", "num_examples: 4")
        ),
        "other splits",
    ),
    (lambda folder: next(folder.rglob("test*.parquet")).unlink(), "does not exist"),
    (lambda folder: (folder / "data").rename(folder / "moved"), "does not exist"),
    (text("README.md", "---\n: [\n---\n"), "header is broken"),
]


@pytest.mark.parametrize(("fault", "message"), DATA_FAULTS)
def test_a_data_set_that_contradicts_itself_is_not_sent(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: Any, message: str
) -> None:
    folder = data_folder(tmp_path / "out")
    fault(folder)
    assert message in failed(capsys, "dataset", folder, f"{OWNER}/data")
    assert hub.calls == []


def test_a_missing_data_card_is_written(hub: Hub, tmp_path: Path) -> None:
    folder = data_folder(tmp_path / "out")
    card = (folder / "README.md").read_bytes()
    (folder / "README.md").unlink()
    push(folder, f"{OWNER}/data", "dataset")
    assert (folder / "README.md").read_bytes() == card
    assert hub.tree("dataset", f"{OWNER}/data")["README.md"] == card


def test_a_renewed_card_has_the_files_new_columns(hub: Hub, tmp_path: Path) -> None:
    import pyarrow.parquet
    from datasets import load_dataset

    from twowiki.builder.dataset_card import write_dataset_card

    folder = data_folder(tmp_path / "out")
    before = load_dataset(str(folder), split="train").features
    for path in folder.rglob("*.parquet"):
        table = pyarrow.parquet.read_table(path)
        names = ["query" if name == "question" else name for name in table.column_names]
        pyarrow.parquet.write_table(table.rename_columns(names).replace_schema_metadata(), path)
    with pytest.raises(DataError, match="other features"):
        push(folder, f"{OWNER}/data", "dataset")
    write_dataset_card(folder)
    assert push(folder, f"{OWNER}/data", "dataset").changed
    after = load_dataset(str(folder))
    assert {str(split.features) for split in after.values()} == {str(after["train"].features)}
    assert after["train"].column_names == [
        "query" if name == "question" else name for name in before
    ]


def test_another_layout_of_a_data_set_is_left_to_its_card(hub: Hub, tmp_path: Path) -> None:
    folder = data_folder(tmp_path / "out")
    flat = tmp_path / "flat"
    (flat / "data").mkdir(parents=True)
    for path in folder.rglob("*.parquet"):
        (flat / "data" / path.name).write_bytes(path.read_bytes())
    header = "configs:\n- config_name: default\n  data_files: data/*.parquet\n"
    (flat / "README.md").write_text(f"---\n{header}---\n", encoding="utf-8")
    assert push(flat, f"{OWNER}/flat", "dataset").changed


SPACE_FAULTS = [
    (remove("README.md"), "no README.md"),
    (remove("app.py"), "no app.py"),
    (remove("requirements.txt"), "no requirements.txt"),
    (text("README.md", "---\ntitle: x\n---\n"), "sdk: None"),
]


@pytest.mark.parametrize(("fault", "message"), SPACE_FAULTS)
def test_a_space_that_would_not_start_is_not_sent(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: Any, message: str
) -> None:
    folder = space_folder(tmp_path / "demo")
    fault(folder)
    assert message in failed(capsys, "demo", folder, f"{OWNER}/demo")
    assert hub.calls == []


def test_a_metric_under_another_name_could_not_be_loaded(
    hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.joint_files import ROOT

    message = failed(capsys, "metric", ROOT / "metrics" / "twowiki_joint", f"{OWNER}/joint")
    assert "joint.py" in message
    assert "twowiki_joint.py" in message


@pytest.mark.parametrize("kind", ["model", "dataset", "metric", "demo"])
def test_no_folder_a_file_and_an_empty_folder_are_reported(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    name = f"{OWNER}/x"
    assert "no such folder" in failed(capsys, kind, tmp_path / "nowhere", name)
    assert "is a file" in failed(capsys, kind, tmp_path / "file", name)
    assert re.search("has no|holds no", failed(capsys, kind, tmp_path / "empty", name))
    with pytest.raises(DataError, match="not one of"):
        push(tmp_path / "empty", name, "poem")


def test_training_that_could_not_push_says_so_before_it_starts(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from twowiki.training.settings import BaselineArguments

    BaselineArguments(push_to_hub=True, hub_model_id=MODEL).check()
    with pytest.raises(DataError, match="field 'hub_model_id': is 'a-model', not owner/name"):
        BaselineArguments(push_to_hub=True, hub_model_id="a-model").check()
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(DataError, match="no token to push with"):
        BaselineArguments(push_to_hub=True, hub_model_id=MODEL).check()
    assert hub.calls == []


def test_the_environment_is_as_it_was(hub: Hub, model: Path) -> None:
    before = dict(os.environ)
    push(model, MODEL)
    assert dict(os.environ) == before
