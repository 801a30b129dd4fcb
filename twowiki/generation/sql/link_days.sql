-- The exact ways to write the dates of each bucket's chains, with the bucket.
SELECT d.o, d.norm, k.bucket
FROM written_days d
JOIN (SELECT DISTINCT says, bucket FROM links) k ON k.says = d.o
WHERE d.exact = 1
