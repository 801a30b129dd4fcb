"""Words with exact character offsets, word ids and character ids.

A word is a run of letters (with their combining marks), a run of digits, or one other visible
character; blanks part words and belong to none. The same rule stands in `tokenizer.json`, so
that the plain fast tokenizer cuts a text in the same places without this file. Offsets are
positions in the text as given: nothing is normalised away.
"""

from __future__ import annotations

import json
import os
import unicodedata
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

from .spans import FINAL_SIGMA, SIGMA

PAD, UNKNOWN = "[PAD]", "[UNK]"
TITLE_START, TITLE_END = "\x02", "\x03"  # what marks a title in the marked layout
REFERENCE_TITLE_START, REFERENCE_TITLE_END = "<t>", "</t>"
WORD_PATTERN = r"[\p{L}\p{M}]+|\p{N}+|[^\p{L}\p{M}\p{N}\s]"
BLANK, LETTER, DIGIT, OTHER = range(4)
LONGEST_WORD = 10_000  # characters; longer runs are cut
Offsets = NDArray[numpy.int32]


class TwoWikiTokenizer(TokenizersBackend):
    """A word-level tokenizer that also knows characters.

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

    def word_offsets(self, text: str) -> tuple[Offsets, Offsets]:
        """Give the start and the end of each word."""
        if self.splitter == "spacy":
            return spacy_offsets(text)
        return word_offsets(code_points(text))

    def lookup(self) -> WordLookup:
        """Give a dictionary from any word to its id, filled as it is used."""
        found = self.__dict__.get("_word_lookup")
        if found is None:
            lower = bool(self.init_kwargs.get("lower_case_words", True))
            found = self.__dict__["_word_lookup"] = WordLookup(self.get_vocab(), lower_case=lower)
        return found

    def char_table(self) -> NDArray[numpy.uint16]:
        """Give the character id of each code point; 1 for the unknown ones."""
        return char_table(self.char_vocab)

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
        lower_case: the vocabulary is in lower case; else the published order of attempts holds:
            as it is, lower case, Capitalised, UPPER CASE.
    """

    def __init__(self, vocab: dict[str, int], *, lower_case: bool) -> None:
        super().__init__()
        self.vocab, self.lower_case = vocab, lower_case

    def __missing__(self, word: str) -> int:
        if self.lower_case:
            forms = [lower(word)]
        else:
            forms = [word, word.lower(), word.capitalize(), word.upper()]
        known = next((form for form in forms if form in self.vocab), UNKNOWN)
        number = self.vocab.get(known, 1)
        if len(self) < 1_000_000:  # bounded, whatever is streamed through
            self[word] = number
        return number


def lower(word: str) -> str:
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
    """Count the words of texts (in lower case if so asked) and the characters of the words."""
    words: Counter[str] = Counter()
    for text in texts:
        starts, ends = (
            spacy_offsets(text) if splitter == "spacy" else word_offsets(code_points(text))
        )
        words.update(map(text.__getitem__, map(slice, starts.tolist(), ends.tolist())))
    characters: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    if lower_case_words:
        lowered: Counter[str] = Counter()
        for word, count in words.items():
            lowered[lower(word)] += count
        words = lowered
    return words, characters


def code_points(text: str) -> NDArray[numpy.uint32]:
    """Give the code point of each character."""
    return numpy.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def word_offsets(codes: NDArray[numpy.uint32]) -> tuple[Offsets, Offsets]:
    """Cut a text, given as code points, into words."""
    kinds = character_kinds(codes)
    border = numpy.empty(len(kinds) + 1, dtype=bool)
    border[0] = border[-1] = True
    numpy.not_equal(kinds[1:], kinds[:-1], out=border[1:-1])
    border[:-1] |= kinds == OTHER
    places = numpy.flatnonzero(border)
    starts, ends = places[:-1], places[1:]
    visible = kinds[starts] != BLANK
    starts, ends = starts[visible].astype(numpy.int32), ends[visible].astype(numpy.int32)
    if len(starts) and int((ends - starts).max()) > LONGEST_WORD:
        return _cut_long(starts, ends)
    return starts, ends


def _cut_long(starts: NDArray[numpy.int32], ends: NDArray[numpy.int32]) -> tuple[Offsets, Offsets]:
    """Cut words that no text has (a page of letters without a blank) into pieces."""
    pieces = [
        (first, min(first + LONGEST_WORD, end))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        for first in range(start, end, LONGEST_WORD)
    ]
    cut = numpy.array(pieces, dtype=numpy.int32)
    return cut[:, 0], cut[:, 1]


def character_kinds(codes: NDArray[numpy.uint32]) -> NDArray[numpy.uint8]:
    """Say of each code point whether it is blank, letter, digit or other."""
    table = _kind_table()
    if len(codes) and int(codes.max()) >= len(table):
        kinds = table[numpy.minimum(codes, len(table) - 1)]
        for index in numpy.flatnonzero(codes >= len(table)):
            kinds[index] = _kind(chr(codes[index]))
        return kinds
    return table[codes]


@cache
def _kind_table() -> NDArray[numpy.uint8]:
    return numpy.array([_kind(chr(code)) for code in range(0x10000)], dtype=numpy.uint8)


def _kind(character: str) -> int:
    category = unicodedata.category(character)
    if category[0] in "LM":
        return LETTER
    if category[0] == "N":
        return DIGIT
    return BLANK if category[0] == "Z" or character in "\t\n\v\f\r\x85" else OTHER


def spacy_offsets(text: str) -> tuple[Offsets, Offsets]:
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
            "the reference's tokenizer needs spaCy: pip install 'twowiki[spacy]', "
            "or set splitter: words"
        ) from error
    return spacy.blank("en").tokenizer


@cache
def char_table(characters: str) -> NDArray[numpy.uint16]:
    """Give the id of each code point (the last entry stands for all higher ones): 1 if unknown."""
    codes = sorted({ord(character) for character in characters})
    table = numpy.ones(max(codes, default=0) + 2, dtype=numpy.uint16)
    for number, character in enumerate(characters, start=2):
        table[ord(character)] = number
    return table


def char_rows(
    text: str,
    starts: NDArray[numpy.int32],
    ends: NDArray[numpy.int32],
    table: NDArray[numpy.uint16],
    limit: int,
) -> NDArray[numpy.uint16]:
    """Give the first characters of each word as ids, 0 after its end: (T, limit)."""
    if not len(starts):
        return numpy.zeros((0, limit), dtype=numpy.uint16)
    codes = code_points(text)
    place = starts[:, None] + numpy.arange(limit, dtype=numpy.int32)
    ids = table[numpy.minimum(codes, len(table) - 1)]
    rows = ids[numpy.minimum(place, len(codes) - 1)]
    rows[place >= ends[:, None]] = 0
    return rows


TwoWikiTokenizer.register_for_auto_class("AutoTokenizer")
