-- One row per entity with a page and a known type: the type first in our list. Unique: qid.
WITH typed AS (
  SELECT f.s AS qid, c.type, c.prio, f.o AS class,
         ROW_NUMBER() OVER (PARTITION BY f.s ORDER BY c.prio, f.o) AS place
  FROM facts f
  JOIN class_types c ON c.class = f.o
  JOIN linked l ON l.qid = f.s
  WHERE f.p = 31
)
SELECT qid, type, class FROM typed WHERE place = 1 ORDER BY qid
