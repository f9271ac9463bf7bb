-- Blocks at exit by build: what heaps and trackers of processes still held when these ended, on the average
-- of the processes of that name that ended.
WITH ended AS (
    SELECT p.capture, p.process_id, p.name, p.end_s, c.build
    FROM processes p JOIN captures c ON c.capture = p.capture
    WHERE p.end_s IS NOT NULL AND c.build IS NOT NULL
), counted AS (
    SELECT build, name, CAST(count(*) AS DOUBLE) AS processes FROM ended GROUP BY build, name
), left_over AS (
    SELECT e.build, e.name, a.layer, count(*) AS blocks, sum(a.size) AS bytes
    FROM allocations a JOIN ended e ON e.capture = a.capture AND e.process_id = a.process_id
    WHERE a.layer <> 'commit' AND a.death_s IS NULL AND (a.birth_s IS NULL OR a.birth_s <= e.end_s)
    GROUP BY e.build, e.name, a.layer
)
SELECT l.build, l.name AS process, l.layer, CAST(round(l.blocks / n.processes) AS BIGINT) AS blocks,
       CAST(round(l.bytes / n.processes) AS BIGINT) AS bytes
FROM left_over l JOIN counted n ON n.build = l.build AND n.name = l.name
ORDER BY l.build, l.name, l.layer
LIMIT 20
