-- The sentences of every page of some context, once. Unique: qid, sent_id.
SELECT c.qid, l.title, s.sent_id, MIN(s.text) AS text
FROM (SELECT qid FROM distractors UNION SELECT qid FROM golds) c
JOIN linked l ON l.qid = c.qid
JOIN sentences s ON s.page_id = l.page_id
GROUP BY c.qid, l.title, s.sent_id
ORDER BY c.qid, s.sent_id
