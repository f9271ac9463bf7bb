-- What each caller holds in each build: bytes alive at the end of a capture, on the average of the captures of a
-- build that have the process. `highwater bisect` looks for shifts in these numbers. The twenty largest.
WITH present AS (
    SELECT DISTINCT c.capture, c.build, p.name AS process
    FROM captures c JOIN processes p ON p.capture = c.capture
    WHERE c.build IS NOT NULL
), counted AS (
    SELECT build, process, CAST(count(*) AS DOUBLE) AS captures FROM present GROUP BY build, process
), held AS (
    SELECT c.build, p.name AS process, a.layer, s.responsible, CAST(sum(a.size) AS DOUBLE) AS bytes
    FROM allocations a
    JOIN captures c ON c.capture = a.capture
    JOIN processes p ON p.capture = a.capture AND p.process_id = a.process_id
    JOIN stacks s ON s.capture = a.capture AND s.stack_id = a.stack_id
    WHERE a.death_s IS NULL OR a.death_s >= c.to_s
    GROUP BY c.build, p.name, a.layer, s.responsible
)
SELECT h.process, h.layer, h.responsible, n.build, CAST(round(h.bytes / n.captures) AS BIGINT) AS bytes
FROM held h JOIN counted n ON n.build = h.build AND n.process = h.process
ORDER BY bytes DESC, h.process, h.layer, h.responsible, n.build
LIMIT 20
