-- What Wikidata states of the starts and the answers of each bucket's rules, with the bucket.
SELECT f.s, f.p, f.o, k.bucket
FROM facts f
JOIN (
  SELECT e AS qid, bucket FROM links WHERE rule > 0
  UNION
  SELECT a AS qid, bucket FROM links WHERE rule > 0
) k ON k.qid = f.s
JOIN (
  SELECT DISTINCT direct AS p FROM relation_pairs WHERE direct > 0
  UNION
  SELECT p FROM relations WHERE p IN (22, 25)
) r ON r.p = f.p
UNION ALL
SELECT f.s, f.p, f.o, k.bucket
FROM facts f
JOIN (SELECT DISTINCT e AS qid, bucket FROM links WHERE rule > 0) k ON k.qid = f.s
WHERE f.p = 21
