-- One row per pair of films whose one director (producer) each has the property, with the reason
-- that drops it. Pairs as in comparison, but within small cells of films, so that the samples that
-- hang together through a film stay few and can go to one split; in a dense run all pairs of a
-- cell.
WITH film AS (
  SELECT g.s AS film, r.name AS r1, g.o AS human, m.relation AS r2, m.kind, m.low, m.high, m.o,
         g.s % x.cells AS cell,
         md5(concat_ws('|', x.seed, r.name, m.relation, CAST(g.s AS STRING))) AS k
  FROM grounded g
  JOIN relations r ON r.p = g.p
  JOIN types t ON t.qid = g.s
  JOIN measures m ON m.s = g.o
  CROSS JOIN settings x
  WHERE g.p IN (57, 162) AND g.n_values = 1
    AND t.type IN ('film', 'animated feature film')
    AND ((m.kind = 'date' AND m.relation IN ('date of birth', 'date of death'))
         OR (m.kind = 'same' AND m.relation = 'country of citizenship'))
),
neighbour AS (
  SELECT r1, r2, kind, film AS f1, human AS h1, low AS low1, high AS high1,
         LEAD(film) OVER w AS f2, LEAD(human) OVER w AS h2, LEAD(low) OVER w AS low2,
         LEAD(high) OVER w AS high2
  FROM film
  CROSS JOIN settings x
  WHERE x.exhaustive = 0
  WINDOW w AS (PARTITION BY r1, r2, cell ORDER BY k, film)
),
same_value AS (
  SELECT r1, r2, kind, film AS f1, human AS h1, low AS low1, high AS high1,
         LEAD(film) OVER w AS f2, LEAD(human) OVER w AS h2, LEAD(low) OVER w AS low2,
         LEAD(high) OVER w AS high2
  FROM film
  CROSS JOIN settings x
  WHERE x.exhaustive = 0 AND kind = 'same'
  WINDOW w AS (PARTITION BY r1, r2, o, cell ORDER BY k, film)
),
pair AS (
  SELECT r1, r2, kind, f1, h1, low1, high1, f2, h2, low2, high2 FROM neighbour WHERE f2 IS NOT NULL
  UNION
  SELECT r1, r2, kind, f1, h1, low1, high1, f2, h2, low2, high2 FROM same_value WHERE f2 IS NOT NULL
  UNION
  SELECT one.r1, one.r2, one.kind, one.film AS f1, one.human AS h1, one.low AS low1,
         one.high AS high1, two.film AS f2, two.human AS h2, two.low AS low2, two.high AS high2
  FROM film one
  JOIN film two ON two.r1 = one.r1 AND two.r2 = one.r2 AND two.film > one.film
  CROSS JOIN settings x
  WHERE x.exhaustive = 1
  UNION
  SELECT one.r1, one.r2, one.kind, one.film AS f1, one.human AS h1, one.low AS low1,
         one.high AS high1, two.film AS f2, two.human AS h2, two.low AS low2, two.high AS high2
  FROM film one
  JOIN film two
    ON two.r1 = one.r1 AND two.r2 = one.r2 AND two.cell = one.cell AND two.film > one.film
  CROSS JOIN settings x
  WHERE x.dense = 1
),
once AS (
  SELECT p.*,
         ROW_NUMBER() OVER (
           PARTITION BY r1, r2, LEAST(f1, f2), GREATEST(f1, f2) ORDER BY f1
         ) AS copy
  FROM pair p
),
shared AS (
  SELECT c.h1, c.h2, COUNT(DISTINCT two.o) AS n
  FROM (SELECT DISTINCT h1, h2 FROM once WHERE kind = 'same') c
  JOIN grounded one ON one.s = c.h1 AND one.p = 27
  JOIN grounded two ON two.s = c.h2 AND two.p = 27 AND two.o = one.o
  GROUP BY c.h1, c.h2
),
unsure AS (
  SELECT DISTINCT u.s, r.name AS relation FROM uncertain u JOIN relations r ON r.p = u.p
),
keyed AS (
  SELECT c.r1, c.r2, c.kind, c.f1, c.h1, c.f2, c.h2, c.low1, c.low2,
         CASE WHEN c.kind = 'same' THEN COALESCE(h.n, 0) ELSE 0 END AS n_shared,
         CASE WHEN c.h1 = c.h2 THEN 'same_bridge_entity'
              WHEN c.kind = 'same' THEN ''
              WHEN c.high1 < c.low2 OR c.high2 < c.low1 THEN ''
              WHEN c.low1 = c.low2 AND c.high1 = c.high2 THEN 'equal_values'
              WHEN v1.s IS NOT NULL OR v2.s IS NOT NULL THEN 'uncertain_date'
              ELSE 'incomparable_precision' END AS reason,
         md5(concat_ws('|', x.seed, 'bridge_comparison', c.r1, c.r2, CAST(c.f1 AS STRING),
                       CAST(c.f2 AS STRING))) AS k
  FROM once c
  LEFT JOIN shared h ON h.h1 = c.h1 AND h.h2 = c.h2
  LEFT JOIN unsure v1 ON v1.s = c.h1 AND v1.relation = c.r2
  LEFT JOIN unsure v2 ON v2.s = c.h2 AND v2.relation = c.r2
  CROSS JOIN settings x
  WHERE c.copy = 1
)
SELECT r1, r2, kind,
       CASE WHEN substring(k, 1, 1) < '8' THEN f1 ELSE f2 END AS f1,
       CASE WHEN substring(k, 1, 1) < '8' THEN h1 ELSE h2 END AS h1,
       CASE WHEN substring(k, 1, 1) < '8' THEN f2 ELSE f1 END AS f2,
       CASE WHEN substring(k, 1, 1) < '8' THEN h2 ELSE h1 END AS h2,
       CASE WHEN substring(k, 1, 1) < '8' THEN low1 ELSE low2 END AS low1,
       CASE WHEN substring(k, 1, 1) < '8' THEN low2 ELSE low1 END AS low2,
       n_shared, reason, k
FROM keyed
ORDER BY k, f1, f2
