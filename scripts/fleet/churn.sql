-- Churn by module: what was allocated and freed again while a capture ran, by the module that wanted it
-- (the allocator's frames left out), on the average of a build's captures. The twenty largest of each layer.
WITH builds AS (
    SELECT build, CAST(count(*) AS DOUBLE) AS captures FROM captures WHERE build IS NOT NULL GROUP BY build
), churned AS (
    SELECT c.build, a.layer, coalesce(s.module, '(no module)') AS module, count(*) AS blocks,
           sum(a.size) AS bytes, avg(a.death_s - a.birth_s) AS lifetime_s
    FROM allocations a
    JOIN captures c ON c.capture = a.capture
    JOIN stacks s ON s.capture = a.capture AND s.stack_id = a.stack_id
    WHERE c.build IS NOT NULL AND a.birth_s >= c.from_s AND a.death_s < c.to_s
    GROUP BY c.build, a.layer, coalesce(s.module, '(no module)')
), ranked AS (
    SELECT n.layer, n.module, n.build, CAST(round(n.blocks / b.captures) AS BIGINT) AS blocks,
           CAST(round(n.bytes / b.captures) AS BIGINT) AS bytes, round(n.lifetime_s, 3) AS lifetime_s,
           row_number() OVER (PARTITION BY n.layer ORDER BY n.bytes / b.captures DESC, n.module, n.build) AS place
    FROM churned n JOIN builds b ON b.build = n.build
)
SELECT layer, module, build, blocks, bytes, lifetime_s
FROM ranked
WHERE place <= 20
ORDER BY layer, bytes DESC, module, build
