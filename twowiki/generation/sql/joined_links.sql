-- One row per chain (e, r1, b), (b, r2, a) of a known pair of relations through the entities of one
-- bucket; `named_back`: the second page names the start.
SELECT one.s AS e, one.p AS r1, one.o AS b, two.p AS r2, two.o AS a, pair.rule,
       one.sent_id AS sent1, one.norm AS norm1, one.stmt_id AS stmt1,
       two.sent_id AS sent2, two.norm AS norm2, two.stmt_id AS stmt2, two.says,
       pair.direct, pair.inverse, pair.drop_if_contradicted, pair.drop_if_unstated, r.country,
       one.n_values AS values1, two.n_values AS values2,
       CASE WHEN contains(page2.norm, one.label_norm) OR contains(page2.norm, one.bare_norm)
              THEN 1 ELSE 0 END AS named_back
FROM first_links one
JOIN grounded two ON two.s = one.o
JOIN relation_pairs pair ON pair.r1 = one.p AND pair.r2 = two.p
JOIN relations r ON r.p = two.p
JOIN link_pages page2 ON page2.qid = one.o
