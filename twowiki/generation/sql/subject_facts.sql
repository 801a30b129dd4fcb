-- One row per fact of a relation that questions use, whose subject has a page; with its bucket.
SELECT f.s, f.p, f.o, f.stmt_id, f.n_values, f.s % b.buckets AS bucket
FROM facts f
JOIN relations r ON r.p = f.p
JOIN linked l ON l.qid = f.s
CROSS JOIN settings b
ORDER BY f.s, f.p, f.o
