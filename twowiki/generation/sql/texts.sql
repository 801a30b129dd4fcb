-- One row per sentence of an entity's page, with its bucket. Unique: qid, sent_id.
SELECT DISTINCT l.qid, t.sent_id, t.norm, l.qid % b.buckets AS bucket
FROM linked l
JOIN sentences t ON t.page_id = l.page_id
CROSS JOIN settings b
WHERE t.norm <> ''
ORDER BY l.qid, t.sent_id, t.norm
