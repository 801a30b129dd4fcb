-- The pages of the entities, with the entity's bucket. Unique: qid.
SELECT l.qid, l.norm, l.label_norm, l.bare_norm, l.qid % x.buckets AS bucket
FROM linked l
CROSS JOIN settings x
