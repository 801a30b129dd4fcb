"""Words with exact character offsets, word ids and character ids.

A word is a run of letters (with their combining marks), a run of digits, or one other visible
character; blanks separate words. The same rule is in `tokenizer.json`, so that the plain fast
tokenizer cuts a text in the same places without this file. Offsets are positions in the text as
given: nothing is normalized away.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import TokenizersBackend

from .text import FINAL_SIGMA, SIGMA, IntArray, code_points, word_offsets
from .words import blank_ends

PAD, UNKNOWN = "[PAD]", "[UNK]"
WORD_PATTERN = r"[\p{L}\p{M}]+|\p{N}+|[^\p{L}\p{M}\p{N}\s]"


class TwoWikiTokenizer(TokenizersBackend):
    """A word-level tokenizer that also has a vocabulary of characters.

    It has no `__init__`: transformers 5 then rebuilds it from `tokenizer.json`, where a subclass
    with one would silently come back as an empty byte-pair encoder. What it adds is read from
    `init_kwargs`: `char_vocab`, `splitter`, `lower_case_words`.
    """

    @property
    def char_vocab(self) -> str:
        """The known characters, in id order from 2."""
        return str(self.init_kwargs.get("char_vocab", ""))

    @property
    def splitter(self) -> str:
        """How text becomes words: "words" or "spacy"."""
        return str(self.init_kwargs.get("splitter", "words"))

    def word_offsets(self, text: str) -> tuple[IntArray, IntArray]:
        """Return the start and the end of each word."""
        return _split(text, self.splitter)

    def lookup(self) -> WordLookup:
        """Return a dictionary from any word to its id, filled as it is used."""
        lookup = self.__dict__.get("_word_lookup")
        if lookup is None:
            lower = bool(self.init_kwargs.get("lower_case_words", True))
            lookup = self.__dict__["_word_lookup"] = WordLookup(self.get_vocab(), lower_case=lower)
        return lookup

    def save_pretrained(  # type: ignore[override]
        self, save_directory: str | os.PathLike[str], **options: Any
    ) -> tuple[str, ...]:
        """Save so that the folder also opens as a plain fast tokenizer, without this file."""
        written = super().save_pretrained(save_directory, **options)
        settings = Path(save_directory) / "tokenizer_config.json"
        if settings.is_file():
            values = json.loads(settings.read_text(encoding="utf-8"))
            values["tokenizer_class"] = "TokenizersBackend"
            for name in ("is_local", "local_files_only", "name_or_path"):
                values.pop(name, None)
            settings.write_text(
                json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
            )
        return tuple(written)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_word_lookup"}


class WordLookup(dict[str, int]):
    """Word to id; unknown words are tried in other cases, then are unknown.

    Args:
        vocab: id of each known word.
        lower_case: the vocabulary is in lower case; else the published order of attempts is used:
            as it is, lower case, Capitalized, UPPER CASE.
    """

    def __init__(self, vocab: dict[str, int], *, lower_case: bool) -> None:
        super().__init__()
        self.vocab, self.lower_case = vocab, lower_case

    def __missing__(self, word: str) -> int:
        if self.lower_case:
            forms = [_lower(word)]
        else:
            forms = [word, word.lower(), word.capitalize(), word.upper()]
        known = next((form for form in forms if form in self.vocab), UNKNOWN)
        number = self.vocab.get(known, 1)
        if len(self) < 1_000_000:  # bounded, whatever is streamed through
            self[word] = number
        return number


def _lower(word: str) -> str:
    """Lower the case of a word as the backend's normalizer does, whatever its length becomes."""
    return word.lower().replace(FINAL_SIGMA, SIGMA)


