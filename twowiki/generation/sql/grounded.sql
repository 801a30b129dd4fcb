-- One row per fact whose object is in the subject's summary: the first sentence that has
-- it, and the words found there; of several names the one that comes first, the preferred one of those. Exact dates come before bare years, which only works may have.
WITH surface AS (
  SELECT f.s, f.p, f.o, f.stmt_id, f.n_values, n.norm, n.prio, 0 AS tier, f.o AS says
  FROM subject_facts f
  JOIN relations r ON r.p = f.p
  JOIN names n ON n.qid = f.o
  WHERE n.kind <> 'demonym' OR r.country = 1
  UNION ALL
  SELECT f.s, f.p, f.o, f.stmt_id, f.n_values, d.norm, 0 AS prio, 1 - d.exact AS tier, d.says
  FROM subject_facts f
  JOIN relations r ON r.p = f.p
  JOIN written_days d ON d.o = f.o
  WHERE d.exact = 1 OR r.yearly = 1
),
hit AS (
  SELECT x.s, x.p, x.o, x.stmt_id, x.n_values, x.norm, x.says, t.sent_id,
         ROW_NUMBER() OVER (
           PARTITION BY x.s, x.p, x.o
           ORDER BY x.tier, t.sent_id, instr(t.norm, x.norm), x.prio, length(x.norm) DESC, x.norm,
             x.says, x.stmt_id
         ) AS place
  FROM surface x
  JOIN texts t ON t.qid = x.s
  WHERE contains(t.norm, x.norm)
)
SELECT s, p, o, stmt_id, n_values, norm, says, sent_id
FROM hit
WHERE place = 1
ORDER BY s, p, o
