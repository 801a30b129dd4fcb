-- The first candidates without a fault of every kind of question, in the order of the draw.
WITH numbered AS (
  SELECT c.*, ROW_NUMBER() OVER (PARTITION BY r1, r2 ORDER BY k, e, r1, b, r2, a) AS place
  FROM chains c
  WHERE reason = ''
)
SELECT n.*, CASE WHEN n.place <= x.share THEN 0 ELSE 1 END AS turn
FROM numbered n
CROSS JOIN settings x
WHERE n.place <= x.cap
ORDER BY turn, k, e, r1, b, r2, a
