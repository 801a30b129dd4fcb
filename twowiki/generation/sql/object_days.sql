-- The ways to write the dates of each bucket's facts, with the bucket.
SELECT d.o, d.norm, d.says, d.exact, k.bucket
FROM written_days d
JOIN (SELECT DISTINCT o, bucket FROM subject_facts) k ON k.o = d.o
