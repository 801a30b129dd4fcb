"""Importing this makes transformers' Auto classes and pipelines know the models.

No code of a model's folder is run then.
"""

from transformers import AutoConfig, AutoModel, AutoModelForQuestionAnswering, AutoTokenizer
from transformers.pipelines import PIPELINE_REGISTRY

from twowiki.modeling.answering import PIPELINE
from twowiki.modeling.configuration import TwoWikiConfig
from twowiki.modeling.encoder_configuration import TwoWikiEncoderConfig
from twowiki.modeling.encoder_modeling import TwoWikiForMultihopQA
from twowiki.modeling.modeling import TwoWikiBaselineForMultihopQA
from twowiki.modeling.pipeline import MultihopQAPipeline
from twowiki.modeling.tokenization import TwoWikiTokenizer

AutoConfig.register(TwoWikiConfig.model_type, TwoWikiConfig, exist_ok=True)
AutoConfig.register(TwoWikiEncoderConfig.model_type, TwoWikiEncoderConfig, exist_ok=True)
AutoModel.register(TwoWikiConfig, TwoWikiBaselineForMultihopQA, exist_ok=True)
AutoModelForQuestionAnswering.register(TwoWikiConfig, TwoWikiBaselineForMultihopQA, exist_ok=True)
for auto in (AutoModel, AutoModelForQuestionAnswering):
    auto.register(TwoWikiEncoderConfig, TwoWikiForMultihopQA, exist_ok=True)
AutoTokenizer.register(TwoWikiConfig, fast_tokenizer_class=TwoWikiTokenizer, exist_ok=True)

if PIPELINE not in PIPELINE_REGISTRY.get_supported_tasks():
    PIPELINE_REGISTRY.register_pipeline(PIPELINE, MultihopQAPipeline, pt_model=AutoModel)
