"""What a push must never send: each form of a key, each name of a secret, shards that fail to load.

The keys are made up, and put together when the test runs, so that no scanner finds one here.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hub.folders import data_folder, space_folder
from twowiki.errors import DataError
from twowiki.hub.push import plan_push
from twowiki.hub.secret_scan import BLOCK

RANDOM = random.Random(7)
HEX = "0123456789abcdef"


def made_up(length: int, letters: str = string.ascii_letters + string.digits) -> str:
    return "".join(RANDOM.choice(letters) for _ in range(length - 3)) + letters[0:2] + letters[-1]


WORD = made_up(30)
FORMS = {
    "hugging_face": ("a Hugging Face token", "hf" + "_" + made_up(34)),
    "anthropic": ("an Anthropic key", "sk" + "-ant-" + "api03-" + made_up(40) + "-" + made_up(8)),
    "openai": ("an OpenAI key", "sk" + "-" + made_up(48)),
    "openai_project": ("an OpenAI key", "sk" + "-proj-" + made_up(12) + "-_" + made_up(30)),
    "github": ("a GitHub token", "gh" + "p_" + made_up(36)),
    "gitlab": ("a GitLab token", "gl" + "pat-" + made_up(20)),
    "google": ("a Google key", "AI" + "za" + made_up(35)),
    "npm": ("an npm token", "np" + "m_" + made_up(36)),
    "pypi": ("a PyPI token", "py" + "pi-" + "AgEI" + made_up(60)),
    "stripe": ("a Stripe key", "sk" + "_live_" + made_up(24)),
    "aws": ("an AWS key", "AK" + "IA" + made_up(16, string.ascii_uppercase + string.digits)),
    "aws_secret": ("an AWS secret key", made_up(19) + "/" + made_up(20)),
    "wandb": ("a W&B key", made_up(40, HEX)),
    "wandb_new": ("a W&B key", "wandb" + "_v1_" + made_up(40)),
    "jwt": ("a JSON web token", "ey" + "J" + WORD + ".ey" + "J" + WORD + "." + made_up(43)),
    "password": ("a password in an address", "postgres://me" + ":" + made_up(12) + "@host/db"),
    "slack": ("a Slack token", "xo" + "xb-" + "1234567890-" + made_up(20)),
    "slack_webhook": (
        "a Slack webhook",
        "https://hooks" + ".slack.com/services/T0/B0/" + made_up(24),
    ),
    "pem": ("a private key", "-----BEGIN" + " OPENSSH PRIVATE KEY-----"),
}
HOLDERS = ["app.py", "extra.py", "requirements.txt", "README.md", "example_1.json", "labels.csv"]
ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "utf-8": lambda text: text.encode(),
    "utf-8 with mark": lambda text: text.encode("utf-8-sig"),
    "utf-16-le": lambda text: text.encode("utf-16-le"),
    "utf-16-be": lambda text: text.encode("utf-16-be"),
    "utf-16 with mark": lambda text: text.encode("utf-16"),
    "utf-16 after other letters": lambda text: f"語\u4f41{text}".encode("utf-16-le"),
    "utf-16 after an odd byte": lambda text: b"#" + text.encode("utf-16-le"),
    "after a NUL": lambda text: b"\0" * 9 + text.encode(),
    "NULs between": lambda text: b"# \0" + text.replace("_", "_\0").replace("-", "-\0").encode(),
    "end of a long file": lambda text: b"# x\n" * 5_500_000 + text.encode(),
    "across blocks": lambda text: b"#" * (BLOCK - 20) + b"\n" + text.encode() + b"\n" * BLOCK,
    "base64": lambda text: b"x = '" + base64.b64encode(text.encode()) + b"'",
    "escaped": lambda text: b'x = "a\\n' + text.removeprefix("x = ").encode() + b'"',
}


@pytest.fixture
def space(tmp_path: Path) -> Path:
    return space_folder(tmp_path / "demo")


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_key_stops_a_push(space: Path, form: str) -> None:
    name, key = FORMS[form]
    for number, holder in enumerate(HOLDERS):
        path = space / holder
        before = path.read_bytes() if path.exists() else None
        path.write_bytes((before or b"") + f"\nx = {key}\n".encode())
        with pytest.raises(DataError) as raised:
            plan_push(space, "me/demo", "demo")
        assert f"holds what looks like {name} (line" in str(raised.value), number
        assert holder in str(raised.value)
        assert key not in str(raised.value)
        path.unlink() if before is None else path.write_bytes(before)
    plan_push(space, "me/demo", "demo")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("form", ["hugging_face", "anthropic"])
def test_keys_are_found_in_every_encoding(space: Path, encoding: str, form: str) -> None:
    name, key = FORMS[form]
    (space / "app.py").write_bytes(ENCODINGS[encoding](f"x = {key}"))
    with pytest.raises(DataError, match=name):
        plan_push(space, "me/demo", "demo")


@pytest.mark.parametrize(
    "line",
    [
        f"hf_{'x' * 34}",
        f"revision = '{made_up(40, HEX)}'",
        f"package @ git+https://github.com/a/b@{made_up(40, HEX)}",
        "postgres://user:password@host/db",
        "https://user:${PASSWORD}@host",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        f"content: sha256 {made_up(64, HEX)}",
        "ask-me-for-a-very-long-name-that-goes-on-and-on-and-on",
    ],
)
def test_what_only_resembles_a_key_is_sent(space: Path, line: str) -> None:
    (space / "app.py").write_text(f"# {line}\n", encoding="utf-8")
    plan_push(space, "me/demo", "demo")


NAMES = (
    "Secrets.json SECRETS.toml Token x.KEY server.PEM id_ecdsa a.p12 a.PFX a.jks credentials.json "
    "kaggle.json service-account.json passwords.txt token.txt a.db a.sqlite3 venv/b.py env/b.css "
    "lib/site-packages/a.css core core.123 notes.txt a.gz .env secrets.py Model.PKL a.npy "
    "sub/code.py x.model"
).split()


@pytest.mark.parametrize("kind", ["model", "dataset", "metric", "demo"])
@pytest.mark.parametrize("name", NAMES)
def test_names_of_secrets_are_left_out_and_listed(tmp_path: Path, name: str, kind: str) -> None:
    from twowiki.hub.folder_checks import list_files

    folder = space_folder(tmp_path / "folder")
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("x", encoding="utf-8")
    checked = list_files(folder, kind)
    assert name not in checked.paths
    assert any(name == path or name.startswith(f"{path}/") for path, _ in checked.left_out)


def test_a_space_sends_its_list_whatever_the_case(space: Path) -> None:
    names = ("pages.py", "STYLE.CSS", "a/logo.PNG", "examples.json", "model/config.json")
    for name in (*names, "model/train.json", "old/pyvenv.cfg", "old/a.css"):
        (space / name).parent.mkdir(exist_ok=True)
        (space / name).write_text("{}", encoding="utf-8")
    checked = plan_push(space, "me/demo", "demo")
    assert checked.paths == {"README.md", "app.py", "requirements.txt", *names}
    assert {path for path, _ in checked.left_out} == {"a/b.json", "model/train.json", "old"}


def shards(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.parquet"))


def copy_to(name: str) -> Callable[[Path], None]:
    def fault(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(shards(folder)[-1].read_bytes())

    return fault


def corrupt(folder: Path) -> None:
    path = shards(folder)[-1]
    content = bytearray(path.read_bytes())
    content[4 : len(content) // 3] = b"\xff" * (len(content) // 3 - 4)
    path.write_bytes(content)


def other_columns(folder: Path) -> None:
    import pyarrow.parquet

    path = shards(folder)[-1]
    table = pyarrow.parquet.read_table(path)
    names = [f"x_{name}" for name in table.column_names]
    pyarrow.parquet.write_table(table.rename_columns(names).replace_schema_metadata(), path)


def link_out(folder: Path) -> None:
    path = shards(folder)[-1]
    path.rename(folder.parent / "outside.parquet")
    path.symlink_to(folder.parent / "outside.parquet")


def flat_with_wrong_counts(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8").replace("data/", "flat/")
    (folder / "data").rename(folder / "flat")
    (folder / "README.md").write_text(card.replace("num_examples: 3", "num_examples: 4"))


SHARD_FAULTS: dict[str, Callable[[Path], None]] = {
    "not in a config": copy_to("data/notes.parquet"),
    "in no glob of the card": copy_to("data/train.parquet"),
    "beside the configs": copy_to("extra.parquet"),
    "below a config": copy_to("data/more/train-00000-of-00001.parquet"),
    "another case": copy_to("data/train-00009-of-00010.PARQUET"),
    "one shard more": copy_to("data/train-00001-of-00001.parquet"),
    "damaged within": corrupt,
    "other columns": other_columns,
    "a link out of the folder": link_out,
    "another layout with wrong counts": flat_with_wrong_counts,
}


@pytest.mark.parametrize("fault", SHARD_FAULTS)
def test_a_data_set_that_would_not_load_as_its_card_counts_is_refused(
    tmp_path: Path, fault: str
) -> None:
    folder = data_folder(tmp_path / "out")
    SHARD_FAULTS[fault](folder)
    with pytest.raises(DataError) as raised:
        plan_push(folder, "me/data", "dataset")
    assert str(folder) in str(raised.value)


@pytest.mark.filterwarnings("ignore")
def test_what_a_dry_run_accepts_loads_with_the_counts_of_its_card(tmp_path: Path) -> None:
    from datasets import load_dataset, load_dataset_builder

    folder = data_folder(tmp_path / "out", shard_rows=1000, rows=2500)
    checked = plan_push(folder, "me/data", "dataset")
    assert sum("train-" in path for path in checked.paths) == 3
    data = load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    info = load_dataset_builder(str(folder), cache_dir=str(tmp_path / "cache")).info
    assert {split: len(rows) for split, rows in data.items()} == {
        split: found.num_examples for split, found in info.splits.items()
    }
    assert data["train"].num_rows == 2500
