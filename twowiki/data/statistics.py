"""The paper's tables of any data of this kind: types, lengths, answer classes, relations.

Lengths are whitespace words (the paper names no unit). Answer classes depend on the text alone;
the paper's (section 3.3) are Wikidata's "instance of", which a record does not hold: they are
counted where the classes of the ids are given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from twowiki.data.answer_kinds import answer_kind
from twowiki.data.dates import DATE
from twowiki.data.schema import Example

MOST_KINDS = 12  # kinds of answers in a table of text
ANSWER_CLASSES = ("yes", "no", "date", "named in the question", "other", "hidden")


def answer_class(example: Example) -> str:
    """Return an answer's class by its text: yes, no, date, named in the question, other, hidden."""
    if example.answer is None:
        return "hidden"
    text = example.answer.strip()
    if text.lower() in ("yes", "no"):
        return text.lower()
    if DATE.fullmatch(text):
        return "date"
    return "named in the question" if text.lower() in example.question.lower() else "other"


@dataclass
class _Sums:
    """Sums over the examples of one type."""

    examples: int = 0
    question_words: int = 0
    answers: int = 0
    answer_words: int = 0
    paragraphs: int = 0
    sentences: int = 0
    context_words: int = 0
    longest_context: int = 0
    supporting_facts: int = 0
    with_facts: int = 0
    evidences: int = 0
    with_evidences: int = 0

    def add(self, example: Example) -> None:
        words = sum(len(s.split()) for _, sentences in example.context for s in sentences)
        self.examples += 1
        self.question_words += len(example.question.split())
        self.answers += example.has_gold
        self.answer_words += len((example.answer or "").split())
        self.paragraphs += len(example.context)
        self.sentences += sum(len(sentences) for _, sentences in example.context)
        self.context_words += words
        self.longest_context = max(self.longest_context, words)
        self.supporting_facts += len(example.facts)
        self.with_facts += example.supporting_facts is not None
        self.evidences += len(example.triples)
        self.with_evidences += example.evidences is not None

    def means(self) -> dict[str, Any]:
        n = self.examples
        return {
            "examples": n,
            "question_words": self.question_words / n,
            "answer_words": _mean(self.answer_words, self.answers),
            "paragraphs": self.paragraphs / n,
            "sentences": self.sentences / n,
            "context_words": self.context_words / n,
            "longest_context_words": self.longest_context,
            "supporting_facts": _mean(self.supporting_facts, self.with_facts),
            "evidences": _mean(self.evidences, self.with_evidences),
        }


def _mean(total: int, count: int) -> float | None:
    """Return a mean; None over nothing, as over a part that the source does not annotate."""
    return total / count if count else None


@dataclass
class Overview:
    """The tables of one split."""

    sums: dict[str, _Sums] = field(default_factory=dict)
    answer_classes: Counter[str] = field(default_factory=Counter)
    relations: Counter[str] = field(default_factory=Counter)
    answer_kinds: Counter[str] = field(default_factory=Counter)

    def to_dict(self) -> dict[str, Any]:
        """Return the tables as JSON values."""
        total = sum(self.answer_classes.values())
        return {
            "types": {name: sums.means() for name, sums in self.sums.items()},
            "answer_classes": {
                name: {
                    "examples": self.answer_classes[name],
                    "share": self.answer_classes[name] / total,
                }
                for name in ANSWER_CLASSES
                if self.answer_classes[name]
            },
            "answer_kinds": _shares(self.answer_kinds),
            "relations": dict(sorted(self.relations.items(), key=lambda x: (-x[1], x[0]))),
        }

    def render(self, split: str) -> str:
        """Return the tables as text."""
        values = self.to_dict()
        lines = [
            f"{split}: types and lengths (whitespace words, means per example; Table 2)",
            f"  {'type':<18} {'examples':>9} {'question':>9} {'answer':>7} {'context':>8} "
            f"{'longest':>8} {'paragr.':>8} {'facts':>6} {'triples':>8}",
        ]
        for name, row in values["types"].items():
            answer, facts, triples = (
                "-" if row[key] is None else f"{row[key]:.2f}"
                for key in ("answer_words", "supporting_facts", "evidences")
            )
            lines.append(
                f"  {name:<18} {row['examples']:>9,} {row['question_words']:>9.2f} {answer:>7} "
                f"{row['context_words']:>8.1f} {row['longest_context_words']:>8,} "
                f"{row['paragraphs']:>8.2f} {facts:>6} {triples:>8}"
            )
        lines.append(f"{split}: answer classes")
        for name, row in values["answer_classes"].items():
            lines.append(f"  {name:<22} {row['examples']:>9,} {100 * row['share']:>6.1f} %")
        if values["answer_kinds"]:
            lines.append(f'{split}: answers by "instance of" (section 3.3)')
            kinds = list(values["answer_kinds"].items())
            rest = [row for _, row in kinds[MOST_KINDS:]]
            kinds = kinds[:MOST_KINDS]
            if rest:
                sums = {key: sum(row[key] for row in rest) for key in ("examples", "share")}
                kinds.append((f"{len(rest)} other kinds", sums))
            for name, row in kinds:
                lines.append(f"  {name:<22} {row['examples']:>9,} {100 * row['share']:>6.1f} %")
        if values["relations"]:
            lines.append(f"{split}: relations in the evidences")
            lines += [f"  {name:<24} {count:>9,}" for name, count in values["relations"].items()]
        return "\n".join(lines)


def _shares(counts: Counter[str]) -> dict[str, dict[str, Any]]:
    """Return counts with their shares, the largest first."""
    total = counts.total()
    ordered = sorted(counts.items(), key=lambda x: (-x[1], x[0]))
    return {name: {"examples": count, "share": count / total} for name, count in ordered}


def compute_statistics(
    examples: Iterable[Example], classes: Mapping[str, str] | None = None
) -> Overview:
    """Count one split's examples in one pass; `total` is listed after the types.

    Args:
        examples: the examples.
        classes: the label of the class of each Wikidata id, for the kinds of answers.
    """
    result = Overview()
    for example in examples:
        for name in (example.type or "unknown", "total"):
            result.sums.setdefault(name, _Sums()).add(example)
        result.answer_classes[answer_class(example)] += 1
        kind = None if classes is None else answer_kind(example, classes)
        if kind is not None:
            result.answer_kinds[kind] += 1
        result.relations.update(triple.relation for triple in example.triples)
    result.sums = {
        **{name: sums for name, sums in sorted(result.sums.items()) if name != "total"},
        **({"total": result.sums["total"]} if result.sums else {}),
    }
    return result
