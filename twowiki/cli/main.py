"""The command line: `twowiki COMMAND ...` finds the command, runs it, and prints its errors.

A command is a frozen dataclass of its arguments with a method `run` that returns the exit code.
Only the chosen command's module is imported, so that `twowiki score --help` is fast.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from typing import Any

from twowiki._version import __version__
from twowiki.errors import DataError, nearest
from twowiki.io.arguments import CommandParser, add_arguments, from_values, parse_flags
from twowiki.io.failures import run_guarded
from twowiki.io.outputs import check_outputs

# command -> (module and class, one line of help)
COMMANDS = {
    "generate": ("generate:GenerateCommand", "dumps in, a 2Wiki-style data set out"),
    "world": ("generate:WorldCommand", "write a fictional world's dumps; measure difficulty"),
    "verify": ("generate:VerifyCommand", "compare two generated data sets"),
    "explain": ("generate:ExplainCommand", "show where a generated sample comes from"),
    "export": ("data:ExportCommand", "write typed Parquet shards and a card"),
    "validate": ("data:ValidateCommand", "report problems in raw records"),
    "audit": ("audit:AuditCommand", "gold that does not stand inspection"),
    "review": ("audit:ReviewCommand", "questions for a person to look at before a release"),
    "stats": ("data:StatsCommand", "print the paper's tables for any split"),
    "twins": ("rename:TwinsCommand", "add twins: a page missing, a fact changed"),
    "rename": ("rename:RenameCommand", "replace the names of real questions by coined ones"),
    "corpus": ("retrieval:CorpusCommand", "a retrieval test set: corpus, queries, judgments"),
    "qrels": ("retrieval:QrelsCommand", "which paragraphs are relevant to which question"),
    "index": ("retrieval:IndexCommand", "index a corpus: BM25, a server, or a sentence encoder"),
    "retrieve": ("retrieve:RetrieveCommand", "rank paragraphs for each question"),
    "retrieval": ("retrieval:RetrievalCommand", "scores of rankings: recall, MRR, nDCG, by hop"),
    "score": ("score:ScoreCommand", "answers, supporting facts, evidence and joint"),
    "report": ("score:ReportCommand", "a page of scores, errors and examples"),
    "leaderboard": ("score:LeaderboardCommand", "a page of saved reports, the best first"),
    "submission": ("score:SubmissionCommand", "the file for the authors' leaderboard"),
    "prompt": ("score:PromptCommand", "questions as prompts for a language model"),
    "encode": ("encode:EncodeCommand", "a training run's data, before the run, with all cores"),
    "predict": ("models:PredictCommand", "a saved model's predictions on a split"),
    "push": ("models:PushCommand", "a model, data set, metric or demo to the hub"),
    "card": ("models:CardCommand", "a trained model's card, from its run's report"),
    "convert-baseline": ("models:ConvertCommand", "the authors' checkpoint to a model folder"),
    "mine": ("", "propose rules from statements, question forms from questions"),
    "people": ("", "people as one more system: tasks, answers, agreement"),
    "arc-da": ("", "ARC-DA: statistics, scores, conversion, human ratings, retrieval"),
}
ARC_DA = {
    "stats": ("arc_da_score:ArcDaStatsCommand", "count questions, answers and words (Table 1)"),
    "score": ("arc_da_score:ArcDaScoreCommand", "score a system's answers: F1 and ROUGE-L"),
    "mc-score": ("arc_da_score:ChoiceScoreCommand", "score text on ARC's multiple choice"),
    "convert": ("", "multiple choice to direct answers, stage by stage in a folder"),
    "rate-export": ("arc_da_score:RateExportCommand", "write blind rating tasks"),
    "rate-import": ("arc_da_score:RateImportCommand", "read ratings back"),
    "genie": ("arc_da_score:GenieCommand", "human scores, with intervals and agreement"),
    "expert": ("arc_da_score:ExpertCommand", "human scores from experts' partial credit"),
    "metric-agreement": ("metric_agreement:MetricAgreementCommand", "metrics against people"),
    "index": ("arc_da_retrieval:SentenceIndexCommand", "index a corpus of sentences"),
    "retrieve": ("arc_da_retrieval:RetrieveSentencesCommand", "find ten sentences per question"),
}
CONVERSION = {
    "filter": ("arc_da_conversion:FilterCommand", "1: remove questions that need their options"),
    "audit-filter": ("arc_da_conversion:AuditFilterCommand", "check the rules of the filter"),
    "export-tasks": ("arc_da_conversion:ExportTasksCommand", "2: write tasks for five workers"),
    "import-answers": ("arc_da_conversion:ImportAnswersCommand", "3: read their answers back"),
    "screen": ("arc_da_conversion:ScreenCommand", "4: keep what workers answer alike"),
    "review-export": ("arc_da_conversion:ReviewExportCommand", "5: write the review's table"),
    "review-import": ("arc_da_conversion:ReviewImportCommand", "6: read the edited table"),
    "release": ("arc_da_conversion:ReleaseCommand", "7: write the reviewed questions"),
    "status": ("arc_da_conversion:StatusCommand", "show where a conversion is"),
}
PEOPLE_COMMANDS = {
    "export": ("people:PeopleExportCommand", "write questions as tasks for people"),
    "import": ("people:PeopleImportCommand", "read their answers back; agreement"),
}
MINE_COMMANDS = {
    "rules": ("mine:MineRulesCommand", "rules of two relations, with support and confidence"),
    "templates": ("mine:MineTemplatesCommand", "forms of comparison questions, counted"),
}
ABOUT = (
    "2WikiMultiHopQA and ARC-DA: data, metrics, models, generation.\n"
    "Models are trained with `python -m twowiki.train` or `accelerate launch -m twowiki.train`."
)
# words that are no command of their own -> (what follows them, its help)
COMMAND_GROUPS = {
    "mine": (MINE_COMMANDS, "Proposals for new questions."),
    "people": (PEOPLE_COMMANDS, "People as one more system: tasks, answers, agreement."),
    "arc-da": (ARC_DA, "ARC-DA, the direct-answer version of ARC."),
    "arc-da convert": (
        CONVERSION,
        "The conversion of multiple-choice questions: seven stages, which work in one folder.",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code (docs/cli.md lists them)."""
    for stream in (sys.stdout, sys.stderr):  # a terminal without a letter shows its number
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    path: list[str] = []

    def work(argv: list[str]) -> int:
        path.extend(command_path(argv))
        return run_command(path, argv)

    return run_guarded(lambda: " ".join(["twowiki", *path]), work, arguments)


