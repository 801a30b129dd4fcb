from __future__ import annotations

import bz2
import datetime
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twowiki.data.dates import MONTH_NAMES
from twowiki.generation.dates import (
    DAY,
    MONTH,
    WikidataDate,
    date_of_key,
    interval,
    parse_wikidata_time,
    written_forms,
)
from twowiki.generation.text import (
    find_words,
    normalize,
    page_key,
    paper_case,
    spelling,
    unescape,
)
from twowiki.generation.wikipedia import parse_xml_pages, summary_of_article
from twowiki.generation.wikitext import MARK, render_summary
from twowiki.models.text import bare_title, split_sentences

DAYS = st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31))


# ---- words


def test_whole_words_match_and_parts_of_words_do_not():
    text = normalize("She lived in Orun, near Oru-on-Sea.")
    assert normalize("Oru") in text
    assert normalize("oru on sea") in text
    assert normalize("Ru") not in text
    assert normalize("Oru") not in normalize("Orun and Koru")


def test_short_capital_words_keep_their_case():
    assert normalize("US") in normalize("born in the US in 1941")
    assert normalize("US") not in normalize("they left us alone")
    assert normalize("UK") in normalize("(UK)")


@given(st.text())
def test_normal_form_is_stable_and_its_words_are_found(text: str):
    norm = normalize(text)
    assert norm == "" or (norm[0] == norm[-1] == " " and "  " not in norm)
    again = normalize(norm)
    assert again == norm
    span = find_words(text, norm)
    assert (span is None) == (norm == "")
    if span:
        assert normalize(text[span[0] : span[1]]) == norm


def test_spelling_takes_what_the_text_writes():
    assert spelling("born in São- Paulo.", normalize("São Paulo")) == "São- Paulo"
    assert spelling("He won (A.B.C. Prize).", normalize("A.B.C. Prize"), ("A.B.C. Prize",)) == (
        "A.B.C. Prize"
    )
    assert spelling("Orunia", normalize("Oru")) is None


def test_titles_are_one_however_written():
    one = page_key("Salt & Ash (film)")
    for other in (
        "Salt &amp; Ash_(film)",
        "salt & Ash (film)",
        "Salt_%26_Ash_(film)",
        "Salt  & Ash (film)",
    ):
        assert page_key(other) == one
    assert page_key("Cafe\u0301") == page_key("Café")
    assert page_key("100% Oru") == "100% Oru"
    assert page_key("") == ""


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("Oru (lake)", "Oru"),
        ("Oru (Sel (town))", "Oru"),
        ("Oru (a) (b)", "Oru (a)"),
        ("Oru  (lake)", "Oru"),
        ("(Oru)", "(Oru)"),
        ("F(x)", "F(x)"),
        ("Oru (lake) film", "Oru (lake) film"),
        ("Oru)", "Oru)"),
        ("", ""),
    ],
)
def test_a_bare_title_has_no_bracket_at_its_end(title: str, bare: str):
    assert bare_title(title) == bare


def test_paper_case_is_the_released_one():
    assert paper_case("It's a Joke (1956 film)") == "It'S A Joke (1956 Film)"
    assert paper_case("Francis II of France") == "Francis Ii Of France"


# ---- dates


def render_date(date: WikidataDate) -> str:
    """Write a date in one style: "5 March 1907", "March 1907", "1907", "44 BC"."""
    year = str(date.year) if date.year > 0 else f"{-date.year} BC"
    parts = [str(date.day)] if date.precision == DAY else []
    parts += [MONTH_NAMES[date.month - 1]] if date.precision >= MONTH else []
    return " ".join([*parts, year])


@pytest.mark.parametrize(
    ("time", "precision", "shown"),
    [
        ("+1907-00-00T00:00:00Z", 9, "1907"),
        ("+1907-03-00T00:00:00Z", 10, "March 1907"),
        ("+1907-03-05T00:00:00Z", 11, "5 March 1907"),
        ("-0044-03-15T00:00:00Z", 11, "15 March 44 BC"),
        ("+20080-01-01T00:00:00Z", 9, "20080"),
        ("+1907-00-00T00:00:00Z", 11, "1907"),
    ],
)
def test_dates_render_at_their_precision(time: str, precision: int, shown: str):
    date = parse_wikidata_time(time, precision)
    assert date is not None
    assert render_date(date) == shown


