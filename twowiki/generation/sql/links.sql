-- The chains again, with the bucket of their start.
SELECT j.*, j.e % x.buckets AS bucket
FROM joined_links j
CROSS JOIN settings x
