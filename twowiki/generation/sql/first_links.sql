-- The facts that a chain can start with, with the bucket of the object, where it continues.
SELECT g.s, g.p, g.o, g.stmt_id, g.n_values, g.norm, g.sent_id, l.label_norm, l.bare_norm,
       g.o % x.buckets AS bucket
FROM grounded g
JOIN (SELECT DISTINCT r1 FROM relation_pairs) pair ON pair.r1 = g.p
JOIN (SELECT qid, label_norm, bare_norm FROM linked) l ON l.qid = g.s
JOIN (SELECT qid FROM linked) page ON page.qid = g.o
CROSS JOIN settings x
