-- The first candidates without a fault of every kind of question, in the order of the draw.
WITH numbered AS (
  SELECT c.*, ROW_NUMBER() OVER (PARTITION BY type, relation, kind ORDER BY k, s1, s2) AS place
  FROM comparison c
  WHERE reason = ''
)
SELECT n.*, CASE WHEN n.place <= x.share THEN 0 ELSE 1 END AS turn
FROM numbered n
CROSS JOIN settings x
WHERE n.place <= x.cap
ORDER BY turn, k, s1, s2
