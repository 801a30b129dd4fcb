"""Importing this makes transformers' Auto classes and pipelines know the models.

No code of a model's folder is run then.
"""

from transformers import AutoConfig, AutoModel, AutoModelForQuestionAnswering, AutoTokenizer
from transformers.pipelines import PIPELINE_REGISTRY

from twowiki.models.configuration_baseline import TwoWikiConfig
from twowiki.models.configuration_encoder import TwoWikiEncoderConfig
from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
from twowiki.models.modeling_encoder import TwoWikiForMultihopQA
from twowiki.models.pipeline import MultihopQAPipeline
from twowiki.models.prediction import PIPELINE
from twowiki.models.tokenization_baseline import TwoWikiTokenizer

AutoConfig.register(TwoWikiConfig.model_type, TwoWikiConfig, exist_ok=True)
AutoConfig.register(TwoWikiEncoderConfig.model_type, TwoWikiEncoderConfig, exist_ok=True)
AutoModel.register(TwoWikiConfig, TwoWikiBaselineForMultihopQA, exist_ok=True)
AutoModelForQuestionAnswering.register(TwoWikiConfig, TwoWikiBaselineForMultihopQA, exist_ok=True)
for auto in (AutoModel, AutoModelForQuestionAnswering):
    auto.register(TwoWikiEncoderConfig, TwoWikiForMultihopQA, exist_ok=True)
AutoTokenizer.register(TwoWikiConfig, fast_tokenizer_class=TwoWikiTokenizer, exist_ok=True)

if PIPELINE not in PIPELINE_REGISTRY.get_supported_tasks():
    PIPELINE_REGISTRY.register_pipeline(PIPELINE, MultihopQAPipeline, pt_model=AutoModel)
