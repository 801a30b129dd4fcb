"""Other tools' formats: FlashRAG, BEIR, SQuAD, and files for fine-tuning and for rewards.

In: a source or a data set, split by split, as a stream. Out: a folder that one run owns, written
aside and put in place as a whole, with `report.json`: what was written and left out, by reason.

| format | files | a record |
|---|---|---|
| flashrag | `dev.jsonl` ... | `id, question, golden_answers, metadata` (all else) |
| beir | `corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv` | documents, questions, judgments |
| squad | `dev.json` ... | SQuAD 2.0's own form; yes/no and unfound answers are impossible |
| sft | `dev.jsonl` ... | `prompt` and `completion` as texts |
| sft-messages | `dev.jsonl` ... | `messages`, the last one the answer |
| rl | `dev.jsonl` ... | `prompt` as messages, the gold as columns, and verl's keys |
| sub-questions | `dev.jsonl` ... | each hop as a record of FlashRAG; its id is `ID#1` ... |
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.builder.sources import DatasetSource, source_splits
from twowiki.data.fields import list_or_none, structs
from twowiki.data.schema import LAYOUT_CONFIG, Example, to_row
from twowiki.data.squad import squad_row
from twowiki.data.sub_questions import sub_id, sub_questions
from twowiki.errors import DataError
from twowiki.io.files import progress, replacing, write_json
from twowiki.io.ownership import open_folder
from twowiki.llm.prompts import FULL_CONTEXT, GOLD_CONTEXT, gold_reply, messages_for, prompt_for

BEIR, SQUAD = "beir", "squad"
HIDDEN = "hidden_gold"
_FILES = {"train": "train", "validation": "dev", "test": "test"}

# a record, several, or the reason for which there is none
Made = dict[str, Any] | list[dict[str, Any]] | str
_Maker = Callable[[Example, str], Made]


class FormatCounts(NamedTuple):
    """What a format's export wrote: records of each split, and those left out by reason."""

    rows: dict[str, int]
    left_out: dict[str, dict[str, int]]


def export_format(
    source: DatasetSource | str | PathLike[str],
    out: str | PathLike[str],
    format: str,
    config: str | None = None,
    *,
    form: str = FULL_CONTEXT,
) -> FormatCounts:
    """Write a source in another tool's format.

    Args:
        source: whatever `twowiki.load_dataset` takes as `data_dir`, or a data set.
        out: the folder to write; of an earlier run in this format, all files are replaced.
        format: a name of `FORMATS`.
        config: a config's name; by default decided by the source.
        form: the paragraphs of prompts (sft, sft-messages, rl): closed-book, gold-context or
            full-context.

    Raises:
        DataError: input that cannot be used; nothing of an earlier export is lost.
    """
    if format not in FORMATS:
        raise DataError(
            f"unknown format {format!r}", remedy=f"Known: parquet, {', '.join(FORMATS)}"
        )
    found = source_splits(source, config)
    identity = {"format": format, "config": found.config, "form": form}
    inputs = [Path(source)] if isinstance(source, str | PathLike) else []
    with (
        open_folder(Path(out), f"export {format}", identity, inputs=inputs) as owned,
        owned.staged() as aside,
    ):
        splits = {split: progress(stream, what=split) for split, stream in found.examples()}
        if format == BEIR:
            return _write_beir(aside, splits)
        writer = _write_squad if format == SQUAD else _write_lines
        rows, left_out = {}, {}
        for split, examples in splits.items():
            counts: Counter[str] = Counter()
            made = _counted(FORMATS[format], examples, form, counts)
            writer(aside / _FILES.get(split, split), made)
            rows[split], left_out[split] = counts.pop("", 0), dict(sorted(counts.items()))
        if not any(rows.values()):
            reasons = {name for counts in left_out.values() for name in counts}
            problem = f"no record can be written ({', '.join(sorted(reasons)) or 'none was read'})"
            raise DataError(problem, remedy="Choose a split with gold, or another format")
        write_json(aside / "report.json", {**identity, "rows": rows, "left_out": left_out})
        return FormatCounts(rows, left_out)


def _counted(
    make: _Maker, examples: Iterable[Example], form: str, counts: Counter[str]
) -> Iterator[dict[str, Any]]:
    for example in examples:
        made = make(example, form)
        if isinstance(made, str):
            counts[made] += 1
            continue
        records = made if isinstance(made, list) else [made]
        counts[""] += len(records)
        yield from records


