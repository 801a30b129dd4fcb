"""Score a direct answer against its gold answers: F1 as for SQuAD, ROUGE-L as in the paper.

In: texts. Out: a `Row` of figures between 0 and 1. Each figure is the best over the gold answers,
on its own (paper, "Evaluation Metrics"). Pure: no file, no clock, no chance. ROUGE-L equals
`rouge_score` 0.1.2 with stemming to the last bit; tokens and stems are remembered, and the longest
common subsequence is found with bit vectors (Hyyrö, 2004), so long texts cost little.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from twowiki.arc_da.metric.folding import fold_tokens, unicode_words

REMEMBERED = 1 << 16  # texts and words whose tokens are kept
SHORT = 400  # product of two lengths up to which plain lists are quicker than counters
MIN_STEMMED = 4  # ROUGE leaves words of up to three letters as they are
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_ARTICLE_WORDS = frozenset(("a", "an", "the"))
_ASCII_WORD = re.compile(r"[a-z0-9]+")

Tokens = tuple[str, ...]
Similarity = Callable[[str, str], float]


class Row(NamedTuple):
    """One question's figures; `*_gold` is the place of the best gold answer.

    `extras` holds the figures asked for beside the headline, in the order they were asked for.
    """

    f1: float
    rouge_l: float
    f1_gold: int
    rouge_l_gold: int
    extras: tuple[float, ...] = ()


def f1_score(prediction: str, gold: str) -> float:
    """Measure the overlap of words, order ignored, as SQuAD does; 0 if either side has none."""
    return _overlap(answer_tokens(prediction), answer_tokens(gold))


def rouge_l(prediction: str, gold: str, *, stemming: bool = True) -> float:
    """Measure ROUGE-L's F as `rouge_score` does: ASCII words only, stemmed unless told not to."""
    words = rouge_tokens if stemming else rouge_words
    return _sequence_f1(words(prediction), words(gold))


def rouge_l_unicode(prediction: str, gold: str) -> float:
    """Measure ROUGE-L over the words of any script; see `folding.unicode_words`."""
    return _sequence_f1(_unicode_tokens(prediction), _unicode_tokens(gold))


def exact_match(prediction: str, gold: str) -> float:
    """Compare as SQuAD does: the same words in the same order, articles and punctuation aside."""
    return float(answer_tokens(prediction) == answer_tokens(gold))


def contains(prediction: str, gold: str) -> float:
    """Whether the gold answer's words stand one after the other in the prediction."""
    inner, outer = answer_tokens(gold), answer_tokens(prediction)
    starts = range(len(outer) - len(inner) + 1)
    return float(
        bool(inner) and any(outer[start : start + len(inner)] == inner for start in starts)
    )


def f1_folded(prediction: str, gold: str) -> float:
    """Measure F1 with numbers, signs, units and typography folded; see `folding.fold_tokens`."""
    return _overlap(_folded_tokens(prediction), _folded_tokens(gold))


EXTRAS: dict[str, Similarity] = {
    "exact_match": exact_match,
    "contains": contains,
    "f1_folded": f1_folded,
    "rougeL_unicode": rouge_l_unicode,
    "rougeL_no_stem": lambda prediction, gold: rouge_l(prediction, gold, stemming=False),
}


def score_answer(prediction: str, golds: Sequence[str], extras: Sequence[str] = ()) -> Row:
    """Score one prediction against its gold answers; each figure takes its own best gold.

    Args:
        prediction: the system's one answer; empty scores 0.
        golds: at least one gold answer.
        extras: names out of `EXTRAS`.

    Raises:
        ValueError: without gold answers, or for an unknown name.
    """
    if not golds:
        raise ValueError("no gold answers, so no score")
    if extras and (unknown := [name for name in extras if name not in EXTRAS]):
        raise ValueError(f"unknown figures {unknown}; there are {sorted(EXTRAS)}")
    f1, f1_gold = _best(prediction, golds, f1_score)
    rouge, rouge_gold = _best(prediction, golds, rouge_l)
    figures = tuple(_best(prediction, golds, EXTRAS[name])[0] for name in extras)
    return Row(f1, rouge, f1_gold, rouge_gold, figures)


@lru_cache(maxsize=REMEMBERED)
def answer_tokens(text: str) -> Tokens:
    """Normalise as SQuAD does, in its order: lower case, no ASCII punctuation, no articles."""
    plain = text.lower().translate(_PUNCTUATION)
    if text.isascii() and text.isprintable():  # then a word border is a space: the quick way
        return tuple([word for word in plain.split() if word not in _ARTICLE_WORDS])
    return tuple(_ARTICLES.sub(" ", plain).split())


@lru_cache(maxsize=REMEMBERED)
def rouge_words(text: str) -> Tokens:
    """Cut into ROUGE's words: runs of ASCII letters and digits, lower case, nothing else."""
    return tuple(_ASCII_WORD.findall(text.lower()))


@lru_cache(maxsize=REMEMBERED)
def rouge_tokens(text: str) -> Tokens:
    """Cut into ROUGE's words and stem those of at least four letters."""
    return tuple(map(_stem, _ASCII_WORD.findall(text.lower())))


def lcs_length(first: Tokens, second: Tokens) -> int:
    """Count the longest common subsequence; a bit of `row` stays 1 where no match ends."""
    places = _places(second)
    full = (1 << len(second)) - 1
    row = full
    for token in first:
        if token in places:
            hits = row & places[token]
            row = ((row + hits) | (row - hits)) & full
    return len(second) - row.bit_count()