def command_path(argv: Sequence[str]) -> list[str]:
    """Return the command's words; print the overview where there is no command."""
    path: list[str] = []
    while True:
        table, about = _table(path)
        prog = " ".join(["twowiki", *path])
        word = argv[len(path)] if len(argv) > len(path) else ""
        if path and not word:
            raise DataError("no command is given", remedy=f"`{prog} --help` lists the commands")
        if not word or word.startswith("-"):
            overview(prog, about, table).parse_args([word or "--help"])
        if word not in table:
            near = nearest(word, table)
            remedy = f"Did you mean {near}?" if near else f"`{prog} --help` lists the commands"
            raise DataError(f"unknown command {word!r}", remedy=remedy)
        path.append(word)
        if table[word][0]:
            return path


def _table(path: Sequence[str]) -> tuple[Mapping[str, tuple[str, str]], str]:
    """Return the commands that may follow these words, and what they are about."""
    return COMMAND_GROUPS[" ".join(path)] if path else (COMMANDS, ABOUT)


def command_paths() -> Iterator[list[str]]:
    """List the words of every command."""
    for group in ("", *COMMAND_GROUPS):
        for word, (module, _) in _table(group.split())[0].items():
            if module:
                yield [*group.split(), word]


def command_class(path: Sequence[str]) -> Any:
    """Return the dataclass of a command."""
    module, _, name = _table(path[:-1])[0][path[-1]][0].partition(":")
    return getattr(import_module(f"twowiki.cli.{module}"), name)


def command_parser(path: Sequence[str]) -> CommandParser:
    """Return the parser of a command; the class's docstring is the help text."""
    cls = command_class(path)
    parser = CommandParser(" ".join(["twowiki", *path]), cleandoc(cls.__doc__))
    parser.epilog = "--traceback prints the traceback of an unexpected error."
    add_arguments(parser, cls)
    return parser


def run_command(path: Sequence[str], argv: Sequence[str]) -> int:
    """Parse a command's arguments and run it."""
    cls = command_class(path)
    values = parse_flags(command_parser(path), cls, argv[len(path) :])
    if hasattr(cls, "command"):  # for reports
        values["command"] = ("twowiki", *argv)
    command = from_values(cls, values, flags=True)
    check_outputs(command)
    return int(command.run())


def overview(prog: str, about: str, table: Mapping[str, tuple[str, str]]) -> CommandParser:
    """Return the parser that `twowiki --help` shows."""
    listed = "\n".join(f"  {name:<18}{text}" for name, (_, text) in table.items())
    parser = CommandParser(prog, f"{about}\n\ncommands:\n{listed}")
    parser.usage = "%(prog)s [options] COMMAND ..."
    parser.epilog = f"`{prog} COMMAND --help` explains a command."
    parser.add_argument("--version", action="version", version=f"twowiki {__version__}")
    return parser