@pytest.mark.parametrize(
    ("time", "precision"),
    [
        ("+1900-00-00T00:00:00Z", 7),
        ("-13798000000-00-00T00:00:00Z", 3),
        ("+123456-01-01T00:00:00Z", 9),
        ("+1907-02-30T00:00:00Z", 11),
        ("+1907-13-01T00:00:00Z", 11),
        ("nonsense", 11),
        ("+0000-00-00T00:00:00Z", 9),
    ],
)
def test_dates_that_no_question_can_use_are_none(time: str, precision: int):
    assert parse_wikidata_time(time, precision) is None


def test_years_before_ours_come_first():
    early, late = (
        parse_wikidata_time("-0499-01-01T00:00:00Z", 9),
        parse_wikidata_time("+0012-01-01T00:00:00Z", 9),
    )
    assert early is not None
    assert late is not None
    assert interval(early)[1] < interval(late)[0]
    assert interval(WikidataDate(-1, 0, 0, 9))[1] + 1 == interval(WikidataDate(1, 0, 0, 9))[0]


@given(DAYS, DAYS)
def test_days_order_as_the_calendar_does(one: datetime.date, two: datetime.date):
    low, high = interval(WikidataDate(one.year, one.month, one.day, 11))
    assert low == high
    other = interval(WikidataDate(two.year, two.month, two.day, 11))[0]
    assert other - low == (two - one).days


@given(DAYS)
def test_a_day_lies_in_its_month_and_its_year(day: datetime.date):
    date = WikidataDate(day.year, day.month, day.day, 11)
    exact = interval(date)[0]
    for precision in (10, 9):
        low, high = interval(date.at(precision))
        assert low <= exact <= high
    assert date_of_key(date.key) == date


def test_julian_dates_order_by_the_day_they_were():
    julian = parse_wikidata_time(
        "+1752-09-02T00:00:00Z", 11, "http://www.wikidata.org/entity/Q1985786"
    )
    assert julian is not None
    assert interval(julian)[0] + 1 == interval(WikidataDate(1752, 9, 14, 11))[0]
    assert render_date(julian) == "2 September 1752"


@pytest.mark.parametrize(
    "text",
    ["5 March 1907", "March 5, 1907", "5th March, 1907", "the 5th of March 1907", "1907-03-05",
     "5 Mar. 1907", "March 5th, 1907", "( 5 March 1907"],
)  # fmt: skip
def test_every_written_form_is_found(text: str):
    forms = written_forms(WikidataDate(1907, 3, 5, 11))
    assert any(form.norm in normalize(text) and form.says.precision == 11 for form in forms)


def test_other_days_are_not_found():
    forms = [
        form for form in written_forms(WikidataDate(1907, 3, 5, 11)) if form.says.precision > 9
    ]
    for text in ("15 March 1907", "5 March 1917", "March 1907", "25 March 1907"):
        assert not any(form.norm in normalize(text) for form in forms)


def test_a_short_number_is_no_year():
    assert all(form.norm.strip() != "12" for form in written_forms(WikidataDate(12, 0, 0, 9)))


# ---- sentences


def test_abbreviations_end_no_sentence():
    text = "Lester B. Moll Sr. was a Veltrian painter, e.g. of St. Oru. He died in 1944."
    found = split_sentences(text)
    assert found == [text[:59], " He died in 1944."]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("Oru", 1),
        ("He met Dr. Tal. She left.", 2),
        ("It cost 3.5 million. Oru paid.", 2),
        ("Bob Tal Jr. He won.", 2),
        ("Bob Tal Jr. Moll won.", 1),
        ("What? Yes! Fine.", 3),
        ('He said "No." Then he left.', 2),
        ("Founded c. 1900. It grew.", 2),
        ("The U.S. Navy came. All left.", 2),
        ("One paragraph\nAnother one.", 2),
        ("J. R. R. Oru wrote it.", 1),
    ],
)
def test_sentences_are_counted(text: str, count: int):
    assert len(split_sentences(text)) == count


