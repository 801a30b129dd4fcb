"""Importing this makes transformers' Auto classes know the baseline, without any remote code."""

from transformers import AutoConfig, AutoModel, AutoModelForQuestionAnswering, AutoTokenizer

from twowiki.modeling.configuration import TwoWikiConfig
from twowiki.modeling.modeling import TwoWikiBaselineForMultihopQA
from twowiki.modeling.tokenization import TwoWikiTokenizer

AutoConfig.register(TwoWikiConfig.model_type, TwoWikiConfig, exist_ok=True)
AutoModel.register(TwoWikiConfig, TwoWikiBaselineForMultihopQA, exist_ok=True)
AutoModelForQuestionAnswering.register(TwoWikiConfig, TwoWikiBaselineForMultihopQA, exist_ok=True)
AutoTokenizer.register(TwoWikiConfig, fast_tokenizer_class=TwoWikiTokenizer, exist_ok=True)
