-- The names of the wanted entities and of their facts' objects, preferred ones first.
SELECT DISTINCT n.qid, n.prio, n.kind, n.name, n.norm
FROM (SELECT qid FROM wanted UNION SELECT o AS qid FROM wanted_grounded) w
JOIN names n ON n.qid = w.qid
ORDER BY n.qid, n.prio, n.kind, n.name
