-- One row per group, entity of it and property that is compared there. `part` is the part of
-- `measures` whose entities are looked up.
SELECT m.s, g.class, g.place, COALESCE(t.type, '') AS type, m.relation, m.kind, m.low, m.high,
       m.o, md5(concat_ws('|', x.seed, CAST(g.class AS STRING), m.relation,
                          CAST(m.s AS STRING))) AS k
FROM (SELECT s, o FROM facts WHERE p = 31 AND s IN (SELECT s FROM part)) f
JOIN popular g ON g.class = f.o
LEFT JOIN class_types t ON t.class = g.class
JOIN comparables c ON c.type = COALESCE(t.type, '')
JOIN part m ON m.s = f.s AND m.relation = c.relation AND m.kind = c.kind
CROSS JOIN settings x
ORDER BY k, g.class, m.kind, m.s
