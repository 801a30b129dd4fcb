"""Which country a text names: "American", "United States" and "U.S." are one."""

from __future__ import annotations

from functools import cache

from .spans import fold

# a country a piece: its names and demonyms, parted by commas
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
def _table() -> dict[str, str]:
    found: dict[str, str] = {}
    for country in " ".join(_COUNTRIES.split()).split(";"):
        names = [name.strip() for name in country.split(",")]
        found |= dict.fromkeys(names, names[0])
    return found


def country_of(text: str) -> str:
    """Give one name for all names of a country; a text that is none stands for itself."""
    plain = " ".join(fold(text).strip(" .,()").removeprefix("the ").split())
    return _table().get(plain, _table().get(f"{plain}.", plain))
