from twowiki.retrieval.corpus import build_corpus as build_corpus
from twowiki.retrieval.corpus import build_qrels as build_qrels
from twowiki.retrieval.index import SentenceIndex as SentenceIndex
from twowiki.retrieval.rankings import all_gold_at_k as all_gold_at_k
from twowiki.retrieval.rankings import score_rankings as score_rankings
from twowiki.retrieval.rankings import title_recall_at_k as title_recall_at_k
