-- One row per bare duplicate of a person: an item that states nothing but that it is human, has no
-- page, and has the name of exactly one human who has one. Unique: qid.
WITH stated AS (
  SELECT s, MAX(CASE WHEN p = 31 AND o = 5 THEN 1 ELSE 0 END) AS human,
         MAX(CASE WHEN p = 31 THEN 0 ELSE 1 END) AS known
  FROM claims
  GROUP BY s
),
named AS (
  SELECT l.bare_norm, MIN(l.qid) AS qid
  FROM linked l
  JOIN stated h ON h.s = l.qid
  WHERE h.human = 1
  GROUP BY l.bare_norm
  HAVING COUNT(*) = 1
)
SELECT DISTINCT e.qid, n.qid AS original
FROM entities e
JOIN stated h ON h.s = e.qid
JOIN named n ON n.bare_norm = e.label_norm
WHERE e.title_key IS NULL AND h.human = 1 AND h.known = 0
ORDER BY e.qid
