-- One row per pair of entities of one group and property, with the reason that drops it.
-- Pairs: neighbours in a shuffled order (see `ordered`), and for yes/no properties neighbours among those of equal
-- value too; or every pair in an exhaustive run. Of a group with many times what can be selected,
-- the first in that order are enough.
WITH sized AS (
  SELECT class, relation, kind, COUNT(*) AS n FROM members GROUP BY class, relation, kind
),
member AS (
  SELECT m.s, m.class, m.place, m.type, m.relation, m.kind, m.low, m.high, m.o, m.k
  FROM members m
  JOIN sized g ON g.class = m.class AND g.relation = m.relation AND g.kind = m.kind
  CROSS JOIN settings x
  WHERE g.n * (256 * (instr('0123456789abcdef', substring(m.k, 1, 1)) - 1)
               + 16 * (instr('0123456789abcdef', substring(m.k, 2, 1)) - 1)
               + instr('0123456789abcdef', substring(m.k, 3, 1)) - 1) < 4096 * 8 * x.cap
),
neighbour AS (
  SELECT class, place, type, relation, kind, s AS s1, low AS low1, high AS high1, o AS o1,
         LEAD(s) OVER w AS s2, LEAD(low) OVER w AS low2, LEAD(high) OVER w AS high2,
         LEAD(o) OVER w AS o2
  FROM member
  CROSS JOIN settings x
  WHERE x.exhaustive = 0
  WINDOW w AS (PARTITION BY class, relation, kind ORDER BY k, s)
),
same_value AS (
  SELECT class, place, type, relation, kind, s AS s1, low AS low1, high AS high1, o AS o1,
         LEAD(s) OVER w AS s2, LEAD(low) OVER w AS low2, LEAD(high) OVER w AS high2,
         LEAD(o) OVER w AS o2
  FROM member
  CROSS JOIN settings x
  WHERE x.exhaustive = 0 AND kind = 'same'
  WINDOW w AS (PARTITION BY class, relation, kind, o ORDER BY k, s)
),
-- In a dense run also the next eight in that order, of what has values to put in order.
ordered AS (
  SELECT m.*, ROW_NUMBER() OVER (PARTITION BY class, relation, kind ORDER BY k, s) AS turn
  FROM member m
  CROSS JOIN settings x
  WHERE x.dense = 1 AND kind <> 'same'
),
pair AS (
  SELECT class, place, type, relation, kind, s1, low1, high1, o1, s2, low2, high2, o2
  FROM neighbour WHERE s2 IS NOT NULL
  UNION ALL
  SELECT class, place, type, relation, kind, s1, low1, high1, o1, s2, low2, high2, o2
  FROM same_value WHERE s2 IS NOT NULL
  UNION ALL
  SELECT one.class, one.place, one.type, one.relation, one.kind, one.s AS s1, one.low AS low1,
         one.high AS high1, one.o AS o1, two.s AS s2, two.low AS low2, two.high AS high2,
         two.o AS o2
  FROM member one
  JOIN member two
    ON two.class = one.class AND two.relation = one.relation AND two.kind = one.kind
    AND two.s > one.s
  CROSS JOIN settings x
  WHERE x.exhaustive = 1
  UNION ALL
  SELECT one.class, one.place, one.type, one.relation, one.kind, one.s AS s1, one.low AS low1,
         one.high AS high1, one.o AS o1, two.s AS s2, two.low AS low2, two.high AS high2,
         two.o AS o2
  FROM ordered one
  JOIN ordered two
    ON two.class = one.class AND two.relation = one.relation AND two.kind = one.kind
    AND two.turn > one.turn AND two.turn <= one.turn + 8
),
once AS (
  SELECT p.*,
         ROW_NUMBER() OVER (
           PARTITION BY relation, kind, LEAST(s1, s2), GREATEST(s1, s2) ORDER BY place, s1
         ) AS copy
  FROM pair p
),
shared AS (
  SELECT c.s1, c.s2, c.relation, COUNT(DISTINCT two.o) AS n
  FROM once c
  JOIN relations r ON r.name = c.relation
  JOIN grounded one ON one.s = c.s1 AND one.p = r.p
  JOIN grounded two ON two.s = c.s2 AND two.p = r.p AND two.o = one.o
  WHERE c.copy = 1 AND c.kind = 'same'
  GROUP BY c.s1, c.s2, c.relation
),
unsure AS (
  SELECT u.s, r.name AS relation FROM uncertain u JOIN relations r ON r.p = u.p
  UNION
  SELECT s, 'age' AS relation FROM uncertain WHERE p IN (569, 570)
),
keyed AS (
  SELECT c.class, c.type, c.relation, c.kind, c.s1, c.s2, c.low1, c.high1, c.low2, c.high2,
         COALESCE(h.n, 0) AS n_shared,
         CASE WHEN c.kind = 'same' THEN ''
              WHEN c.high1 < c.low2 OR c.high2 < c.low1 THEN ''
              WHEN c.low1 = c.low2 AND c.high1 = c.high2 THEN 'equal_values'
              WHEN v1.s IS NOT NULL OR v2.s IS NOT NULL THEN 'uncertain_date'
              ELSE 'incomparable_precision' END AS reason,
         md5(concat_ws('|', x.seed, 'comparison', c.relation, CAST(c.s1 AS STRING),
                       CAST(c.s2 AS STRING))) AS k
  FROM once c
  LEFT JOIN shared h ON h.s1 = c.s1 AND h.s2 = c.s2 AND h.relation = c.relation
  LEFT JOIN unsure v1 ON v1.s = c.s1 AND v1.relation = c.relation
  LEFT JOIN unsure v2 ON v2.s = c.s2 AND v2.relation = c.relation
  CROSS JOIN settings x
  WHERE c.copy = 1
)
SELECT class, type, relation, kind,
       CASE WHEN substring(k, 1, 1) < '8' THEN s1 ELSE s2 END AS s1,
       CASE WHEN substring(k, 1, 1) < '8' THEN s2 ELSE s1 END AS s2,
       CASE WHEN substring(k, 1, 1) < '8' THEN low1 ELSE low2 END AS low1,
       CASE WHEN substring(k, 1, 1) < '8' THEN low2 ELSE low1 END AS low2,
       n_shared, reason, k
FROM keyed
ORDER BY k, s1, s2
