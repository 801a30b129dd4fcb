-- One row per entity that has a usable page: joined by sitelink, never by label.
-- Unique: qid; page_id.
WITH entity AS (
  SELECT qid, MIN(label) AS label, MIN(label_norm) AS label_norm, MIN(title_key) AS title_key
  FROM entities
  WHERE title_key IS NOT NULL
  GROUP BY qid
),
page AS (
  SELECT page_id, MIN(title) AS title, MIN(title_key) AS title_key, MIN(bare_norm) AS bare_norm,
         MIN(n_sentences) AS n_sentences
  FROM pages
  WHERE usable = 1
  GROUP BY page_id
),
resolved AS (
  SELECT e.qid, e.label, e.label_norm,
         COALESCE(r.target_key, e.title_key) AS title_key,
         CASE WHEN r.target_key IS NULL THEN 0 ELSE 1 END AS redirected
  FROM entity e
  LEFT JOIN (SELECT title_key, MIN(target_key) AS target_key FROM redirects GROUP BY title_key) r
    ON r.title_key = e.title_key
),
matched AS (
  SELECT x.qid, x.label, x.label_norm, p.page_id, p.title, p.bare_norm, p.n_sentences,
         ROW_NUMBER() OVER (PARTITION BY x.qid ORDER BY p.page_id) AS page_place,
         ROW_NUMBER() OVER (PARTITION BY p.page_id ORDER BY x.redirected, x.qid) AS entity_place
  FROM resolved x
  JOIN page p ON p.title_key = x.title_key
),
joined AS (
  SELECT m.qid, m.page_id, m.title, m.label, m.label_norm, m.bare_norm, p.norm, m.n_sentences,
         ROW_NUMBER() OVER (PARTITION BY m.page_id ORDER BY p.norm) AS copy
  FROM matched m
  JOIN pages p ON p.page_id = m.page_id
  WHERE m.page_place = 1 AND m.entity_place = 1
)
SELECT qid, page_id, title, label, label_norm, bare_norm, norm, n_sentences
FROM joined
WHERE copy = 1
ORDER BY qid
