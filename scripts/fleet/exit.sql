-- Blocks at exit by build: what heaps and trackers of processes still held when these ended, on the average
-- of the processes of that name that ended in the interval. The twenty largest of each build and layer.
WITH ended AS (
    SELECT p.capture, p.process_id, p.name, p.end_s, c.build
    FROM processes p JOIN captures c ON c.capture = p.capture
    WHERE p.end_s >= c.from_s AND p.end_s < c.to_s AND c.build IS NOT NULL
), counted AS (
    SELECT build, name, CAST(count(*) AS DOUBLE) AS processes FROM ended GROUP BY build, name
), left_over AS (
    SELECT e.build, e.name, a.layer, count(*) AS blocks, sum(a.size) AS bytes
    FROM allocations a JOIN ended e ON e.capture = a.capture AND e.process_id = a.process_id
    WHERE a.layer <> 'commit' AND a.death_s IS NULL AND (a.birth_s IS NULL OR a.birth_s <= e.end_s)
    GROUP BY e.build, e.name, a.layer
), ranked AS (
    SELECT l.build, l.name AS process, l.layer, CAST(round(l.blocks / n.processes) AS BIGINT) AS blocks,
           CAST(round(l.bytes / n.processes) AS BIGINT) AS bytes,
           row_number() OVER (PARTITION BY l.build, l.layer ORDER BY l.bytes / n.processes DESC, l.name) AS place
    FROM left_over l JOIN counted n ON n.build = l.build AND n.name = l.name
)
SELECT build, process, layer, blocks, bytes
FROM ranked
WHERE place <= 20
ORDER BY build, layer, bytes DESC, process
