"""Commands that propose new questions: rules from statements, forms from questions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from twowiki.io.arguments import argument, positional


@dataclass(frozen=True, kw_only=True)
class MineRulesCommand:
    """Propose rules of two relations from the statement tables of a run.

      twowiki mine rules RUN --min-support 20

    RUN is the --out of `twowiki generate`. A rule says that (x, r1, y) and (y, r2, z) give
    (x, relation, z). Pairs of people whose relation has no name of its own in Wikidata (a
    grandfather) are listed with their number.
    """

    run_dir: Path = positional("the run's folder", metavar="RUN")
    min_support: int = argument(5, "the least pairs of a rule", minimum=1)
    min_confidence: float = argument(0.3, "the least PCA confidence", minimum=0, maximum=1)
    work: Path | None = argument(None, "the run's --work, if not RUN/work", metavar="DIR")
    json: bool = argument(False, "print JSON")

    def run(self) -> int:
        from twowiki.generation.mining import mine_rules, render_rules

        rules = mine_rules(
            self.run_dir,
            min_support=self.min_support,
            min_confidence=self.min_confidence,
            work=self.work,
        )
        print(json.dumps([rule._asdict() for rule in rules], indent=1) if self.json
              else render_rules(rules))  # fmt: skip
        return 0 if rules else 1


@dataclass(frozen=True, kw_only=True)
class MineTemplatesCommand:
    """Find the forms of comparison questions: names become slots, forms are counted.

      twowiki mine templates dev.json --min-count 2

    Reads 2WikiMultiHopQA and HotpotQA, files or folders.
    """

    source: Path = positional(
        "questions with gold: a file or a folder", metavar="FILE", role="input"
    )
    config: str | None = argument(None, "hotpotqa or a release; by default the name decides")
    min_count: int = argument(1, "the least questions of a form", minimum=1)
    json: bool = argument(False, "print JSON")

    def run(self) -> int:
        from twowiki.generation.difficulty import read_gold_examples
        from twowiki.generation.mining import mine_templates, render_patterns

        examples = read_gold_examples(self.source, most=1_000_000, config=self.config)
        patterns = mine_templates(examples, min_count=self.min_count)
        print(json.dumps([one._asdict() for one in patterns], indent=1, ensure_ascii=False)
              if self.json else render_patterns(patterns))  # fmt: skip
        return 0 if patterns else 1
