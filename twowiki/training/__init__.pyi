from twowiki.training.hf_trainer import EncodedExamples as EncodedExamples
from twowiki.training.hf_trainer import joint_metrics as joint_metrics
from twowiki.training.settings import BaselineArguments as BaselineArguments
from twowiki.training.settings import EncoderArguments as EncoderArguments
