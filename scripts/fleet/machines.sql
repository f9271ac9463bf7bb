-- Outliers among machines: captures that end with more memory of a layer than is usual for their build, by
-- over half of the median and by over three times the median distance from it.
WITH held AS (
    SELECT c.capture, c.build, c.machine, h.layer, CAST(sum(h.outstanding_to) AS DOUBLE) AS bytes
    FROM captures c JOIN heaps h ON h.capture = c.capture
    WHERE c.build IS NOT NULL AND c.machine IS NOT NULL
    GROUP BY c.capture, c.build, c.machine, h.layer
), usual AS (
    SELECT build, layer, median(bytes) AS middle, count(*) AS captures FROM held GROUP BY build, layer
), distances AS (
    SELECT h.build, h.layer, median(abs(h.bytes - u.middle)) AS distance
    FROM held h JOIN usual u ON u.build = h.build AND u.layer = h.layer
    GROUP BY h.build, h.layer
)
SELECT h.machine, h.build, h.layer, CAST(h.bytes AS BIGINT) AS bytes, CAST(round(u.middle) AS BIGINT) AS usual,
       round(h.bytes / u.middle, 2) AS times
FROM held h
JOIN usual u ON u.build = h.build AND u.layer = h.layer
JOIN distances d ON d.build = h.build AND d.layer = h.layer
WHERE u.captures >= 3 AND u.middle > 0 AND h.bytes > 1.5 * u.middle AND h.bytes - u.middle > 3 * d.distance
ORDER BY times DESC, h.machine, h.build, h.layer
LIMIT 20
