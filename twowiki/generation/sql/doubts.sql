-- The dates that Wikidata marks as uncertain, with the entity's bucket.
SELECT u.s, u.p, u.low, u.high, u.s % x.buckets AS bucket
FROM uncertain u
CROSS JOIN settings x
