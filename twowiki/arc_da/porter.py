"""Porter's suffix stripping (1980) with the amendments that ROUGE scores have been published with.

In: one lower-case word. Out: its stem. The amendments are those of NLTK's default mode, which
`rouge_score` uses: a short table of irregular words, and kinder rules for short words in -ies,
-ied and -y. Written out here so that a score depends on no library's version.
"""

from __future__ import annotations

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
