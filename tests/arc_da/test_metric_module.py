"""The `evaluate` module: offline by its folder, the same numbers by every way in, its page."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from twowiki.arc_da.metric.lists import score_lists
from twowiki.errors import DataError

FOLDER = Path(__file__).parents[2] / "metrics" / "arc_da"
PREDICTIONS = ["frozen lake water", "from solid to liquid", ""]
REFERENCES = [["ice", "frozen water"], ["from liquid to solid"], ["heat"]]


@pytest.fixture(scope="module")
def metric(tmp_path_factory: pytest.TempPathFactory) -> Any:
    evaluate = pytest.importorskip("evaluate")
    place = tmp_path_factory.mktemp("metric")
    return evaluate.load(str(FOLDER), cache_dir=str(place))


def test_compute_gives_the_papers_figures(metric: Any) -> None:
    result = metric.compute(predictions=PREDICTIONS, references=REFERENCES)
    assert result["f1"] == pytest.approx((80 + 100 + 0) / 3)
    assert result["rougeL"] == pytest.approx((80 + 50 + 0) / 3)
    assert (result["n"], result["excluded"]) == (3, 0)
    assert result["pitfalls"] == {"order_only": 1, "empty_prediction": 1}
    assert "rougeL:stem" in result["signature"]
    assert result == score_lists(PREDICTIONS, REFERENCES)


def test_nothing_to_score_is_one_sentence(metric: Any) -> None:
    with pytest.raises(ValueError, match="nothing to score"):
        metric.compute()
    metric.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    assert metric.compute()["n"] == 3
    with pytest.raises(ValueError, match="nothing to score"):
        metric.compute()


def test_every_way_in_gives_the_same(metric: Any) -> None:
    whole = metric.compute(predictions=PREDICTIONS, references=REFERENCES)
    for prediction, golds in zip(PREDICTIONS, REFERENCES, strict=True):
        metric.add(prediction=prediction, reference=golds)
    assert metric.compute() == whole
    metric.add_batch(predictions=PREDICTIONS[:2], references=REFERENCES[:2])
    metric.add_batch(predictions=PREDICTIONS[2:], references=REFERENCES[2:])
    assert metric.compute() == whole
    alone = metric.compute(predictions=["ice"], references=[["ice"]])
    assert (alone["f1"], alone["n"]) == (100.0, 1)


def test_questions_without_gold_are_left_out(metric: Any) -> None:
    result = metric.compute(predictions=["ice", "fog"], references=[["ice"], []])
    assert (result["f1"], result["n"], result["excluded"]) == (100.0, 1, 1)


def test_other_figures_stand_beside(metric: Any) -> None:
    text = "\u91cd\u529b"
    result = metric.compute(predictions=[text], references=[[text]], also=["exact_match"])
    assert (result["rougeL"], result["exact_match"]) == (0.0, 100.0)
    assert "also:exact_match" in result["signature"]
    assert "exact_match" not in metric.compute(predictions=[text], references=[[text]])


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [
        (["a"], [["a"], ["b"]], "1 predictions for 2"),
        (["a"], ["a"], "a text, not a list"),
        ([None], [["a"]], "not a text"),
        (["a"], [[]], "no question has a gold answer"),
    ],
)
def test_bad_lists_are_named(predictions: Any, references: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        score_lists(predictions, references)


def test_the_cards_example_is_true(capsys: pytest.CaptureFixture[str], metric: Any) -> None:
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL)
    code = code.replace('evaluate.load("metrics/arc_da")', "METRIC")
    exec(compile(code, "card", "exec"), {"METRIC": metric})
    expected = re.search(r"# (.*)$", code.strip().splitlines()[-1])
    assert expected is not None
    assert capsys.readouterr().out.strip() == expected[1]


@pytest.mark.slow
def test_offline_from_an_empty_home(tmp_path: Path) -> None:
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1",
                   "HF_EVALUATE_OFFLINE": "1", "PYTHONPATH": str(FOLDER.parent.parent)}  # fmt: skip
    code = (
        "import doctest, evaluate\n"
        f"metric = evaluate.load({str(FOLDER)!r})\n"
        "text = metric.inputs_description.replace('metrics/arc_da', "
        f"{str(FOLDER)!r})\n"
        "parser = doctest.DocTestParser()\n"
        "test = parser.get_doctest(text, {'evaluate': evaluate}, 'card', None, 0)\n"
        "print(doctest.DocTestRunner().run(test))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          check=True, env=environment, cwd=tmp_path)  # fmt: skip
    assert "failed=0" in done.stdout
    assert "attempted=0" not in done.stdout


@pytest.mark.slow
def test_the_page_scores(tmp_path: Path) -> None:
    if importlib.util.find_spec("gradio") is None:
        pytest.skip("gradio is not installed")
    code = (
        "import app\n"
        "rows, told = app.score('from solid to liquid', 'from liquid to solid')\n"
        "print(rows[:2], told)\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{FOLDER}:{FOLDER.parent.parent}",
                   "GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1"}  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          check=True, env=environment, cwd=tmp_path)  # fmt: skip
    assert "['f1', 100.0], ['rougeL', 50.0]" in done.stdout
    assert "another order" in done.stdout
