-- One row per chain (e, r1, b), (b, r2, a) of a known pair of relations, with the reason that
-- drops it ('' where the paper's four paragraph checks hold) and what Wikidata says of the rule.
-- `links` and the tables beside it are those of one bucket of starts.
WITH chain AS (
  SELECT l.*,
         CASE WHEN l.values1 > 1 OR l.values2 > 1 THEN 'several_values'
              WHEN l.a = l.e OR l.a = l.b OR l.b = l.e THEN 'circular'
              WHEN contains(page1.norm, l.norm2) THEN 'answer_in_first_paragraph'
              WHEN l.named_back = 1 THEN 'start_in_second_paragraph'
              ELSE '' END AS failed
  FROM links l
  JOIN link_pages page1 ON page1.qid = l.e
),
other_name AS (
  SELECT c.e, c.r1, c.b, c.r2, c.a
  FROM chain c
  JOIN link_pages page1 ON page1.qid = c.e
  JOIN link_names n ON n.qid = c.a
  WHERE c.failed = '' AND (n.kind <> 'demonym' OR c.country = 1)
    AND contains(page1.norm, n.norm)
  UNION
  SELECT c.e, c.r1, c.b, c.r2, c.a
  FROM chain c
  JOIN link_pages page1 ON page1.qid = c.e
  JOIN link_days d ON d.o = c.says
  WHERE c.failed = '' AND contains(page1.norm, d.norm)
),
sex AS (
  SELECT f.s, MIN(k.parent) AS parent
  FROM link_facts f
  JOIN sexes k ON k.sex = f.o
  WHERE f.p = 21
  GROUP BY f.s
),
judged AS (
  SELECT c.e, c.r1, c.b, c.r2, c.a,
         MAX(CASE WHEN straight.o = c.a OR back.o = c.e THEN 1 ELSE 0 END) AS confirmed,
         MAX(CASE WHEN c.inverse = 0 AND straight.o IS NOT NULL THEN 1
                  WHEN c.inverse = 1 AND back.p = sex.parent THEN 1
                  ELSE 0 END) AS stated
  FROM chain c
  LEFT JOIN link_facts straight
    ON straight.s = c.e AND straight.p = c.direct
  LEFT JOIN (SELECT s, p, o, 1 AS inverse FROM link_facts WHERE p IN (22, 25)) back
    ON back.s = c.a AND back.inverse = c.inverse
  LEFT JOIN sex ON sex.s = c.e
  WHERE c.rule > 0 AND c.direct > 0 AND c.failed = ''
  GROUP BY c.e, c.r1, c.b, c.r2, c.a
)
SELECT c.e, c.r1, c.b, c.r2, c.a, c.rule, c.sent1, c.norm1, c.stmt1, c.sent2, c.norm2, c.stmt2,
       c.says,
       CASE WHEN j.confirmed = 1 THEN 'confirmed' WHEN j.stated = 1 THEN 'contradicted'
            ELSE 'unstated' END AS verdict,
       CASE WHEN c.failed <> '' THEN c.failed
            WHEN o.a IS NOT NULL THEN 'answer_in_first_paragraph'
            WHEN c.drop_if_contradicted = 1 AND j.confirmed = 0 AND j.stated = 1
              THEN 'rule_contradicted'
            WHEN c.drop_if_unstated = 1 AND COALESCE(j.confirmed, 0) = 0
              AND COALESCE(j.stated, 0) = 0 THEN 'rule_not_stated'
            ELSE '' END AS reason,
       md5(concat_ws('|', x.seed, 'chain', CAST(c.e AS STRING), CAST(c.r1 AS STRING),
                     CAST(c.b AS STRING), CAST(c.r2 AS STRING), CAST(c.a AS STRING))) AS k
FROM chain c
LEFT JOIN other_name o
  ON o.e = c.e AND o.r1 = c.r1 AND o.b = c.b AND o.r2 = c.r2 AND o.a = c.a
LEFT JOIN judged j
  ON j.e = c.e AND j.r1 = c.r1 AND j.b = c.b AND j.r2 = c.r2 AND j.a = c.a
CROSS JOIN settings x
ORDER BY k, c.e, c.r1, c.b, c.r2, c.a
