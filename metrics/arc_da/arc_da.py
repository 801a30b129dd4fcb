"""ARC-DA as an `evaluate` metric: SQuAD's F1 and ROUGE-L, best gold answer, mean over questions.

A thin shell: what is counted lives in the package `twowiki` (`twowiki.arc_da`).
"""

import datasets
import evaluate

from twowiki.arc_da.metric.lists import score_lists

_DESCRIPTION = """
Scores direct answers as the ARC-DA paper does: word F1 by SQuAD's rules and ROUGE-L with stemming,
each with the maximum over a question's gold answers, then the plain mean over questions, 0-100.
"""

_CITATION = """@article{bhakthavatsalam2021arcda,
  title = {Think you have Solved Direct-Answer Question Answering? Try {ARC-DA}, the Direct-Answer
           {AI2} Reasoning Challenge},
  author = {Bhakthavatsalam, Sumithra and Khashabi, Daniel and Khot, Tushar and Dalvi Mishra,
            Bhavana and Richardson, Kyle and Sabharwal, Ashish and Schoenick, Carissa and
            Tafjord, Oyvind and Clark, Peter},
  journal = {arXiv preprint arXiv:2102.03315},
  year = {2021}
}"""

_INPUTS = """
Args:
    predictions: one text per question; an empty text for an unanswered question.
    references: a list of gold answers for each question, of any length. A question whose list is
        empty is left out of the means and counted in `excluded`.
    also: names of metrics beside the two, never instead of them: exact_match, contains,
        rougeL_no_stem.

Returns:
    f1, rougeL: 0-100, not rounded; then the metrics of `also`.
    n, excluded: questions scored, and left out because they have no gold answers.
    pitfalls: how many questions have something that the metrics do not see, by its name.
    signature: all that can change the metrics.

Examples:
    >>> metric = evaluate.load("metrics/arc_da")
    >>> result = metric.compute(
    ...     predictions=["frozen lake water", "from solid to liquid"],
    ...     references=[["ice", "frozen water"], ["from liquid to solid"]],
    ... )
    >>> result["f1"], result["rougeL"]
    (90.0, 65.0)
    >>> result["pitfalls"]
    {'order_only': 1}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class ArcDa(evaluate.Metric):
    """F1 and ROUGE-L of ARC-DA."""

    def _info(self):
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(
                {"predictions": text, "references": datasets.Sequence(text)}
            ),
            reference_urls=["https://arxiv.org/abs/2102.03315"],
        )

    def add_batch(self, *, predictions=None, references=None, **kwargs):
        """Add answers with their gold answers."""
        self._added = True
        super().add_batch(predictions=predictions, references=references, **kwargs)

    def add(self, *, prediction=None, reference=None, **kwargs):
        """Add one answer with its gold answers."""
        self._added = True
        super().add(prediction=prediction, reference=reference, **kwargs)

    def compute(self, *, predictions=None, references=None, **kwargs):
        """Score what was added, or what is given."""
        if predictions is None and references is None and not getattr(self, "_added", False):
            raise ValueError("nothing to score: pass predictions and references")
        result = super().compute(predictions=predictions, references=references, **kwargs)
        self._added = False
        return result

    def _compute(self, predictions, references, also=()):
        return score_lists(predictions, references, also)
