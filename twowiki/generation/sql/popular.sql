-- The instance-of groups with most pages, largest first. Unique: class.
WITH sized AS (
  SELECT f.o AS class, COUNT(DISTINCT f.s) AS n
  FROM facts f
  JOIN linked l ON l.qid = f.s
  WHERE f.p = 31
  GROUP BY f.o
),
placed AS (
  SELECT class, ROW_NUMBER() OVER (ORDER BY n DESC, class) AS place FROM sized
)
SELECT class, place
FROM placed
WHERE place <= 50
ORDER BY place