def test_names_with_stops_hold_together():
    text = "Oru! Is Here is a film. It was made."
    assert split_sentences(text, ["Oru! Is Here"]) == ["Oru! Is Here is a film.", " It was made."]


@given(st.text(alphabet=st.sampled_from("aB .!?\n\"'()éÉ1")) | st.text())
def test_sentences_joined_give_the_text(text: str):
    assert "".join(split_sentences(text, ["B. a"])) == text


# ---- wikitext


def test_value_templates_are_rendered():
    text = render_summary(
        "'''Tavik Orrel''' (born {{birth date|1907|3|5}}) ran {{convert|12|mi|km}} "
        "with {{formatnum:1200}} others."
    ).text
    for part in ("1907", "March", "5", "12", "1200"):
        assert part in text
    assert "(born )" not in text
    assert "ran  with" not in text


def test_unknown_templates_leave_a_mark_and_boxes_go():
    page = render_summary(
        "{{Infobox person|name=A|born={{birth date|1907|3|5}}}}\nA is {{odd|x}} B."
    )
    assert not page.faithful
    assert page.text == f"A is {MARK} B."
    assert page.faults == ("an unrendered template",)
    assert render_summary("{{Odd box|x=1}}\nA is B.<ref name=a/>{{citation needed}}").faithful


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("Oru {{citation needed span|text=has 1907 people}} here.", "Oru has 1907 people here."),
        ("Oru {{cn-span|has a lake}}{{fact|May 2010}}.", "Oru has a lake."),
        ("The {{visible anchor|Salt Choir}} is a band.", "The Salt Choir is a band."),
        ("They {{sic|recieved}} it.", "They recieved [sic] it."),
        ("{{audio|x.ogg|Tavik Orrel}} ran.", "Tavik Orrel ran."),
        ("It cost {{USDollar|100}}.", "It cost US$100."),
        ("{{As of|2020}}, {{as of|2021|3|lc=y}}.", "As of 2020, as of March 2021."),
        ("A road of {{val|5.5|u=km}}.", "A road of 5.5 km."),
        ("{{convert|5|ft|10|in}}, {{convert|3|to|5|km2|sqmi}}", "5 ft 10 in, 3 to 5 km²"),
        ("{{langx|el|Ωρυ|Oru|Lake}}", "Ωρυ"),
        ("{{ship|USS|Oru|DD-1}} sank.", "USS Oru (DD-1) sank."),
        ("Tavik<nowiki>'</nowiki>s <nowiki>[[a]]</nowiki>", "Tavik's [[a]]"),
        ("x {{'}}''Oru''", "x 'Oru"),
        ("with <math>x + 2</math>, <chem>H2O</chem>", "with x + 2, H2O"),
        ("10<sup>6</sup>, 19<sup>th</sup>", "10⁶, 19th"),
        ("[[Image:A.png|left|[[Oru|O]] in 1907, [https://x.y source]]]\nIt is.", "It is."),
        ("Oru.\n[[fr:Oru]]\n[[Category:A]]", "Oru."),
        ("See [[s:Ash]] and [[Portal:Ash|ash]].", "See Ash and ash."),
        ("* a\n** b\n# c", "a\nb\nc"),
        ("{{odd}} {{odder|1}}\n!Kung are", "!Kung are"),
    ],
)
def test_what_is_shown_is_kept(wikitext: str, text: str):
    page = render_summary(wikitext)
    assert (page.text, page.faults) == (text, ())


@pytest.mark.parametrize(
    ("wikitext", "fault"),
    [
        ("{{Under Secretary|x}} y", "an unrendered template"),
        ("a {{History of Veltria|1907}} b", "an unrendered template"),
        ("a {{vague|text}} b", "an unrendered template"),
        ("a {{Who's Who}} b", "an unrendered template"),
        ("{{Motto|Oru is a town by the sea.}}", "an unrendered template"),
        ("{{convert|5|oddunit}}", "an unrendered template"),
        ("{{val|5|e=3}}", "an unrendered template"),
        ("is <math>x^2</math>.", "an unrendered formula"),
        ("a <hiero>A1</hiero>", "an unrendered formula"),
        ("runner <!-- open", "unclosed markup"),
        ("a <ref>b. c", "unclosed markup"),
        ("a [[b", "unclosed markup"),
        ("| a\nb", "unclosed markup"),
        ("<odd>a</odd>", "an unknown tag"),
    ],
)
def test_what_cannot_be_rendered_marks_the_page(wikitext: str, fault: str):
    page = render_summary(wikitext)
    assert page.faults == (fault,)
    assert MARK in page.text
    assert not page.faithful


