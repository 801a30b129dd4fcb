-- One row per entity that has a usable page: joined by sitelink, never by label.
-- Unique: qid; page_id.
WITH resolved AS (
  SELECT e.qid, e.label, e.label_norm,
         COALESCE(r.target_key, e.title_key) AS title_key,
         CASE WHEN r.target_key IS NULL THEN 0 ELSE 1 END AS redirected
  FROM entities e
  LEFT JOIN (SELECT title_key, MIN(target_key) AS target_key FROM redirects GROUP BY title_key) r
    ON r.title_key = e.title_key
  WHERE e.title_key IS NOT NULL
),
matched AS (
  SELECT x.qid, x.label, x.label_norm, p.page_id, p.title, p.bare_norm, p.norm, p.n_sentences,
         ROW_NUMBER() OVER (PARTITION BY x.qid ORDER BY p.page_id) AS page_place,
         ROW_NUMBER() OVER (PARTITION BY p.page_id ORDER BY x.redirected, x.qid) AS entity_place
  FROM resolved x
  JOIN pages p ON p.title_key = x.title_key
  WHERE p.usable = 1
)
SELECT qid, page_id, title, label, label_norm, bare_norm, norm, n_sentences
FROM matched
WHERE page_place = 1 AND entity_place = 1
ORDER BY qid
