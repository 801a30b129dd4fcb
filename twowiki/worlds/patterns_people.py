"""How summaries of people are worded. Data.

A slot in braces is filled by the page's writer; "{a x}" puts "a" or "an" before x. {S} is the
subject at a sentence's start: a pronoun or the surname; {s}, {his}, {him} go inside. A pattern
is used only where all its slots are known.
"""

from __future__ import annotations

OPENING_DEAD = (
    "{full} ({born} – {died}) was {a nat} {occ}.",
    "{full} ({born} – {died}) was {a nat} {occ} and {occ2}.",
    "{full} ({born} – {died}) was {a nat} {occ} of the {century} century.",
    "{full} ({born}, {birthplace} – {died}, {deathplace}) was {a nat} {occ}.",
    "{full} ({born} in {birthplace} – {died} in {deathplace}) was {a nat} {occ}.",
    "{full} ({born} – {died}) was {a nat}-{nat2} {occ}.",
    "{full}, born {born} in {birthplace}, died {died}, was {a nat} {occ}.",
    "{full} (born {born}, died {died}) was {a occ} from {land}.",
    "{full} ({born} – {died}) was {a occ} known for {known}.",
    "{full}, also known as {alias}, ({born} – {died}) was {a nat} {occ}.",
    "{full} (died {died}) was {a nat} {occ}.",
    "{full} ({born} – {died}) was {a nat} {occ} and the {son} of {father}.",
    "{full} ({born} – {died}) was {a nat} {occ}, {son} of {father} and {mother}.",
    "{full} ({born} – {died}) was the {wife} of {spouse}, {a nat} {spouse_occ}.",
    "{full} was {a nat} {occ}.",
    "{full} was {a nat} {occ}, active from {year1} until {year2}.",
    "{full} ({born} – {died}) was a prominent {nat} {occ}.",
    "{full} ({born} – {died}) was {a occ}, one of the best known {nat} names of the time.",
)
OPENING_LIVING = (
    "{full} (born {born}) is {a nat} {occ}.",
    "{full} (born {born}) is {a nat} {occ} and {occ2}.",
    "{full} (born {born} in {birthplace}) is {a nat} {occ}.",
    "{full} (born {born}, {birthplace}) is {a nat} {occ}.",
    "{full}, born on {born_on}, is {a nat} {occ}.",
    "{full} (born {born}) is {a nat}-{nat2} {occ}.",
    "{full} is {a nat} {occ}.",
    "{full} (born {born}) is {a occ} from {land}, known for {known}.",
    "{full}, known as {alias}, (born {born}) is {a nat} {occ}.",
    "{full} (born {born}) is {a nat} {occ} and the {son} of {father}.",
    "{full} (born {born}) is a retired {nat} {occ}.",
)
FACETS: dict[str, tuple[str, ...]] = {
    "parents": (
        "{S} {was} the {son} of {father} and {mother}.",
        "{S} was born to {father} and {mother}.",
        "{His} parents were {father} and {mother}.",
        "{S} {was} the {ordinal} child of {father} and {mother}.",
        "A {son} of {father} and {mother}, {s} grew up in a house with {number} rooms.",
    ),
    "father": (
        "{S} {was} the {son} of {father}.",
        "{His} father was {father}.",
        "{S} {was} the {ordinal} {son} of {father}.",
        "The {son} of {father}, {s} was brought up strictly.",
        "{His} father, {father}, died when {s} was still young.",
        "{S} worked for some years under {his} father {father}.",
    ),
    "mother": (
        "{His} mother was {mother}.",
        "{S} {was} the {son} of {mother}.",
        "{S} learned to read from {his} mother, {mother}.",
        "{His} mother, {mother}, kept a diary for {number} years.",
        "Through {his} mother {mother}, {s} spoke two languages.",
    ),
    "spouse": (
        "{S} married {spouse} in {wed}.",
        "In {wed}, {s} married {spouse}.",
        "{S} {was} the {wife} of {spouse}.",
        "{S} {was} married to {spouse}.",
        "{His} {husband} {was} {spouse}.",
        "{S} and {his} {husband}, {spouse}, lived apart after some years.",
        "{S} met {spouse} at a wedding, and they married soon after.",
    ),
    "child": (
        "{S} {was} the {parent} of {child}.",
        "{His} {daughter} {was} {child}.",
        "{His} {daughter}, {child}, inherited the house.",
        "Among {his} children was {child}.",
        "{S} had a {daughter}, {child}.",
        "{S} dedicated {his} last letters to {his} {daughter} {child}.",
    ),
    "sibling": (
        "{S} {was} the {brother} of {sibling}.",
        "{His} {sister} {was} {sibling}.",
        "{S} shared a workshop with {his} {sister} {sibling}.",
        "{His} {sister}, {sibling}, survived {him}.",
        "Together with {his} {sister} {sibling}, {s} sold the family's land.",
    ),
    "birthplace": (
        "{S} was born in {birthplace}.",
        "{S} was born and raised in {birthplace}.",
        "A native of {birthplace}, {s} was the first of the family to travel.",
        "Born in {birthplace}, {s} moved away at the age of {age}.",
    ),
    "school": (
        "{S} studied at {school}.",
        "{S} graduated from {school}.",
        "{S} was educated at {school}.",
        "After attending {school}, {s} spent {number} months at sea.",
        "{S} went to {school}, where {s} won a prize for drawing.",
    ),
    "employer": (
        "{S} worked at {employer}.",
        "From {year1}, {s} worked for {employer}.",
        "{S} spent most of {his} career at {employer}.",
        "{S} was on the staff of {employer} for {number} years.",
        "In {year1}, {s} took up a post at {employer}.",
    ),
    "award": (
        "{S} received the {award}.",
        "{S} was awarded the {award}.",
        "In {year2}, {s} won the {award}.",
        "{S} was honoured with the {award} late in life.",
        "For {his} work {s} was given the {award}.",
    ),
    "advisor": (
        "{S} completed {his} doctorate under {advisor}.",
        "{His} doctoral advisor was {advisor}.",
        "{S} wrote a thesis supervised by {advisor}.",
        "As a doctoral student of {advisor}, {s} published {number} papers.",
    ),
    "student": (
        "{S} supervised the doctorate of {student}.",
        "{His} doctoral students included {student}.",
        "{His} best known doctoral student was {student}.",
        "{S} {was} the doctoral advisor of {student}.",
    ),
    "teacher": (
        "{S} was a pupil of {teacher}.",
        "{S} studied under {teacher}.",
        "{S} took lessons from {teacher} for {number} years.",
        "{His} teacher was {teacher}.",
    ),
    "field": (
        "{S} worked in {field}.",
        "{His} field was {field}.",
        "{S} is remembered for contributions to {field}.",
        "{S} published mainly on {field}.",
    ),
    "religion": (
        "{S} belonged to the {religion}.",
        "{S} was a member of the {religion}.",
        "{S} joined the {religion} in {year1}.",
    ),
    "detention": (
        "{S} was held at {detention} in {year1}.",
        "In {year1}, {s} was imprisoned in {detention}.",
        "{S} wrote {his} memoirs while detained at {detention}.",
    ),
    "death": (
        "{S} died in {deathplace}.",
        "{S} died on {died_on} in {deathplace}.",
        "{S} died at {his} home in {deathplace}.",
        "{S} moved to {deathplace}, where {s} died.",
        "{S} died of {cause} in {deathplace}.",
        "{S} spent {his} last years in {deathplace} and died there.",
    ),
    "cause": (
        "{S} died of {cause}.",
        "{His} death was caused by {cause}.",
        "{S} died from {cause} after a short illness.",
    ),
    "burial": (
        "{S} is buried at {burial}.",
        "{S} was buried in {burial}.",
        "{His} grave is at {burial}.",
    ),
}
TRIVIA = (
    "{S} collected {things} and left {number} of them to the state.",
    "{S} spoke {few} languages.",
    "In {year1}, {s} travelled through {other_land} for {number} weeks.",
    "{S} corresponded with {friend} for many years.",
    "{S} lived in {other_town} from {year1} to {year2}.",
    "{His} house in {other_town} is open to visitors.",
    "{S} wrote {number} letters, of which {few} survive.",
    "{S} took part in the debates of {year1}.",
    "{S} was a close friend of {friend}.",
    "{S} retired in {year2}.",
    "A street in {other_town} bears {his} name.",
    "{S} was known for a fondness of {things}.",
    "Little is known of {his} childhood.",
    "{S} appears as a character in a play of {year2}.",
    "{S} also {side} for a time.",
    "{His} papers are kept in {other_town}.",
    "Critics have compared {him} with {friend}.",
)
CAREER = (
    "{S} is best known for {work}.",
    "{His} works include {work} ({work_year}).",
    "In {work_year}, {s} worked on {work}.",
    "{His} first success was {work}.",
)
# Sentences that name the object of a statement without saying it, for the noise of that name.
LOOSE = (
    "{S} is often mentioned together with {x}.",
    "A long essay of {his} deals with {x}.",
    "{S} said in an interview that {x} had shaped {him}.",
    "A portrait shows {him} with a book about {x}.",
)
KNOWN = ("a slow and careful style", "long public letters", "work in three countries",
         "a quarrel with the press", "an unusual memory", "modest habits", "work for the poor",
         "a love of the sea")  # fmt: skip
THINGS = ("clocks", "maps", "shells", "stamps", "old coins", "butterflies", "tea", "music boxes",
          "chess sets", "masks")  # fmt: skip
SIDES = ("taught drawing", "kept bees", "ran a small inn", "played chess for money", "bred horses",
         "translated plays", "wrote for newspapers")  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth", "fifth", "youngest")