def build_tokenizer(
    words: Sequence[str],
    characters: str,
    *,
    splitter: str = "words",
    lower_case_words: bool = True,
) -> TwoWikiTokenizer:
    """Make a tokenizer: padding and unknown are ids 0 and 1, then the words in order."""
    vocab = {PAD: 0, UNKNOWN: 1}
    for word in words:
        vocab.setdefault(word, len(vocab))
    backend = Tokenizer(WordLevel(vocab, unk_token=UNKNOWN))
    if lower_case_words:
        backend.normalizer = normalizers.Sequence(
            [normalizers.Lowercase(), normalizers.Replace(FINAL_SIGMA, SIGMA)]
        )
    backend.pre_tokenizer = pre_tokenizers.Split(
        Regex(WORD_PATTERN), behavior="removed", invert=True
    )
    return TwoWikiTokenizer(
        tokenizer_object=backend,
        pad_token=PAD,
        unk_token=UNKNOWN,
        char_vocab=characters,
        splitter=splitter,
        lower_case_words=lower_case_words,
        clean_up_tokenization_spaces=False,
    )


def count_words(
    texts: Iterable[str], *, splitter: str = "words", lower_case_words: bool = True
) -> tuple[Counter[str], Counter[str]]:
    """Count the words of texts, in lower case or as they are, and the characters of the words."""
    words: Counter[str] = Counter()
    if splitter == "spacy":
        for text in texts:
            borders = (part.tolist() for part in spacy_offsets(text))
            words.update(map(text.__getitem__, map(slice, *borders)))
    else:
        words = _count_between_blanks(texts)
    characters: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    if lower_case_words:
        lowered: Counter[str] = Counter()
        for word, count in words.items():
            lowered[_lower(word)] += count
        words = lowered
    return words, characters


def _count_between_blanks(texts: Iterable[str]) -> Counter[str]:
    """Count words; what stands between two blanks is cut once, however often it occurs."""
    units: Counter[str] = Counter()
    for text in texts:
        units.update(text.split(" "))
    text, counts = " ".join(units), list(units.values())
    starts, ends = word_offsets(code_points(text))
    unit = numpy.searchsorted(blank_ends(text), starts, side="right") - 1
    words: Counter[str] = Counter()
    for start, end, number in zip(starts.tolist(), ends.tolist(), unit.tolist(), strict=True):
        words[text[start:end]] += counts[number]
    return words


def _split(text: str, splitter: str) -> tuple[IntArray, IntArray]:
    return spacy_offsets(text) if splitter == "spacy" else word_offsets(code_points(text))


def spacy_offsets(text: str) -> tuple[IntArray, IntArray]:
    """Cut a text as spaCy's blank English tokenizer does; runs of blanks can be words there."""
    starts, ends = [], []
    for token in _spacy_tokenizer()(text):
        starts.append(token.idx)
        ends.append(token.idx + len(token))
    return numpy.array(starts, dtype=numpy.int32), numpy.array(ends, dtype=numpy.int32)


@cache
def _spacy_tokenizer() -> Any:
    try:
        import spacy
    except ImportError as error:
        raise ImportError(
            "the reference's tokenizer needs spaCy. Install it with: pip install "
            "'twowiki[spacy]', or set splitter: words"
        ) from error
    return spacy.blank("en").tokenizer


@cache
def char_table(characters: str) -> NDArray[numpy.uint16]:
    """Return the id of each code point, 1 if unknown; the last entry is that of all higher ones."""
    codes = sorted({ord(character) for character in characters})
    table = numpy.ones(max(codes, default=0) + 2, dtype=numpy.uint16)
    for number, character in enumerate(characters, start=2):
        table[ord(character)] = number
    return table


def char_rows(
    text: str,
    starts: IntArray,
    ends: IntArray,
    table: NDArray[numpy.uint16],
    limit: int,
) -> NDArray[numpy.uint16]:
    """Return the first characters of each word as ids, 0 after its end: (T, limit)."""
    if not len(starts):
        return numpy.zeros((0, limit), dtype=numpy.uint16)
    codes = code_points(text)
    positions = starts[:, None] + numpy.arange(limit, dtype=numpy.int32)
    ids = table[numpy.minimum(codes, len(table) - 1)]
    rows = ids[numpy.minimum(positions, len(codes) - 1)]
    rows[positions >= ends[:, None]] = 0
    return rows


TwoWikiTokenizer.register_for_auto_class("AutoTokenizer")