def _write_lines(path: Path, records: Iterable[dict[str, Any]]) -> None:
    with replacing(path.with_suffix(".jsonl")) as stream:
        for record in records:
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def _write_squad(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Write SQuAD's nested form, one article per question."""
    with replacing(path.with_suffix(".json")) as stream:
        stream.write('{"version": "v2.0", "data": [')
        for number, record in enumerate(records):
            stream.write(("," if number else "") + "\n" + json.dumps(record, ensure_ascii=False))
        stream.write("\n]}\n")


def _write_beir(out: Path, splits: dict[str, Iterable[Example]]) -> FormatCounts:
    from twowiki.retrieval.beir import write_test_set

    counts: Counter[str] = Counter()

    def counted(split: str, examples: Iterable[Example]) -> Iterator[Example]:
        for example in examples:
            counts[split] += 1
            yield example

    streams = {split: counted(split, examples) for split, examples in splits.items()}
    judged = write_test_set(out, streams).judged
    without = {split: counts[split] - len(judged.get(split, ())) for split in splits}
    left_out = {split: {"no_judgment": count} if count else {} for split, count in without.items()}
    return FormatCounts({split: counts[split] for split in splits}, left_out)


# ---- one function per format


def flashrag_record(example: Example, form: str = "") -> dict[str, Any]:
    """Return a record of FlashRAG; reading it gives the example back."""
    metadata = {
        "type": example.type,
        "context": {
            "title": [title for title, _ in example.context],
            "content": [list(sentences) for _, sentences in example.context],
        },
        "supporting_facts": _columns(example.supporting_facts, ("title", "sent_id")),
        "evidences": _renamed(example.evidences, ("fact", "relation", "entity")),
        "evidences_id": structs(example.evidences_id),
        "answer_id": example.answer_id,
        "entity_ids": list(example.entity_ids),
    }
    optional = {
        "level": example.level,
        "sub_questions": structs(example.sub_questions),
        "supporting_paragraphs": list_or_none(example.supporting_paragraphs),
        "answerable": example.answerable,
    }
    answers = [] if example.answer is None else [example.answer, *(example.answer_aliases or ())]
    return {
        "id": example.id,
        "question": example.question,
        "golden_answers": answers,
        "metadata": metadata | {name: one for name, one in optional.items() if one is not None},
    }


def _columns(entries: Any, names: tuple[str, ...]) -> dict[str, list[Any]] | None:
    """Return tuples as a struct of lists; None for None."""
    if entries is None:
        return None
    return {name: [entry[place] for entry in entries] for place, name in enumerate(names)}


def _renamed(entries: Any, names: tuple[str, ...]) -> list[dict[str, Any]] | None:
    """Return tuples as structs of other names; None for None."""
    if entries is None:
        return None
    return [dict(zip(names, entry, strict=True)) for entry in entries]


def squad_article(example: Example, form: str = "") -> Made:
    """Return a question as an article of SQuAD 2.0."""
    row, _ = squad_row(example)
    pairs = zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True)
    answers = [{"text": text, "answer_start": start} for text, start in pairs]
    question = {
        "id": row["id"],
        "question": row["question"],
        "answers": answers,
        "is_impossible": not answers,
    }
    return {"title": row["title"], "paragraphs": [{"context": row["context"], "qas": [question]}]}


def _reason_against(example: Example, form: str) -> str:
    """Return why there is no prompt with gold for an example; empty where there is one."""
    if not example.has_gold:
        return HIDDEN
    marked = example.supporting_facts or example.supporting_paragraphs
    return "no_supporting_facts" if form == GOLD_CONTEXT and not marked else ""


def sft_record(example: Example, form: str) -> Made:
    """Return prompt and completion as texts, as TRL's SFTTrainer takes them."""
    if reason := _reason_against(example, form):
        return reason
    prompt = prompt_for(example, form)
    return {"id": example.id, "prompt": prompt, "completion": " " + gold_reply(example, form)}


def messages_record(example: Example, form: str) -> Made:
    """Return a chat whose last message is the answer."""
    if reason := _reason_against(example, form):
        return reason
    answer = {"role": "assistant", "content": gold_reply(example, form)}
    return {"id": example.id, "messages": [*messages_for(example, form), answer]}


def rl_record(example: Example, form: str) -> Made:
    """Return a prompt with its gold: as columns, for TRL, and under verl's keys."""
    if (reason := _reason_against(example, form)) or example.answer is None:
        return reason
    row = to_row(example, LAYOUT_CONFIG)
    return {
        "id": example.id,
        "prompt": messages_for(example, form),
        "question": example.question,
        "type": example.type,
        "answer": example.answer,
        "answer_aliases": list(example.answer_aliases or ()),
        "answer_id": example.answer_id,
        "supporting_facts": row["supporting_facts"],
        "evidences": row["evidences"],
        "evidences_id": row["evidences_id"],
        "context": row["context"],
        "data_source": "twowiki",
        "ability": "multi-hop question answering",
        "reward_model": {
            "style": "rule",
            "ground_truth": {"target": [example.answer, *(example.answer_aliases or ())]},
        },
        "extra_info": {"id": example.id, "type": example.type},
    }


def sub_question_records(example: Example, form: str = "") -> Made:
    """Return a question's hops as records of FlashRAG, with the question's paragraphs."""
    steps = sub_questions(example)
    answers: dict[str, list[str]] = {}
    for step in steps:
        answers.setdefault(step.question, []).append(step.answer)
    whole = flashrag_record(example)
    context = whole["metadata"]["context"]
    return [
        {
            "id": sub_id(example.id, number),
            "question": step.question,
            "golden_answers": [step.answer]
            + [one for one in answers[step.question] if one != step.answer],
            "metadata": {"context": context, "question_id": example.id, "hop": step.hop},
        }
        for number, step in enumerate(steps, 1)
    ] or "no_sub_questions"


def _no_records(example: Example, form: str) -> Made:
    raise AssertionError("BEIR's files are written as a whole")


FORMATS: dict[str, _Maker] = {
    "flashrag": flashrag_record,
    BEIR: _no_records,
    SQUAD: squad_article,
    "sft": sft_record,
    "sft-messages": messages_record,
    "rl": rl_record,
    "sub-questions": sub_question_records,
}