# The templates on most pages of a real export.
COMMON = (
    "reflist;cite web|a;cite book|a;use dmy dates;main|a;cite journal|a;authority control;"
    "see also|a;cite news|a;citation needed|date=May 2010;ipac-en|ɔː;convert|1|m;use mdy dates;"
    "commons category|a;refbegin;refend;pp-move-indef;wiktionary|a;clear;dmoz|a"
).split(";")


@pytest.mark.parametrize("template", COMMON)
def test_the_commonest_templates_are_known(template: str):
    page = render_summary(f"Oru {{{{{template}}}}} is a lake.")
    assert page.faithful
    assert page.text in ("Oru is a lake.", "Oru 1 m is a lake.")


def test_real_articles_render_with_no_markup_left(shared: Path):
    """Of 115 articles, all but some with a formula or a counted age are faithful."""
    pages = faithful = 0
    for path in sorted((shared / "data" / "wikipedia").glob("*xml*")):
        xml = bz2.decompress(path.read_bytes()) if path.suffix == ".bz2" else path.read_bytes()
        for element in re.findall(r"<text\b[^>]*>(.*?)</text>", xml.decode(), re.S):
            page = render_summary(unescape(element))
            assert not re.search(r"\[\[|\]\]|\{\{|\}\}|<!--|<ref", page.text)
            pages += not element.lower().startswith("#redirect")
            faithful += page.faithful and not element.lower().startswith("#redirect")
    assert (pages, faithful) == (115, 111)


def test_links_keep_their_places():
    page = render_summary("'''A''' was born in [[Oru (city)|Oru]] and [[Tal]]s.")
    assert page.text == "A was born in Oru and Tals."
    assert [(page.text[start:end], target) for start, end, target in page.links] == [
        ("Oru", "Oru (city)"),
        ("Tals", "Tal"),
    ]


@given(st.text(alphabet=st.sampled_from("a{}[]|='<>&!-\n *:#ref/")))
def test_any_wikitext_renders(text: str):
    page = render_summary(text)
    assert all(0 <= start <= end <= len(page.text) for start, end, _ in page.links)
    assert not re.search("[\x01\x02\x03]", page.text)


def test_the_summary_of_an_article_ends_at_its_first_heading():
    text = "Oru is a lake.\nIt is deep.\n\nIt froze in 1907.\n\nHistory \n\nIt was found early."
    assert summary_of_article(text) == "Oru is a lake.\nIt is deep.\nIt froze in 1907."


def test_pages_of_xml_are_read_with_their_redirects():
    xml = """<page><title>Oru &amp; Tal</title><ns>0</ns><id>7</id><revision><id>9</id>
    <text xml:space="preserve">'''Oru''' was cut on {{start date|1907|3|5}}. It's [[Tal (town)|Tal]]
== Plot == x</text></revision></page>
    <page><title>Talk:Oru</title><ns>1</ns><id>8</id><text>x</text></page>
    <page><title>Old Oru</title><ns>0</ns><id>10</id><redirect title="Oru &amp; Tal" />
    <text>#REDIRECT [[Oru &amp;amp; Tal]]</text></page>
    <page><title>Oru past</title><ns>0</ns><id>11</id><text>#REDIRECT [[Oru#History]]</text></page>
    <page><title>Broken</title>"""
    tables, counts = parse_xml_pages(xml.encode())
    assert [row[:2] for row in tables["pages"]] == [(7, "Oru & Tal")]
    assert tables["redirects"] == [("Old Oru", "Oru & Tal")]
    assert counts["redirect to a section"] == 1
    assert counts["page outside the article namespace"] == 1
    assert counts["page without a title or an id"] == 1
    assert MONTH_NAMES[2] in tables["sentences"][0][2]
    assert tables["mentions"][0][-1] == "Tal (town)"
