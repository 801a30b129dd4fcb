-- One row per entity and property that can be compared: an interval of days, a count, or a value.
-- Every value is in the entity's summary. Unique: s, relation.
WITH whole AS (
  SELECT g.s, g.p, r.name AS relation, r.timed, r.country, COUNT(*) AS n_found,
         MIN(g.n_values) AS n_values, MIN(g.o) AS o, MIN(g.says) AS says
  FROM grounded g
  JOIN relations r ON r.p = g.p
  GROUP BY g.s, g.p, r.name, r.timed, r.country
),
-- What Wikidata marks as uncertain may be any day of an interval.
doubt AS (
  SELECT s, p, MIN(low) AS low, MAX(high) AS high FROM uncertain GROUP BY s, p
),
dated AS (
  SELECT w.s, w.relation, LEAST(d.low, COALESCE(u.low, d.low)) AS low,
         GREATEST(d.high, COALESCE(u.high, d.high)) AS high, w.says AS o
  FROM whole w
  JOIN days d ON d.o = w.says
  LEFT JOIN doubt u ON u.s = w.s AND u.p = w.p
  WHERE w.timed = 1 AND w.n_values = 1
)
SELECT s, relation, 'date' AS kind, low, high, o, 1 AS n FROM dated
UNION ALL
SELECT b.s, 'age' AS relation, 'age' AS kind, d.low - b.high AS low, d.high - b.low AS high,
       d.o, 1 AS n
FROM dated b
JOIN dated d ON d.s = b.s AND d.relation = 'date of death'
WHERE b.relation = 'date of birth'
UNION ALL
SELECT s, relation, 'same' AS kind, 0 AS low, 0 AS high, o, n_values AS n
FROM whole
WHERE timed = 0 AND n_found = n_values AND (n_values = 1 OR country = 1)
UNION ALL
SELECT s, relation, 'count' AS kind, n_values AS low, n_values AS high, o, n_values AS n
FROM whole
WHERE timed = 0 AND n_found = n_values
ORDER BY 1, 2, 3
