from twowiki.data.aliases import read_aliases as read_aliases
from twowiki.data.schema import gold_paragraphs as gold_paragraphs
from twowiki.data.schema import has_gold as has_gold
from twowiki.data.schema import parse_record as parse_record
from twowiki.data.schema import to_official as to_official
from twowiki.data.schema import to_row as to_row
from twowiki.data.statistics import compute_statistics as compute_statistics
