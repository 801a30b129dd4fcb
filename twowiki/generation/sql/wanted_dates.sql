-- The days that the wanted entities' dates may mean. Unique: qid, p.
SELECT f.s AS qid, f.p, MIN(d.low) AS low, MAX(d.high) AS high
FROM wanted w
JOIN facts f ON f.s = w.qid AND f.p IN (569, 570, 571, 577)
JOIN days d ON d.o = f.o
GROUP BY f.s, f.p
ORDER BY f.s, f.p
