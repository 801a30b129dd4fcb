-- The distractors of each sample: its nearest paragraphs that are of a gold paragraph's type, do
-- not answer it, and have no name of anything that its question or its evidence names. `tier`: 0 typed within the first 50, 1 typed further down, 2 of another type.
-- Unique: sample, qid.
WITH gold_class AS (
  SELECT DISTINCT g.sample, f.o AS class
  FROM golds g
  JOIN facts f ON f.s = g.qid AND f.p = 31
),
-- DISTINCT keeps the join of classes from being done first, for all pairs of members.
hit_class AS (
  SELECT DISTINCT h.sample, h.qid, f.o AS class
  FROM hits h
  JOIN facts f ON f.s = h.qid AND f.p = 31
),
typed AS (
  SELECT DISTINCT h.sample, h.qid
  FROM hit_class h
  JOIN gold_class c ON c.sample = h.sample AND c.class = h.class
),
tiered AS (
  SELECT h.sample, h.qid, h.place, n.typed_only, n.n_distractors,
         CASE WHEN t.qid IS NOT NULL AND h.place <= 50 THEN 0
              WHEN t.qid IS NOT NULL THEN 1 ELSE 2 END AS tier
  FROM hits h
  JOIN needs n ON n.sample = h.sample
  LEFT JOIN golds g ON g.sample = h.sample AND g.qid = h.qid
  LEFT JOIN typed t ON t.sample = h.sample AND t.qid = h.qid
  WHERE g.qid IS NULL AND (n.typed_only = 0 OR t.qid IS NOT NULL)
),
-- Few of the nearest pages answer the question: a few more than needed are checked. A sample that
-- still falls short is checked completely, in the round that takes every type.
ordered AS (
  SELECT t.*, ROW_NUMBER() OVER (PARTITION BY t.sample ORDER BY t.tier, t.place) AS rank
  FROM tiered t
),
front AS (
  SELECT sample, qid, place, tier
  FROM ordered
  WHERE typed_only = 0 OR rank <= n_distractors + 6
),
answering AS (
  SELECT DISTINCT h.sample, h.qid
  FROM front h
  JOIN linked l ON l.qid = h.qid
  JOIN answers a ON a.sample = h.sample
  WHERE contains(l.norm, a.subject_norm) AND contains(l.norm, a.object_norm)
),
namesake AS (
  SELECT DISTINCT h.sample, h.qid
  FROM front h
  JOIN names o ON o.qid = h.qid
  JOIN named n ON n.sample = h.sample AND n.name_norm = o.norm
),
usable AS (
  SELECT h.sample, h.qid, h.place, h.tier
  FROM front h
  LEFT JOIN answering a ON a.sample = h.sample AND a.qid = h.qid
  LEFT JOIN namesake s ON s.sample = h.sample AND s.qid = h.qid
  WHERE a.qid IS NULL AND s.qid IS NULL
),
picked AS (
  SELECT u.sample, u.qid, u.tier,
         ROW_NUMBER() OVER (PARTITION BY u.sample ORDER BY u.tier, u.place) AS pick
  FROM usable u
)
SELECT p.sample, p.qid, p.tier
FROM picked p
JOIN needs n ON n.sample = p.sample
WHERE p.pick <= n.n_distractors
ORDER BY p.sample, p.tier, p.qid
