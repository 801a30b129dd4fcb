-- One row per wanted entity: its label, type and sex, and its page where it has one. Unique: qid.
WITH same AS (
  SELECT p.bare_norm, COUNT(DISTINCT p.page_id) AS n
  FROM pages p
  JOIN (SELECT DISTINCT l.bare_norm FROM linked l JOIN wanted w ON w.qid = l.qid) b
    ON b.bare_norm = p.bare_norm
  GROUP BY p.bare_norm
),
sex AS (
  SELECT f.s, MIN(k.parent) AS parent, COUNT(DISTINCT k.parent) AS n
  FROM facts f
  JOIN sexes k ON k.sex = f.o
  WHERE f.p = 21
  GROUP BY f.s
)
SELECT e.qid, e.label, l.page_id, l.title, COALESCE(s.n, 0) AS n_same_name,
       COALESCE(t.type, '') AS type,
       CASE WHEN x.n = 1 THEN x.parent ELSE 0 END AS parent
FROM wanted w
JOIN (SELECT qid, MIN(label) AS label FROM entities GROUP BY qid) e ON e.qid = w.qid
LEFT JOIN linked l ON l.qid = w.qid
LEFT JOIN same s ON s.bare_norm = l.bare_norm
LEFT JOIN types t ON t.qid = w.qid
LEFT JOIN sex x ON x.s = w.qid
ORDER BY e.qid
