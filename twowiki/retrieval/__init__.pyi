from twowiki.retrieval.corpus import all_gold_at_k as all_gold_at_k
from twowiki.retrieval.corpus import build_corpus as build_corpus
from twowiki.retrieval.corpus import build_qrels as build_qrels
from twowiki.retrieval.corpus import score_rankings as score_rankings
from twowiki.retrieval.corpus import title_recall_at_k as title_recall_at_k
from twowiki.retrieval.index import SentenceIndex as SentenceIndex
