"""Dates, countries and names as the objects of triples: what they are, and how they compare."""

from __future__ import annotations

import re
from functools import cache

from .text import bare_title, fold

_UNFIT, _UNLIKE = 10.0, 5.0  # what an object costs that can be none, or hardly, in logits
_DATE_WORDS = 4
OF_LIFE = ("date of birth", "date of death")
DATED = (*OF_LIFE, "publication date", "inception")
PLACED = ("country of citizenship", "country of origin", "country")
_KIN = ("father", "mother", "spouse", "sibling", "child")
# What follows a comma in somebody's name, or a word that is in none: there the sentence goes on.
_GOES_ON = re.compile(
    r",(?! (?:\d+(?:st|nd|rd|th) )?(?:Grand |Hereditary |Holy Roman |Dowager |Crown )?"
    r"(?:Prince|Duke|Duch|Count|Earl|Baron|Viscount|Mar(?:qu|ch|gr)|Landgr|Elect|Arch|King|Queen"
    r"|Emp|Lord|Lady|[JS]r\b))|,.*,| [a-z]{4,}\b"
)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
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
_BEFORE_CHRIST = re.compile(r"\bb\.?\s?c\b")

_Date = tuple[int, int, int]


def misfit(relation: str, words: str, title: str) -> float:
    """Return what it costs to take words of a page as an object, in logits; 0 where they suit.

    They are a date, a country or a name, by the relation. A life's dates are whole, with a month;
    a name is no part of the page's own title, and that of kin ends before "daughter of" or a comma
    that no rank follows.
    """
    date = find_date(words) if len(words.split()) <= _DATE_WORDS else None
    if relation in DATED:
        return _UNFIT if date is None else _UNLIKE * (relation in OF_LIFE and not date[1])
    if relation in PLACED:
        return 0.0 if is_country(words) else _UNFIT
    if relation != "cause of death" and (words[:1].islower() or (date and date[1])):
        return _UNFIT
    goes_on = relation in _KIN and _GOES_ON.search(words) is not None
    return _UNLIKE * (goes_on or fold(words) in fold(bare_title(title)))


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
