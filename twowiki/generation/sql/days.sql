-- One row per date. Unique: o.
SELECT DISTINCT o, year, year_o, low, high, precision
FROM dates
ORDER BY o
