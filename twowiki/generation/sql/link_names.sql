-- The names of the answers of each bucket's chains, with the bucket.
SELECT n.qid, n.norm, n.kind, k.bucket
FROM names n
JOIN (SELECT DISTINCT a, bucket FROM links) k ON k.a = n.qid
