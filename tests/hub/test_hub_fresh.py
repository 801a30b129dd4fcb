"""What was pushed is used in fresh processes where this package is not, and in ones where it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hub.folders import data_folder, encoder_folder, model_folder
from tests.hub.loopback_hub import OWNER, WRITE, Hub, point_at, serving
from tests.joint_files import ROOT
from tests.tiny_data import tiny_files
from twowiki import load_model
from twowiki.cli.main import main
from twowiki.hub.push import push

pytestmark = [
    pytest.mark.slow,
    # how the library uploads big files without Xet
    pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning"),
]
ASKED = ["Who?", [["A b", ["A b is here.", "C."]]]]
MODEL, ENCODER, DATA = f"{OWNER}/a-model", f"{OWNER}/an-encoder", f"{OWNER}/some-data"


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with serving() as hub, pytest.MonkeyPatch.context() as patch:
        point_at(hub, patch)
        yield hub


def run(hub: Hub, home: Path, *command: str, check: bool = True) -> Any:
    """Run a command that knows the loopback hub alone, from an empty folder."""
    home.mkdir(parents=True, exist_ok=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("HF_")},
        "HF_ENDPOINT": hub.address,
        "HF_HOME": str(home / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_TOKEN": WRITE,
        "HF_UPDATE_DOWNLOAD_COUNTS": "0",  # evaluate tells another server
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "ACCELERATE_USE_CPU": "true",
        "PYTHONPATH": "",
    }
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=home,
        env=environment,
        timeout=400,
    )
    assert WRITE not in done.stdout + done.stderr
    assert "run the custom code" not in done.stdout  # nobody is there to answer
    if check:
        assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-3000:]
    return done


def last_line(done: Any) -> Any:
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def pushed_encoder(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small encoder model."""
    folder = encoder_folder(tmp_path_factory.mktemp("pushed") / "an encoder 2.0")
    push(folder, ENCODER)
    return folder


