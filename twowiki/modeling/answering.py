class PredictsAnswers: pass
