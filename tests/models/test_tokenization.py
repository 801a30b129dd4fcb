"""Words with exact offsets: our rule, the backend's, and what survives a save."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer

from tests.small_model import examples, setting, with_vocabulary
from twowiki.models.text import Span, char_span, code_points, find_text, token_span, word_offsets
from twowiki.models.tokenization_baseline import (
    TwoWikiTokenizer,
    build_tokenizer,
    char_rows,
    char_table,
    count_words,
    spacy_offsets,
)

TRICKY = "Élan  Dovré’s  “Ash…” (1907–1944) was filmed."
LETTERS = st.characters(max_codepoint=0x2FFF, exclude_categories=("Cn", "Cs", "Co"))


def vocabulary() -> TwoWikiTokenizer:
    return build_tokenizer(["ash", "dovré", "who", "did", "οδοσ"], "Adefhor’…é")


@given(st.lists(st.text(alphabet=LETTERS), max_size=4))
@settings(deadline=None)
def test_words_are_counted_as_each_text_is_cut(texts: list[str]) -> None:
    words: Counter[str] = Counter()
    for text in texts:
        borders = (part.tolist() for part in word_offsets(code_points(text)))
        words.update(text[start:end] for start, end in zip(*borders, strict=True))
    counted, characters = count_words(iter(texts), lower_case_words=False)
    assert counted == words
    assert characters == Counter("".join(words.elements()))
    lowered, _ = count_words(iter(texts))
    assert lowered.total() == words.total()


@given(st.text(alphabet=LETTERS | st.characters(min_codepoint=0x1F300, max_codepoint=0x1F5FF)))
@settings(deadline=None)
def test_words_cover_all_that_is_not_blank_and_are_what_the_backend_cuts(text: str) -> None:
    starts, ends = word_offsets(code_points(text))
    covered = set()
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        assert start < end
        covered.update(range(start, end))
    blank = {i for i in range(len(text)) if i not in covered}
    assert all(text[i].isspace() for i in blank)
    split = pre_tokenizers.Split(
        Regex(r"[\p{L}\p{M}]+|\p{N}+|[^\p{L}\p{M}\p{N}\s]"), behavior="removed", invert=True
    )
    cut = [span for _, span in split.pre_tokenize_str(text)]
    assert cut == list(zip(starts.tolist(), ends.tolist(), strict=True))


def test_a_run_of_letters_that_is_no_word_is_cut() -> None:
    starts, ends = word_offsets(code_points("a " + "x" * 25_000 + " b"))
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == [
        (0, 1),
        (2, 10_002),
        (10_002, 20_002),
        (20_002, 25_002),
        (25_003, 25_004),
    ]


def test_ids_equal_the_backends_ids() -> None:
    tokenizer, text = vocabulary(), "Who DID “Ash” ΟΔΟΣ? \u0130ash"
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    starts, ends = tokenizer.word_offsets(text)
    lookup = tokenizer.lookup()
    ours = [lookup[text[a:b]] for a, b in zip(starts, ends, strict=True)]
    assert encoded["input_ids"] == ours
    assert ours[:4] == [4, 5, 1, 2]
    assert ours[5] == 6


@pytest.mark.parametrize("answer", ["Dovré’s", "“Ash…”", "1907–1944", "Élan  Dovré’s"])
def test_an_answer_comes_back_exactly_from_its_tokens(answer: str) -> None:
    starts, ends = (part.tolist() for part in vocabulary().word_offsets(TRICKY))
    check_round_trip(starts, ends, answer)


@pytest.mark.parametrize("kind", ["byte_bpe", "word_piece"])
def test_the_round_trip_holds_for_other_tokenizers(kind: str) -> None:
    tokenizer = other_tokenizer(kind)
    offsets = tokenizer.encode(TRICKY).offsets
    for answer in ("Dovré’s", "“Ash…”", "1907–1944"):
        check_round_trip([start for start, _ in offsets], [end for _, end in offsets], answer)


def check_round_trip(starts: list[int], ends: list[int], answer: str) -> None:
    place = find_text(TRICKY, answer)
    assert place is not None
    tokens = token_span(starts, ends, place)
    assert tokens is not None
    found = char_span(starts, ends, tokens)
    assert TRICKY[found.start : found.end].strip() == answer
    assert found == Span(*place) or TRICKY[found.start] == " "  # a byte-level token may hold it


def other_tokenizer(kind: str) -> Tokenizer:
    if kind == "byte_bpe":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=300,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    else:
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(
            vocab_size=60, special_tokens=["[UNK]"], show_progress=False
        )
    tokenizer.train_from_iterator([TRICKY] * 3, trainer)
    return tokenizer


def test_the_published_lookup_tries_other_cases_in_its_order() -> None:
    tokenizer = build_tokenizer(["Paris", "paris", "USA"], "", lower_case_words=False)
    lookup = tokenizer.lookup()
    assert lookup["Paris"] == 2
    assert lookup["PARIS"] == 3
    assert lookup["usa"] == 4
    assert lookup["Rome"] == 1


def test_saved_twice_it_still_cuts_words_and_knows_characters(tmp_path: Path) -> None:
    tokenizer = vocabulary()
    for name in ("first", "second"):
        tokenizer.save_pretrained(tmp_path / name)
        tokenizer = TwoWikiTokenizer.from_pretrained(tmp_path / name)
    assert tokenizer("Who did?")["input_ids"] == [4, 5, 1]
    assert tokenizer.char_vocab == vocabulary().char_vocab
    assert tokenizer.splitter == "words"


def test_it_opens_as_a_plain_fast_tokenizer_without_any_remote_code(tmp_path: Path) -> None:
    vocabulary().save_pretrained(tmp_path)
    plain = AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=False)
    assert type(plain).__name__ == "TokenizersBackend"
    assert plain("Who did?")["input_ids"] == [4, 5, 1]
    with_code = AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=True)
    assert type(with_code).__name__ == "TwoWikiTokenizer"
    assert with_code.char_vocab == vocabulary().char_vocab
    assert not any("--" in value for value in auto_map(tmp_path) if value)


def auto_map(folder: Path) -> list[str | None]:
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    value = settings["auto_map"]["AutoTokenizer"]
    return value if isinstance(value, list) else [value]


def test_character_rows_are_the_words_own_characters() -> None:
    table = char_table("abÉ")
    starts, ends = numpy.array([0, 3], numpy.int32), numpy.array([2, 7], numpy.int32)
    rows = char_rows("ab Éb\U0001f600a", starts, ends, table, 3)
    assert rows.tolist() == [[2, 3, 0], [4, 3, 1]]
    assert char_rows("", starts[:0], ends[:0], table, 3).shape == (0, 3)


def test_the_references_tokenizer_is_spacys_blank_english() -> None:
    pytest.importorskip("spacy")
    starts, ends = spacy_offsets(" It wasn't  (U.S.) ")
    words = [" It wasn't  (U.S.) "[a:b] for a, b in zip(starts, ends, strict=True)]
    assert words == [" ", "It", "was", "n't", " ", "(", "U.S.", ")"]


def test_a_vocabulary_is_the_same_whatever_the_order_of_equal_counts() -> None:
    first = with_vocabulary(setting(), examples())
    second = with_vocabulary(setting(), list(reversed(examples())))
    assert first[0].to_dict() == second[0].to_dict()
    assert first[1].get_vocab() == second[1].get_vocab()
