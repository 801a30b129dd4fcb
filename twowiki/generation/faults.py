"""The faults for which a generated candidate is dropped, by the names of the report."""

LONGER_NAME = "object_in_a_longer_name"
OWN_NAME = "object_in_the_subjects_own_name"
SEVERAL = "several_answers_in_the_text"
ELSEWHERE = "several_answers_on_the_page"
CONTRADICTION = "dates_contradict_each_other"
SPELLING = "answer_in_first_paragraph_spelled_otherwise"
COARSE = "coarser_than_the_text"
ORDER = "written_dates_in_another_order"
UNCERTAIN = "date_uncertain_in_the_text"
UNWORDED = "relation_not_in_the_sentence"
AGREEING = "values_may_agree_by_the_text"
DRAWN_ONLY = (UNWORDED, ELSEWHERE)  # let pass where every pair is taken
CANDIDATE_FAULTS = (
    LONGER_NAME, OWN_NAME, SEVERAL, CONTRADICTION, SPELLING, COARSE, ORDER, UNCERTAIN, AGREEING,
    UNWORDED, ELSEWHERE,
)  # fmt: skip
