-- The facts of the wanted entities that stand in their summaries.
SELECT g.s, r.name AS relation, g.o, g.norm, g.says, g.sent_id, g.stmt_id
FROM wanted w
JOIN grounded g ON g.s = w.qid
JOIN relations r ON r.p = g.p
ORDER BY g.s, g.p, g.o
