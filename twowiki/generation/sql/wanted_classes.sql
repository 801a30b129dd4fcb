-- What the wanted entities are instances of, with the classes' labels.
SELECT f.s AS qid, f.o AS class, e.label
FROM wanted w
JOIN facts f ON f.s = w.qid AND f.p = 31
JOIN (SELECT qid, MIN(label) AS label FROM entities GROUP BY qid) e ON e.qid = f.o
ORDER BY f.s, f.o
