-- The names of the wanted entities, preferred ones first.
SELECT DISTINCT n.qid, n.prio, n.kind, n.name, n.norm
FROM wanted w
JOIN names n ON n.qid = w.qid
ORDER BY n.qid, n.prio, n.kind, n.name
