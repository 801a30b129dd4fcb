"""What a world is made of: kinds of entities with Wikidata's classes, properties by short names.

The classes and properties are Wikidata's own; everything else of a world has an id of its own,
above every id that Wikidata has given (about 140 million by 2026).
"""

from __future__ import annotations

FIRST_QID = 500_000_000
FIRST_PAGE = 90_000_000

CLASSES = {
    "human": (5, "human"),
    "film": (11424, "film"),
    "animated film": (29168811, "animated feature film"),
    "song": (7366, "song"),
    "album": (482994, "album"),
    "band": (215380, "musical group"),
    "television program": (15416, "television program"),
    "literary work": (7725634, "literary work"),
    "written work": (47461344, "written work"),
    "magazine": (41298, "magazine"),
    "newspaper": (11032, "newspaper"),
    "university": (3918, "university"),
    "high school": (9826, "high school"),
    "school": (3914, "school"),
    "studio": (1762059, "film production company"),
    "business": (4830453, "business"),
    "candy": (185583, "candy"),
    "museum": (33506, "museum"),
    "airport": (1248784, "airport"),
    "station": (55488, "railway station"),
    "church": (16970, "church building"),
    "building": (41176, "building"),
    "prison": (40357, "prison"),
    "cemetery": (39614, "cemetery"),
    "mountain": (8502, "mountain"),
    "river": (4022, "river"),
    "island": (23442, "island"),
    "lake": (23397, "lake"),
    "village": (532, "village"),
    "city": (515, "city"),
    "country": (6256, "country"),
    "award": (618779, "award"),
    "occupation": (28640, "profession"),
    "cause of death": (1931388, "cause of death"),
    "field of work": (11862829, "academic discipline"),
    "religion": (9174, "religion"),
}

P = {
    "instance": 31, "sex": 21, "demonym": 1549,
    "director": 57, "producer": 162, "composer": 86, "performer": 175, "creator": 170,
    "editor": 98, "presenter": 371, "publisher": 123, "manufacturer": 176, "part": 527,
    "founder": 112, "father": 22, "mother": 25, "spouse": 26, "child": 40, "sibling": 3373,
    "born": 569, "died": 570, "birthplace": 19, "deathplace": 20, "burial": 119,
    "detention": 2632, "cause": 509, "citizenship": 27, "country": 17, "origin": 495,
    "occupation": 106, "education": 69, "teacher": 1066, "employer": 108, "award": 166,
    "advisor": 184, "student": 185, "field": 101, "religion": 140, "released": 577,
    "founded": 571, "cast": 161, "author": 50,
}  # fmt: skip
MALE_ITEM, FEMALE_ITEM = 6581097, 6581072

OCCUPATIONS = {
    "director": "film director", "producer": "film producer", "actor": "actor",
    "screenwriter": "screenwriter", "composer": "composer", "singer": "singer",
    "songwriter": "songwriter", "musician": "musician", "novelist": "novelist", "poet": "poet",
    "journalist": "journalist", "presenter": "television presenter",
    "physicist": "physicist", "chemist": "chemist", "historian": "historian",
    "botanist": "botanist", "mathematician": "mathematician", "linguist": "linguist",
    "astronomer": "astronomer", "geologist": "geologist", "economist": "economist",
    "entrepreneur": "entrepreneur", "politician": "politician", "officer": "military officer",
    "painter": "painter", "sculptor": "sculptor", "architect": "architect",
    "nobleman": "aristocrat", "priest": "priest", "pianist": "pianist", "lawyer": "lawyer",
    "physician": "physician", "footballer": "footballer", "cyclist": "cyclist",
    "explorer": "explorer", "philanthropist": "philanthropist",
}  # fmt: skip
FIELDS = {
    "physicist": ("optics", "thermodynamics", "acoustics", "fluid dynamics"),
    "chemist": ("electrochemistry", "polymer chemistry", "photochemistry", "metallurgy"),
    "historian": ("economic history", "maritime history", "church history", "legal history"),
    "botanist": ("mycology", "plant anatomy", "bryology", "forestry"),
    "mathematician": ("number theory", "graph theory", "topology", "combinatorics"),
    "linguist": ("phonology", "lexicography", "dialectology", "etymology"),
    "astronomer": ("celestial mechanics", "spectroscopy", "photometry", "selenography"),
    "geologist": ("mineralogy", "volcanology", "stratigraphy", "glaciology"),
    "economist": ("econometrics", "public finance", "trade theory", "labour economics"),
}
CAUSES = ("pneumonia", "tuberculosis", "heart failure", "typhus", "a stroke", "drowning",
          "influenza", "malaria", "lung cancer", "a traffic collision", "scarlet fever",
          "kidney failure", "sepsis")  # fmt: skip
