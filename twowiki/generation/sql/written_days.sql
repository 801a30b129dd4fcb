-- One row per way to write a date. Unique: o, norm.
SELECT DISTINCT o, norm, says, exact
FROM date_forms
ORDER BY o, norm, says
