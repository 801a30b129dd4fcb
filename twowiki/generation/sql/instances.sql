-- What the entities with a page are instances of, with the entity's bucket.
SELECT f.s, f.p, f.o, f.s % x.buckets AS bucket
FROM facts f
JOIN linked l ON l.qid = f.s
CROSS JOIN settings x
WHERE f.p = 31
