-- One row per value of an entity's relation, best rank only, with the number of values.
-- Dates that agree on the year are one value, with the precision of a year. Unique: s, p, o.
-- Only of entities that have a page, and of those that their facts name: no others are asked about.
WITH asked AS (
  SELECT qid FROM linked
  UNION
  SELECT COALESCE(t.original, c.o) AS qid
  FROM claims c
  JOIN linked l ON l.qid = c.s
  LEFT JOIN duplicates t ON t.qid = c.o
  WHERE c.best = 1 AND c.o IS NOT NULL
),
best AS (
  SELECT c.s, c.p, COALESCE(t.original, c.o) AS o, c.stmt_id, d.year, d.year_o
  FROM claims c
  JOIN asked a ON a.qid = c.s
  LEFT JOIN days d ON d.o = c.o
  LEFT JOIN duplicates t ON t.qid = c.o
  WHERE c.best = 1
),
counted AS (
  SELECT s, p,
         COUNT(DISTINCT o) AS n_known,
         MAX(CASE WHEN o IS NULL THEN 1 ELSE 0 END) AS n_unknown,
         MIN(CASE WHEN year IS NULL THEN 0 ELSE 1 END) AS all_dated,
         MIN(year) AS first_year, MAX(year) AS last_year,
         MIN(year_o) AS year_o, MIN(stmt_id) AS stmt_id
  FROM best
  GROUP BY s, p
),
judged AS (
  SELECT s, p, n_known + n_unknown AS n_values, year_o, stmt_id,
         CASE WHEN all_dated = 1 AND n_known > 1 AND first_year = last_year THEN 1 ELSE 0 END
           AS one_year
  FROM counted
)
SELECT b.s, b.p, b.o, MIN(b.stmt_id) AS stmt_id, MIN(j.n_values) AS n_values
FROM best b
JOIN judged j ON j.s = b.s AND j.p = b.p
WHERE b.o IS NOT NULL AND j.one_year = 0
GROUP BY b.s, b.p, b.o
UNION ALL
SELECT s, p, year_o AS o, stmt_id, 1 AS n_values
FROM judged
WHERE one_year = 1
ORDER BY 1, 2, 3