@pytest.fixture(scope="module")
def pushed(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model, pushed from the folder of its run."""
    place = tmp_path_factory.mktemp("pushed")
    folder = model_folder(place / "run 1.5-a")
    push(folder, MODEL)
    return folder / "best"


WITHOUT = """
import sys, json
sys.modules["twowiki"] = None
from transformers import AutoModel, AutoTokenizer, pipeline
repo, target, question = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
model = AutoModel.from_pretrained(repo, trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained(repo, trust_remote_code=True)
prediction = model.predict(*question)
assert model.predict(*question, tokenizer=tokenizer) == prediction
ask = pipeline("multihop-qa", model=repo, trust_remote_code=True, device="cpu")
rows = [{"question": question[0], "paragraphs": question[1]}] * 3
assert ask(rows, batch_size=2) == [prediction] * 3, ask(rows, batch_size=2)
assert ask(*question) == prediction
model.save_pretrained(target)
tokenizer.save_pretrained(target)
plain = AutoTokenizer.from_pretrained(repo, trust_remote_code=False)
assert plain("Who?")["input_ids"]
print(json.dumps(prediction))
"""


@pytest.mark.parametrize("repo", [MODEL, ENCODER])
def test_a_model_answers_where_the_package_is_not(
    hub: Hub, pushed: Path, pushed_encoder: Path, tmp_path: Path, repo: str
) -> None:
    pushed = pushed if repo == MODEL else pushed_encoder
    target = tmp_path / "saved again"
    done = run(hub, tmp_path / "home", "-c", WITHOUT, repo, str(target), json.dumps(ASKED))
    expected = json.loads(json.dumps(load_model(pushed).predict(*ASKED)))
    prediction = last_line(done)
    assert prediction["sp"] == expected["sp"]
    assert prediction["evidence"] == expected["evidence"]
    assert [one["subject_place"] for one in prediction["triples"]] == [
        one["subject_place"] for one in expected["triples"]
    ]
    for one, other in zip(prediction["sentences"], expected["sentences"], strict=True):
        assert one["score"] == pytest.approx(other["score"], abs=1e-6)
    code = {path.name for path in pushed.glob("*.py")}
    assert {path.name for path in target.glob("*.py")} == code
    for name in ("config.json", "tokenizer_config.json"):
        assert "--" not in (target / name).read_text(encoding="utf-8")
    assert load_model(target).predict(*ASKED)["evidence"] == [
        tuple(triple) for triple in expected["evidence"]
    ]


WITH = """
import sys, json, twowiki
repo, question = sys.argv[1], json.loads(sys.argv[2])
model = twowiki.load_model(repo)
ask = twowiki.pipeline("multihop-qa", model=repo, device="cpu")
assert ask(*question) == model.predict(*question)
other = twowiki.load_model(repo, revision="other")
print(json.dumps([len(model.own_tokenizer()), len(other.own_tokenizer())]))
"""


def test_the_package_loads_a_repository_without_its_code(
    hub: Hub, pushed: Path, tmp_path: Path
) -> None:
    """The tokenizer is that of the model's own revision."""
    repository = hub.repositories["model", MODEL]
    repository.branches["other"] = list(repository.branches["main"])
    tree = dict(hub.tree("model", MODEL))
    tokenizer = json.loads(tree["tokenizer.json"])
    tokenizer["model"]["vocab"]["a word more"] = len(tokenizer["model"]["vocab"])
    repository.commit("other", {**tree, "tokenizer.json": json.dumps(tokenizer).encode()})
    done = run(hub, tmp_path, "-c", WITH, MODEL, json.dumps(ASKED))
    mine, others = last_line(done)
    assert others == mine + 1


def test_a_repository_predicts_a_split(hub: Hub, pushed: Path, tmp_path: Path) -> None:
    from tests.made_up import read_records, write_array

    data = write_array(tmp_path / "dev.json", read_records()[:3])
    far, near = str(tmp_path / "far.json"), str(tmp_path / "near.json")
    run(hub, tmp_path, "-m", "twowiki", "predict", MODEL, str(data), far)
    assert main(["predict", str(pushed), str(data), near]) == 0
    assert Path(far).read_bytes() == Path(near).read_bytes()
    assert len(json.loads(Path(far).read_bytes())["answer"]) == 3


ROWS = """
import sys, json
sys.modules["twowiki"] = None
from datasets import load_dataset
data = load_dataset(sys.argv[1])
stream = load_dataset(sys.argv[1], "data", split="validation", streaming=True)
assert list(stream) == list(data["validation"])
loaded = {name: [len(split), repr(split.features)] for name, split in data.items()}
print(json.dumps([loaded, data["train"][0], data["test"][0]["answer"]]))
"""


def test_a_data_set_loads_where_the_package_is_not(hub: Hub, tmp_path: Path) -> None:
    folder = data_folder(tmp_path / "out")
    push(folder, DATA, "dataset")
    loaded, row, hidden = last_line(run(hub, tmp_path / "other", "-c", ROWS, DATA))
    assert {name: count for name, (count, _) in loaded.items()} == {
        "train": 5,
        "validation": 3,
        "test": 3,
    }
    assert len({features for _, features in loaded.values()}) == 1
    assert "ClassLabel(names=['comparison'" in loaded["train"][1]
    assert isinstance(row["supporting_facts"][0]["sent_id"], int)
    assert hidden is None
    assert not push(folder, DATA, "dataset").changed


METRIC = """
import sys, json
if sys.argv[2] == "without":
    sys.modules["twowiki"] = None
import evaluate
metric = evaluate.load(sys.argv[1])
gold = {"id": "q1", "answer": "Oru", "type": "inference", "answer_id": None, "evidences_id": [],
        "supporting_facts": [{"title": "A", "sent_id": 0}],
        "evidences": [{"subject": "A", "relation": "spouse", "object": "Oru"}]}
prediction = {name: gold[name] for name in ("id", "answer", "supporting_facts", "evidences")}
print(json.dumps(metric.compute(predictions=[prediction], references=[gold])["joint_f1"]))
"""


def test_a_metric_loads_from_its_space_and_asks_for_the_package_by_name(
    hub: Hub, tmp_path: Path
) -> None:
    pytest.importorskip("evaluate")
    name = f"{OWNER}/twowiki_joint"
    push(ROOT / "metrics" / "twowiki_joint", name, "metric")
    assert last_line(run(hub, tmp_path / "with", "-c", METRIC, name, "with")) == 100.0
    done = run(hub, tmp_path / "without", "-c", METRIC, name, "without", check=False)
    assert done.returncode != 0
    assert "pip install twowiki" in done.stderr


def test_training_pushes_its_best_model_and_its_card(hub: Hub, tmp_path: Path) -> None:
    sizes = "--word_dim 12 --hidden_size 8 --char_hidden 6 --relation_dim 6".split()
    flags = [*tiny_files(tmp_path / "data", 12, 4), "--num_train_epochs", "1"]
    flags += ["--per_device_train_batch_size", "4"]
    output, name = tmp_path / "run", f"{OWNER}/trained"
    command = [str(ROOT / "train.py"), "--output_dir", str(output), *flags, *sizes]
    done = run(hub, tmp_path, *command, "--push_to_hub", "--hub_model_id", name)
    assert f"pushed to {hub.address}/{name}" in done.stdout
    tree = hub.tree("model", name)
    assert tree["model.safetensors"] == (output / "best" / "model.safetensors").read_bytes()
    card = tree["README.md"].decode()
    report = json.loads((output / "report.json").read_text(encoding="utf-8"))
    assert report["scores"]["signature"] in card
    assert "95% interval" in card
    assert str(tmp_path) not in card
    assert card.encode() == (output / "best" / "README.md").read_bytes()
