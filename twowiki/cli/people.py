"""Commands on people as one more system: tasks, their answers, and how far they agree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twowiki.cli.options import SplitOptions
from twowiki.data.sources import examples_of
from twowiki.errors import DataError, existing_file
from twowiki.human.agreement import without_nan
from twowiki.human.chain_agreement import chain_agreement
from twowiki.human.chain_tasks import (
    ANSWERS,
    KEY,
    chain_task_files,
    draw_questions,
    merge_chain_answers,
    read_chain_answers,
    read_chain_key,
)
from twowiki.human.pseudonyms import pseudonym, read_secret
from twowiki.io.arguments import LARGEST_SEED, argument, positional
from twowiki.io.files import check_unedited, locked, write_json, write_json_lines, write_together
from twowiki.io.records import read_records
from twowiki.metric.people import read_people
from twowiki.metric.tables import render_table


@dataclass(frozen=True, kw_only=True)
class PeopleExportCommand(SplitOptions):
    """Write multi-hop questions as tasks for people: a sheet, and a project of Label Studio.

    People see the question and its numbered paragraphs, and write the answer, the numbers of the
    sentences, and the triples. They see no gold, no type and no id; key.jsonl leads back.

      twowiki people export tasks dev.json --sample 100 --people 3
    """

    out: Path = positional("folder for the tasks", role="output_folder")
    source: str = positional("the questions: a file, a release's zip, or a folder", role="input")
    sample: int | None = argument(100, "questions, drawn by the seed; 0 = all", minimum=0)
    people: int = argument(3, "answers of each question", minimum=1)
    seed: int = argument(0, "seed of the draw", minimum=0, maximum=LARGEST_SEED)
    force: bool = argument(False, "overwrite tasks and answers")

    def run(self) -> int:
        examples = list(examples_of(self.source, self.config, self.split))
        drawn = draw_questions(examples, self.sample, self.seed)
        files = chain_task_files(drawn, people=self.people, seed=self.seed)
        self.out.mkdir(parents=True, exist_ok=True)
        with locked(self.out):
            if not self.force:
                remedy = "Name another folder, or overwrite with --force (answers there are lost)"
                if (self.out / KEY).exists():
                    raise DataError("already has tasks", file=self.out, remedy=remedy)
                check_unedited(self.out, {**files, ANSWERS: ""}, {}, remedy=remedy)
            write_together(self.out, files, remove=[ANSWERS])
        print(f"{len(drawn)} tasks in {self.out}; keep {KEY} from the people who answer")
        print(f"next: twowiki people import {self.out} FILES")
        return 0


@dataclass(frozen=True, kw_only=True)
class PeopleImportCommand:
    """Read people's answers back: filled sheets or exports of Label Studio, into people.jsonl.

    Names become pseudonyms; person.key, which makes them, stays in FOLDER. Of two answers of one
    person to one question the last one counts. Prints how far people agree, by question type.

      twowiki people import tasks ann.csv bob.csv export.json
      twowiki score predictions.json dev.json --people tasks/people.jsonl --by-type
    """

    folder: Path = positional(
        "folder that `twowiki people export` wrote", role="output_folder", writes=(f"/{ANSWERS}",)
    )
    files: list[str] = positional("filled sheets or exports", nargs="+", role="input")
    person: str = argument("", "who answered, if the file does not say it")
    output: Path | None = argument(None, "write the agreement as JSON", role="output")

    def run(self) -> int:
        command = f"twowiki people export {self.folder} SOURCE"
        key_file = existing_file(self.folder / KEY, f"Make the tasks with: {command}")
        with locked(self.folder):
            key = read_chain_key(str(key_file))
            path = self.folder / ANSWERS
            known = [row for _, row in read_records(path)] if path.exists() else []
            secret = read_secret(self.folder / "person.key", given=None, used=bool(known))
            new = [
                {**row, "person": pseudonym(row["person"], secret)}
                for file in self.files
                for row in read_chain_answers(file, key, person=self.person)
            ]
            if not new and not known:
                raise DataError("no task is answered", file=self.files[0])
            rows = merge_chain_answers(known, new)
            write_json_lines(path, rows)
        people = len({row["person"] for row in rows})
        print(f"{len(rows) - len(known)} new, {len(rows)} answers of {people} people in {path}")
        types = {task.id: task.type for task in key.values()}
        agreement = chain_agreement(read_people(path), types)
        print(_agreement_table(agreement))
        if self.output:
            write_json(self.output, without_nan(agreement))
        print(f"next: twowiki score PREDICTIONS GOLD --people {path}")
        return 0


def _agreement_table(agreement: dict[str, Any]) -> str:
    names = ("questions", "pairs", "answer_equal", "sentences_f1", "triples_f1", "alpha")
    rows = [["agreement", *(name.replace("_", " ") for name in names)]]
    for group, values in agreement.items():
        cells = [
            str(value) if isinstance(value, int) else "-" if value != value else f"{value:.2f}"
            for value in (values[name] for name in names)
        ]
        rows.append([group, *cells])
    return render_table(rows)
