"""The answer of a comparison from its triples: dates and countries are compared by code.

In: a question that compares two things it names, and its triples. Its words, without the names,
decide what is compared: the first or the last date, the longer life, or whether both have one
country. Out: the answer, or None where anything is missing or undecided. `misfit` tells
dates, countries and names apart for the choice of triples.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache

from .decoding import ScoredTriple
from .text import Span, bare_title, fold, occurrences

_UNFIT, _UNLIKE = 10.0, 5.0  # what an object costs that can be none, or hardly, in logits
_DATE_WORDS = 4
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_OF_LIFE = ("date of birth", "date of death")
DATED = (*_OF_LIFE, "publication date", "inception")
PLACED = ("country of citizenship", "country of origin", "country")
_SAME = re.compile(r"\b(same|common|share[sd]?)\b.*\b(country|nationalit\w+|citizenship)\b")
_LONGER = re.compile(r"\blived?\b.*\blonger\b")
_LATE = re.compile(r"\b(later|last|latest|younger|youngest|more recently|most recently|newer)\b")
_EARLY = re.compile(r"\b(first|earlier|earliest|older|oldest|before)\b")
_DEATH = re.compile(r"\b(die[sd]?|death|passed away)\b")
_ORDINAL = re.compile(r"(?<=\d)(st|nd|rd|th)\b")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?,?"
)
_DAY, _YEAR = r"(?P<day>[0-3]?\d)\b\.?,?", r"(?P<year>\d{1,4})\b"
_FORMS = tuple(
    re.compile(rf"\b{form}")
    for form in (
        r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\b",
        rf"{_DAY}\s+(?:of\s+)?{_MONTH}\s+{_YEAR}",
        rf"{_MONTH}\s+{_DAY}\s+{_YEAR}",
        rf"{_MONTH}\s+{_YEAR}",
        _YEAR,
    )
)
# chains of the release's inference rules (Table 10) that a word of kinship asks for
_KIN = tuple(
    (re.compile(rf"\b({words})\b"), tuple(tuple(chain.split()) for chain in chains))
    for words, *chains in (
        ("paternal grandfather", "father father"),
        ("paternal grandmother", "father mother"),
        ("maternal grandfather", "mother father"),
        ("maternal grandmother", "mother mother"),
        ("grandfather", "father father", "mother father"),
        ("grandmother", "father mother", "mother mother"),
        ("grandchild|grandson|granddaughter", "child child"),
        ("father-in-law", "spouse father"),
        ("mother-in-law", "spouse mother"),
        ("(?:sibling|brother|sister)-in-law", "spouse sibling", "sibling spouse"),
        ("(?:child|son|daughter)-in-law", "child spouse"),
        ("uncle|aunt", "father sibling", "mother sibling"),
        ("stepmother", "father spouse"),
        ("stepfather", "mother spouse"),
        ("stepchild|stepson|stepdaughter", "spouse child"),
        ("co-husband|co-wife", "spouse spouse"),
    )
)
_BEFORE_CHRIST = re.compile(r"\bb\.?\s?c\b")


_Date = tuple[int, int, int]


def derive_answer(question: str, triples: Sequence[ScoredTriple]) -> tuple[str, int | None] | None:
    """Answer a comparison from its triples.

    Returns:
        "yes" or "no" with None, or the winning subject with the number of its triple; None if
        the question is not a comparison, or the triples do not decide it.
    """
    roots = compared(question, triples)
    if len(roots) != 2:
        return None
    words = without_names(question, [triples[number].subject for number in roots])
    if _SAME.search(words):
        return same_country([values_of(triples, number, PLACED) for number in roots])
    if _LONGER.search(words):
        lives = [life(triples, number) for number in roots]
        if None in lives or lives[0] == lives[1]:
            return None
        winner = int(lives[1] > lives[0])  # type: ignore[operator]
    elif bool(_LATE.search(words)) != bool(_EARLY.search(words)):
        relations = _dates_compared(words)
        dates = [values_of(triples, number, relations) for number in roots]
        order = compare_dates(*(find_date(values[0]) if values else None for values in dates))
        if not order:
            return None
        winner = int((order > 0) != bool(_LATE.search(words)))
    else:
        return None
    return triples[roots[winner]].subject, roots[winner]


def compared(question: str, triples: Sequence[ScoredTriple]) -> list[int]:
    """Return the first triple of each subject that the question names."""
    folded = fold(question)
    first: dict[str, int] = {}
    for number, triple in enumerate(triples):
        if is_named(triple.subject, folded):
            first.setdefault(fold(triple.subject).strip(), number)
    return list(first.values())


def kin_chain(words: str, relations: Sequence[str]) -> Sequence[str]:
    """Return the relations of a chain of two: those that a word of kinship asks for, else as given.

    Args:
        words: the folded question without the names in it.
        relations: what the model takes them for; where a word has several chains, the likest wins.
    """
    chains = next((chains for asked, chains in _KIN if asked.search(words)), ())

    def likeness(chain: Sequence[str]) -> int:
        return sum(one == other for one, other in zip(chain, relations, strict=True))

    return max(chains, key=likeness, default=relations)


def is_named(name: str, question: str) -> bool:
    """Return whether a folded question names something as whole words, its brackets aside."""
    return any(_whole_words(question, form) for form in _forms(name))


def named_titles(titles: Sequence[str], question: str) -> list[bool]:
    """Return which titles a folded question names; a name within a longer one does not count."""
    owners: defaultdict[str, list[int]] = defaultdict(list)
    for number, title in enumerate(titles):
        for form in {*_forms(title)} - {""}:
            owners[form].append(number)
    named = [False] * len(titles)
    for form in sorted(owners, key=len, reverse=True):
        for span in _whole_words(question, form):
            question = question[: span.start] + "|" * len(form) + question[span.end :]
            for number in owners[form]:
                named[number] = True
    return named


def _whole_words(question: str, form: str) -> list[Span]:
    def apart(span: Span) -> bool:
        before, after = question[: span.start][-1:], question[span.end :][:1]
        inside = form[0].isalnum() and before.isalnum(), form[-1].isalnum() and after.isalnum()
        return not any(inside)

    return [span for span in occurrences(question, form) if apart(span)]


def without_names(question: str, names: Sequence[str]) -> str:
    """Take names out of a folded question, so that their words do not count."""
    words = fold(question)
    for name in sorted(names, key=len, reverse=True):
        for form in _forms(name):
            words = words.replace(form, " ") if form else words
    return words


def without_brackets(question: str) -> str:
    """Take brackets out of a question: what stands in them tells things of one name apart."""
    return re.sub(r"\s*\([^()]*\)", "", question)


def _forms(name: str) -> tuple[str, str]:
    return fold(name).strip(), fold(bare_title(name)).strip()


def same_thing(one: str, other: str) -> bool:
    """Return whether two names are one, brackets at their ends aside."""
    return fold(bare_title(one.strip())) == fold(bare_title(other.strip()))


def misfit(relation: str, words: str, title: str) -> float:
    """Return what it costs to take words of a page as an object, in logits; 0 where they suit.

    They are a date, a country or a name, by the relation. A life's dates are whole, with a month;
    a name is no part of the page's own title.
    """
    date = find_date(words) if len(words.split()) <= _DATE_WORDS else None
    if relation in DATED:
        return _UNFIT if date is None else _UNLIKE * (relation in _OF_LIFE and not date[1])
    if relation in PLACED:
        return 0.0 if is_country(words) else _UNFIT
    if relation != "cause of death" and (words[:1].islower() or (date and date[1])):
        return _UNFIT
    return _UNLIKE * (fold(words) in fold(bare_title(title)))


def values_of(triples: Sequence[ScoredTriple], root: int, relations: Sequence[str]) -> list[str]:
    """Return the values of a subject under relations: its own, or those of what it points to."""
    subject = triples[root].subject
    own = [triple for triple in triples if same_thing(triple.subject, subject)]
    found = [triple.object for triple in own if triple.relation in relations]
    if found:
        return found
    return [
        triple.object
        for hop in own
        for triple in triples
        if triple.relation in relations and same_thing(triple.subject, hop.object)
    ]


def same_country(values: Sequence[Sequence[str]]) -> tuple[str, None] | None:
    """Return whether two things have a country in common."""
    first, second = ({country_of(value) for value in found} for found in values)
    if not first or not second:
        return None
    return ("yes" if first & second else "no"), None


def life(triples: Sequence[ScoredTriple], root: int) -> float | None:
    """Return how long a subject lived, in years."""
    ends = []
    for relation in _OF_LIFE:
        values = values_of(triples, root, (relation,))
        date = find_date(values[0]) if values else None
        if date is None:
            return None
        ends.append(date[0] + max(date[1] - 1, 0) / 12 + max(date[2] - 1, 0) / 366)
    return ends[1] - ends[0]


def compare_dates(first: _Date | None, second: _Date | None) -> int:
    """Return -1 if the first is earlier, 1 if it is later, 0 if that is undecided."""
    if first is None or second is None:
        return 0
    for one, other in zip(first, second, strict=True):
        if one != other:
            return 0 if 0 in (one, other) else (1 if one > other else -1)
        if not one:
            return 0
    return 0


def find_date(text: str) -> _Date | None:
    """Find year, month and day in a text; 0 for a month or day that is not given."""
    plain = _ORDINAL.sub("", fold(text))
    found = next(filter(None, (form.search(plain) for form in _FORMS)), None)
    if found is None or "century" in plain:
        return None
    parts = found.groupdict()
    name = parts.get("month") or "0"
    month = int(name) if name.isdigit() else _MONTHS.index(name[:3]) + 1
    year = int(parts["year"])
    return (-year if _BEFORE_CHRIST.search(plain) else year), month, int(parts.get("day") or 0)


def _dates_compared(words: str) -> tuple[str, ...]:
    if _DEATH.search(words):
        return ("date of death",)
    if re.search(r"\b(born|birth|older|younger|oldest|youngest)\b", words):
        return ("date of birth",)
    return DATED[2:]


# one country per piece: its names and demonyms, separated by commas
_COUNTRIES = """
afghanistan, afghan; albania, albanian; algeria, algerian; andorra, andorran; angola, angolan;
antigua and barbuda, antiguan; argentina, argentine, argentinian, argentinean; armenia, armenian;
australia, australian; austria, austrian; azerbaijan, azerbaijani; bahamas, the bahamas, bahamian;
bahrain, bahraini; bangladesh, bangladeshi; barbados, barbadian; belarus, belarusian,
byelorussian; belgium, belgian; belize, belizean; benin, beninese; bhutan, bhutanese;
bolivia, bolivian; bosnia and herzegovina, bosnia, bosnian, bosnian-herzegovinian;
botswana, motswana, botswanan; brazil, brazilian; brunei, bruneian; bulgaria, bulgarian;
burkina faso, burkinabe, burkinabé; burundi, burundian; cambodia, cambodian;
cameroon, cameroonian; canada, canadian; cape verde, cabo verde, cape verdean;
central african republic, central african; chad, chadian; chile, chilean;
china, people's republic of china, chinese; colombia, colombian; comoros, comorian;
republic of the congo, congo, congolese; democratic republic of the congo, dr congo, zaire;
costa rica, costa rican; croatia, croatian; cuba, cuban; cyprus, cypriot;
czech republic, czechia, czech; czechoslovakia, czechoslovak, czechoslovakian;
denmark, danish, kingdom of denmark; djibouti, djiboutian; dominica, dominiquais;
dominican republic, dominican; east timor, timor-leste, timorese, east timorese;
ecuador, ecuadorian, ecuadorean; egypt, egyptian; el salvador, salvadoran, salvadorian;
equatorial guinea, equatoguinean; eritrea, eritrean; estonia, estonian; eswatini, swaziland, swazi;
ethiopia, ethiopian; fiji, fijian; finland, finnish; france, french; gabon, gabonese;
gambia, the gambia, gambian; georgia, georgian; germany, german, west germany, west german;
east germany, german democratic republic, east german; ghana, ghanaian; greece, greek;
grenada, grenadian; guatemala, guatemalan; guinea, guinean; guinea-bissau, bissau-guinean;
guyana, guyanese; haiti, haitian; honduras, honduran; hong kong, hongkonger; hungary, hungarian;
iceland, icelandic; india, indian, british india; indonesia, indonesian; iran, iranian, persian;
iraq, iraqi; ireland, republic of ireland, irish; israel, israeli; italy, italian,
kingdom of italy; ivory coast, côte d'ivoire, ivorian; jamaica, jamaican; japan, japanese;
jordan, jordanian; kazakhstan, kazakhstani, kazakh; kenya, kenyan; kiribati, i-kiribati;
north korea, north korean; south korea, south korean, korea, korean; kosovo, kosovar, kosovan;
kuwait, kuwaiti; kyrgyzstan, kyrgyz, kyrgyzstani; laos, lao, laotian; latvia, latvian;
lebanon, lebanese; lesotho, basotho; liberia, liberian; libya, libyan;
liechtenstein, liechtensteiner; lithuania, lithuanian; luxembourg, luxembourgish, luxembourger;
madagascar, malagasy; malawi, malawian; malaysia, malaysian; maldives, maldivian;
mali, malian; malta, maltese; marshall islands, marshallese; mauritania, mauritanian;
mauritius, mauritian; mexico, mexican; micronesia, micronesian; moldova, moldovan;
monaco, monegasque, monégasque; mongolia, mongolian; montenegro, montenegrin;
morocco, moroccan; mozambique, mozambican; myanmar, burma, burmese; namibia, namibian;
nauru, nauruan; nepal, nepali, nepalese; netherlands, the netherlands, dutch, holland,
kingdom of the netherlands; new zealand, new zealander; nicaragua, nicaraguan; niger, nigerien;
nigeria, nigerian; north macedonia, republic of macedonia, macedonia, macedonian;
norway, norwegian; oman, omani; pakistan, pakistani; palau, palauan;
palestine, palestinian; panama, panamanian; papua new guinea, papua new guinean;
paraguay, paraguayan; peru, peruvian; philippines, the philippines, filipino, philippine;
poland, polish; portugal, portuguese; puerto rico, puerto rican; qatar, qatari;
romania, romanian; russia, russian, russian federation, russian empire;
soviet union, ussr, soviet; rwanda, rwandan; saint kitts and nevis, kittitian;
saint lucia, saint lucian; saint vincent and the grenadines, vincentian; samoa, samoan;
san marino, sammarinese; saudi arabia, saudi, saudi arabian; senegal, senegalese;
serbia, serbian; yugoslavia, yugoslav, yugoslavian; seychelles, seychellois;
sierra leone, sierra leonean; singapore, singaporean; slovakia, slovak, slovakian;
slovenia, slovene, slovenian; solomon islands, solomon islander; somalia, somali;
south africa, south african; south sudan, south sudanese; spain, spanish; sri lanka, sri lankan,
ceylon; sudan, sudanese; suriname, surinamese; sweden, swedish; switzerland, swiss;
syria, syrian; taiwan, taiwanese, republic of china; tajikistan, tajik, tajikistani;
tanzania, tanzanian; thailand, thai; togo, togolese; tonga, tongan;
trinidad and tobago, trinidadian; tunisia, tunisian; turkey, türkiye, turkish, ottoman,
ottoman empire; turkmenistan, turkmen; tuvalu, tuvaluan; uganda, ugandan; ukraine, ukrainian;
united arab emirates, emirati, uae; united kingdom, uk, u.k., british, great britain, britain,
england, english, scotland, scottish, wales, welsh, northern ireland, northern irish;
united states, united states of america, us, u.s., usa, u.s.a., america, american;
uruguay, uruguayan; uzbekistan, uzbek, uzbekistani; vanuatu, vanuatuan, ni-vanuatu;
vatican city, vatican; venezuela, venezuelan; vietnam, vietnamese; yemen, yemeni;
zambia, zambian; zimbabwe, zimbabwean
"""


@cache
def _country_table() -> dict[str, str]:
    table: dict[str, str] = {}
    for country in " ".join(_COUNTRIES.split()).split(";"):
        names = [name.strip() for name in country.split(",")]
        table |= dict.fromkeys(names, names[0])
    return table


def is_country(text: str) -> bool:
    """Return whether a text is a name of a country that is known here, or its adjective."""
    return country_of(text) in _country_table().values()


def country_of(text: str) -> str:
    """Return one name for all names of a country; any other text as it is, folded."""
    plain = " ".join(fold(text).strip(" .,()").removeprefix("the ").split())
    table = _country_table()
    return table.get(plain, table.get(f"{plain}.", plain))