@lru_cache(maxsize=256)
def _places(tokens: Tokens) -> dict[str, int]:
    """Give each token's places as bits; one prediction meets several gold answers in a row."""
    places: dict[str, int] = {}
    for place, token in enumerate(tokens):
        places[token] = places.get(token, 0) | 1 << place
    return places


@lru_cache(maxsize=REMEMBERED)
def _stem(word: str) -> str:
    return stem(word) if len(word) >= MIN_STEMMED else word


@lru_cache(maxsize=REMEMBERED)
def _unicode_tokens(text: str) -> Tokens:
    return tuple(_stem(word) if word.isascii() else word for word in unicode_words(text))


@lru_cache(maxsize=REMEMBERED)
def _folded_tokens(text: str) -> Tokens:
    return tuple(fold_tokens(text))


def _best(prediction: str, golds: Sequence[str], similarity: Similarity) -> tuple[float, int]:
    """Find the highest similarity and the first gold that has it."""
    best, place = -1.0, 0
    for index, gold in enumerate(golds):
        value = similarity(prediction, gold)
        if value > best:
            best, place = value, index
            if value == 1.0:
                break
    return best, place


def _overlap(predicted: Tokens, gold: Tokens) -> float:
    if not predicted or not gold:
        return 0.0
    if predicted == gold:
        return 1.0
    shared = _shared_words(predicted, gold)
    return _harmonic(shared / len(predicted), shared / len(gold))


def _shared_words(first: Tokens, second: Tokens) -> int:
    """Count common words, each as often as both have it; short answers need no counters."""
    if len(first) * len(second) > SHORT:
        return sum((Counter(first) & Counter(second)).values())
    rest = list(second)
    for word in first:
        if word in rest:
            rest.remove(word)
    return len(second) - len(rest)


def _sequence_f1(predicted: Tokens, gold: Tokens) -> float:
    if not predicted or not gold:
        return 0.0
    if predicted == gold:
        return 1.0
    shared = lcs_length(gold, predicted)
    return _harmonic(shared / len(predicted), shared / len(gold))


def _harmonic(precision: float, recall: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total > 0 else 0.0


IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}

# Within a step the longest fitting suffix decides, whether or not its condition holds. Suffixes are
# sorted so that a longer one that ends in a shorter one comes first.
_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "fulli": "ful",
    "logi": "log",
}
_STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_STEP_2_ENDS, _STEP_3_ENDS = tuple(_STEP_2), tuple(_STEP_3)
_STEP_4 = (
    *("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate"),
    *("iti", "ous", "ive", "ize", "al", "er", "ic", "ou"),
)


def stem(word: str) -> str:
    """Cut a word's suffixes; words of one or two letters stay as they are."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _double_suffix, _suffix, _last_suffix, _tidy):
        word = step(word)
    return word


def _shape(word: str) -> str:
    """Write each letter as c (consonant) or v (vowel); y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if is_vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Count the vowel-consonant sequences, Porter's m."""
    return _shape(word).count("vc")


def _ends_short(word: str) -> bool:
    """Whether it ends consonant-vowel-consonant, the last not w, x, y; or is vowel-consonant."""
    shape = _shape(word)
    if shape == "vc":
        return True
    return shape.endswith("cvc") and word[-1] not in "wxy"


def _plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        cut = word.removesuffix(suffix)
        if cut != word and "v" in _shape(cut):
            return _restore(cut)
    return word


def _restore(cut: str) -> str:
    """Mend what is left after -ed or -ing: conflat-e, hop(p), fil-e."""
    if cut.endswith(("at", "bl", "iz")):
        return cut + "e"
    if len(cut) >= 2 and cut[-1] == cut[-2] and _shape(cut)[-1] == "c":
        return cut if cut[-1] in "lsz" else cut[:-1]
    return cut + "e" if _measure(cut) == 1 and _ends_short(cut) else cut


def _final_y(word: str) -> str:
    cut = word[:-1]
    return cut + "i" if word.endswith("y") and len(cut) > 1 and _shape(cut)[-1] == "c" else word


def _double_suffix(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _double_suffix(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replace(word, _STEP_2, _STEP_2_ENDS)


def _suffix(word: str) -> str:
    return _replace(word, _STEP_3, _STEP_3_ENDS)


def _last_suffix(word: str) -> str:
    if not word.endswith(_STEP_4):
        return word
    for suffix in _STEP_4:
        if word.endswith(suffix):
            cut = word[: -len(suffix)]
            allowed = suffix != "ion" or cut.endswith(("s", "t"))
            return cut if allowed and _measure(cut) > 1 else word
    return word


def _tidy(word: str) -> str:
    """Drop a final -e, then one of a final -ll, where enough is left."""
    if word.endswith("e"):
        cut = word[:-1]
        if _measure(cut) > 1 or (_measure(cut) == 1 and not _ends_short(cut)):
            word = cut
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _replace(word: str, suffixes: dict[str, str], ends: tuple[str, ...]) -> str:
    """Replace the suffix that decides if a measure is left before it; most words have none."""
    if not word.endswith(ends):
        return word
    for suffix, new in suffixes.items():
        if word.endswith(suffix):
            cut = word[: -len(suffix)]
            return cut + new if _measure(cut) > 0 else word
    return word
