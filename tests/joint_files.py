"""The made-up question that most scoring tests turn on, in the forms that scoring reads."""

from __future__ import annotations

import copy
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
FACTS = [["Tavik Orrel", 0], ["Dessa Orrel", 1]]
TRIPLES = [["Tavik Orrel", "mother", "Dessa Orrel"], ["Dessa Orrel", "place of birth", "Brinmoor"]]
CONTEXT = [
    ["Tavik Orrel", ["Tavik Orrel was a runner, the son of Dessa Orrel."]],
    ["Dessa Orrel", ["Dessa Orrel was a painter.", " She was born in Brinmoor."]],
]
LADY = [{"Q_id": "Q9002", "aliases": ["Lady Dessa"], "demonyms": []}]


def gold(**fields: Any) -> dict[str, Any]:
    """The question as dev.json holds it; fields override."""
    record = {
        "_id": "q1",
        "type": "compositional",
        "question": "Where was the mother of Tavik Orrel born?",
        "context": CONTEXT,
        "supporting_facts": FACTS,
        "evidences": TRIPLES,
        "answer": "Brinmoor",
        "evidences_id": [],
        "answer_id": None,
    }
    return copy.deepcopy({**record, **fields})


def said(
    answer: Any = "Brinmoor", sp: Any = FACTS, evidence: Any = TRIPLES, name: str = "q1"
) -> Any:
    """An official prediction for one question, perfect unless told otherwise."""
    return {
        "answer": {name: copy.deepcopy(answer)},
        "sp": {name: copy.deepcopy(sp)},
        "evidence": {name: copy.deepcopy(evidence)},
    }


def row_of(prediction: Any, name: str = "q1") -> dict[str, Any]:
    """An official prediction as a row of the data set's shape."""
    return {
        "id": name,
        "answer": prediction["answer"][name],
        "supporting_facts": [
            dict(zip(("title", "sent_id"), fact, strict=True)) for fact in prediction["sp"][name]
        ],
        "evidences": [
            dict(zip(("subject", "relation", "object"), triple, strict=True))
            for triple in prediction["evidence"][name]
        ],
    }


def several(count: int = 6) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Gold of several questions of all types, and predictions, every other one wrong."""
    kinds = ("comparison", "inference", "compositional", "bridge_comparison")
    golds = [gold(_id=f"q{place}", type=kinds[place % 4]) for place in range(count)]
    blocks: dict[str, Any] = {"answer": {}, "sp": {}, "evidence": {}}
    for place in range(count):
        right = place % 2 == 0
        blocks["answer"][f"q{place}"] = "Brinmoor" if right else "Oru"
        blocks["sp"][f"q{place}"] = FACTS if right else FACTS[:1]
        blocks["evidence"][f"q{place}"] = TRIPLES if right else []
    return golds, copy.deepcopy(blocks)


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path: Path, values: Any) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def load_script(path: str) -> ModuleType:
    """Import a file that is part of no package (bench/, metrics/)."""
    place = ROOT / path
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
