-- Regressions by type: what the objects of a C++ type come to at the end of a capture, on the average of
-- a build's captures, where that is more than in the build before (by the time of its first capture).
WITH builds AS (
    SELECT build, min(start_time) AS since, CAST(count(*) AS DOUBLE) AS captures
    FROM captures WHERE build IS NOT NULL GROUP BY build
), held AS (
    SELECT a.layer, coalesce(a.type, '(unknown type)') AS type, c.build, sum(a.size) AS bytes, count(*) AS blocks
    FROM allocations a JOIN captures c ON c.capture = a.capture
    WHERE c.build IS NOT NULL AND (a.death_s IS NULL OR a.death_s >= c.to_s)
    GROUP BY a.layer, coalesce(a.type, '(unknown type)'), c.build
), every AS (
    SELECT t.layer, t.type, b.build, b.since, coalesce(h.bytes, 0) / b.captures AS bytes, coalesce(h.blocks, 0) / b.captures AS blocks
    FROM (SELECT DISTINCT layer, type FROM held) t CROSS JOIN builds b
    LEFT JOIN held h ON h.layer = t.layer AND h.type = t.type AND h.build = b.build
), changed AS (
    SELECT layer, type, build, since, bytes, blocks,
           lag(build) OVER (PARTITION BY layer, type ORDER BY since, build) AS build_before,
           lag(bytes) OVER (PARTITION BY layer, type ORDER BY since, build) AS bytes_before
    FROM every
)
SELECT layer, type, build_before, build, CAST(round(bytes_before) AS BIGINT) AS bytes_before,
       CAST(round(bytes) AS BIGINT) AS bytes, CAST(round(blocks) AS BIGINT) AS blocks
FROM changed
WHERE bytes > bytes_before
ORDER BY bytes - bytes_before DESC, layer, type, build
LIMIT 20
