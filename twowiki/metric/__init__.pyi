from twowiki.metric.error_analysis import ErrorClassifier as ErrorClassifier
from twowiki.metric.evaluate_records import to_evaluate_records as to_evaluate_records
from twowiki.metric.score import score_examples as score_examples
from twowiki.metric.scoring import Scorer as Scorer
from twowiki.metric.significance import bootstrap_intervals as bootstrap_intervals
from twowiki.metric.significance import paired_randomization as paired_randomization
