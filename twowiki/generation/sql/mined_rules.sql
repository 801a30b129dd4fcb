-- One row per pair of relations (x, r1, y), (y, r2, z) and relation r of x that holds of some of
-- its pairs (x, z); r is 0 where none does. `pairs`: distinct (x, z); `people`: those of two
-- people; `support`: those of which (x, r, z) is stated; `stated`: those whose x states any r.
WITH fact AS (
  SELECT DISTINCT f.s, f.p, f.o FROM facts f JOIN relations r ON r.p = f.p WHERE r.timed = 0
),
human AS (
  SELECT DISTINCT s FROM facts WHERE p = 31 AND o = 5
),
chain AS (
  SELECT DISTINCT one.p AS r1, two.p AS r2, one.s AS x, two.o AS z
  FROM fact one
  JOIN fact two ON two.s = one.o
  WHERE two.o <> one.s
),
body AS (
  SELECT c.r1, c.r2, COUNT(*) AS pairs,
         SUM(CASE WHEN a.s IS NULL OR b.s IS NULL THEN 0 ELSE 1 END) AS people
  FROM chain c
  LEFT JOIN human a ON a.s = c.x
  LEFT JOIN human b ON b.s = c.z
  GROUP BY c.r1, c.r2
),
head AS (
  SELECT c.r1, c.r2, h.p AS r, COUNT(*) AS support
  FROM chain c
  JOIN fact h ON h.s = c.x AND h.o = c.z
  GROUP BY c.r1, c.r2, h.p
),
known AS (
  SELECT c.r1, c.r2, h.p AS r, COUNT(*) AS stated
  FROM chain c
  JOIN (SELECT DISTINCT s, p FROM fact) h ON h.s = c.x
  GROUP BY c.r1, c.r2, h.p
)
SELECT b.r1, b.r2, COALESCE(h.r, 0) AS r, b.pairs, CAST(b.people AS BIGINT) AS people,
       COALESCE(h.support, 0) AS support, COALESCE(k.stated, 0) AS stated
FROM body b
LEFT JOIN head h ON h.r1 = b.r1 AND h.r2 = b.r2
LEFT JOIN known k ON k.r1 = h.r1 AND k.r2 = h.r2 AND k.r = h.r
ORDER BY b.r1, b.r2, 3
