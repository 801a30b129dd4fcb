-- The names of the objects of each bucket's facts, with the bucket.
SELECT n.qid, n.norm, n.kind, n.prio, k.bucket
FROM names n
JOIN (SELECT DISTINCT o, bucket FROM subject_facts) k ON k.o = n.qid
