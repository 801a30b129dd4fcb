-- The sentences of the wanted entities' pages. Unique: qid, sent_id.
SELECT w.qid, s.sent_id, MIN(s.text) AS text
FROM wanted w
JOIN linked l ON l.qid = w.qid
JOIN sentences s ON s.page_id = l.page_id
GROUP BY w.qid, s.sent_id
ORDER BY w.qid, s.sent_id
