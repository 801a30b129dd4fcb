"""The joint metric of 2WikiMultiHopQA for `evaluate`: answers, supporting facts, evidence, joint.

A thin shell: the scores are those of `twowiki.score`, and the options those of
`twowiki.ScoreSettings`.
"""

import shlex
import sys

import datasets
import evaluate

from twowiki.metric.evaluate_records import prediction_records, reference_rows
from twowiki.metric.score import score

_DESCRIPTION = """
Scores multi-hop answers the way 2WikiMultiHopQA's own evaluators do: the answer, the supporting
sentences, the evidence triples, and the three together (joint). The defaults equal the authors'
evaluator 1.1 to the last digit; where it fails, this one scores or names the record.
"""

_CITATION = """@inproceedings{ho2020constructing,
  title = {Constructing A Multi-hop {QA} Dataset for Comprehensive Evaluation of Reasoning Steps},
  author = {Ho, Xanh and Duong Nguyen, Anh-Khoa and Sugawara, Saku and Aizawa, Akiko},
  booktitle = {Proceedings of the 28th International Conference on Computational Linguistics},
  year = {2020},
  pages = {6609--6625}
}"""

_INPUTS = """
Args:
    predictions: one row per question: `id`, `answer`, `supporting_facts` (a list of `title` and
        `sent_id`), `evidences` (a list of `subject`, `relation`, `object`). None for a part that
        the system leaves out. Also the official dict of `answer`, `sp` and `evidence`.
    references: rows of the data set, as many as predictions; matched with them by `id`.
    aliases: `id_aliases.json`, or aliases by Wikidata id; without it the gold's texts alone count.
    version: "1.1" (default; ids and aliases) or "1.0".
    matching: "official" (default) or "one_to_one" (each gold triple matched at most once).
    by_type: add the metrics of each question type.
    confidence_level: add bootstrap intervals, e.g. 0.95.
    seed: of the bootstrap.
    config: "hotpotqa" for HotpotQA's rules: joint is answer x support.
    resamples, subset, parts, amend, people, strict, strip_titles, coerce_indices, unicode,
        contains: as in `twowiki.ScoreSettings`.

Returns:
    em, f1, prec, recall, the same with sp_, evi_ and joint_: 0-100, not rounded; None for a part
    that the gold does not have.
    signature: all that can change the scores. n, version, matching, warnings, and the rest of the
    report.

Examples:
    >>> metric = evaluate.load("metrics/twowiki_joint")
    >>> gold = {
    ...     "id": "q1", "type": "compositional", "answer": "Brinmoor", "answer_id": None,
    ...     "supporting_facts": [{"title": "Tavik Orrel", "sent_id": 0},
    ...                          {"title": "Dessa Orrel", "sent_id": 1}],
    ...     "evidences": [{"subject": "Tavik Orrel", "relation": "mother", "object": "Dessa Orrel"},
    ...                   {"subject": "Dessa Orrel", "relation": "place of birth",
    ...                    "object": "Brinmoor"}],
    ...     "evidences_id": [],
    ... }
    >>> prediction = {
    ...     "id": "q1", "answer": "brinmoor", "supporting_facts": gold["supporting_facts"][:1],
    ...     "evidences": gold["evidences"],
    ... }
    >>> result = metric.compute(predictions=[prediction], references=[gold])
    >>> result["em"], round(result["sp_f1"], 2), result["evi_f1"], round(result["joint_f1"], 2)
    (100.0, 66.67, 100.0, 66.67)
    >>> result["matching"], result["version"], result["n"]
    ('official', '1.1', 1)
"""


def _features():
    text = datasets.Value("string")
    facts = {"title": text, "sent_id": datasets.Value("int32")}
    triples = {"subject": text, "relation": text, "object": text}
    ids = {"subject_id": text, "relation": text, "object_id": text}
    listed = datasets.List if hasattr(datasets, "List") else lambda one: [one]
    prediction = {
        "id": text,
        "answer": text,
        "supporting_facts": listed(facts),
        "evidences": listed(triples),
    }
    gold = {**prediction, "type": text, "answer_id": text, "evidences_id": listed(ids)}
    return datasets.Features({"predictions": prediction, "references": gold})


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class TwoWikiJoint(evaluate.Metric):
    """The joint metric. Batches are kept in memory: no cache file, no lock, nothing downloaded."""

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=_features(),
            reference_urls=[
                "https://arxiv.org/abs/2011.01060",
                "https://github.com/Alab-NII/2wikimultihop",
            ],
        )

    def add(self, *, prediction=None, reference=None, **kwargs):
        """Add one prediction with its reference."""
        prediction = kwargs.pop("predictions", prediction)
        reference = kwargs.pop("references", reference)
        self.add_batch(predictions=[prediction], references=[reference], **kwargs)

    def add_batch(self, *, predictions=None, references=None, **kwargs):
        """Add predictions with their references; rows, columns and `datasets` objects are fine."""
        if kwargs:
            raise ValueError(f"unknown inputs {sorted(kwargs)}; pass predictions and references")
        if predictions is None or references is None:
            raise ValueError("pass both predictions and references")
        if self.num_process > 1:
            raise ValueError(
                "score once, on the main process: gather predictions and references there (with "
                "accelerate: gather_for_metrics(..., use_gather_object=True)), keep each id once"
            )
        gold = list(reference_rows(references))
        rows = prediction_records(predictions, [row.get("id", row.get("_id")) for row in gold])
        if len(rows) != len(gold):
            raise ValueError(
                f"{len(rows)} predictions for {len(gold)} references; missing predictions are "
                "for `twowiki.score` or `twowiki score`, which count them"
            )
        self._kept = [*getattr(self, "_kept", []), (rows, gold)]

    def compute(self, *, predictions=None, references=None, **kwargs):
        """Score what was added, and what is given now; the next round starts empty."""
        if predictions is not None or references is not None:
            self.add_batch(predictions=predictions, references=references)
        kept, self._kept = getattr(self, "_kept", []), []
        if not kept:
            raise ValueError("nothing to score: pass predictions and references")
        rows = [row for batch, _ in kept for row in batch]
        gold = [row for _, batch in kept for row in batch]
        return self._compute(rows, gold, **kwargs)

    def _compute(self, predictions, references, confidence_level=None, by_type=False, **kwargs):
        known = {row["id"] for row in predictions}
        for row in references:
            if row.get("id", row.get("_id")) not in known:
                raise ValueError(
                    f"no prediction for the reference {row.get('id', row.get('_id'))!r}; missing "
                    "predictions are for `twowiki.score` or `twowiki score`, which count them"
                )
        report = score(
            predictions,
            references,
            confidence=confidence_level,
            by_type=by_type,
            command=shlex.join(sys.argv),
            **kwargs,
        ).to_dict()
        return {**report.pop("metrics"), **report}
