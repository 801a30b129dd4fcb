from twowiki.arc_da.metric.lists import score_lists as score_lists
from twowiki.arc_da.metric.report import score_system as score_system
from twowiki.arc_da.metric.scoring import score_answer as score_answer
from twowiki.arc_da.schema import MultipleChoice as MultipleChoice
from twowiki.arc_da.schema import Question as Question
from twowiki.arc_da.sources import read_multiple_choice as read_multiple_choice
from twowiki.arc_da.sources import read_questions as read_questions
from twowiki.human.scores import score_ratings as score_ratings
