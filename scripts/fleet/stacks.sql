-- Which stack grew since last week's builds? Bytes alive at the end of a capture, on the average of
-- the captures of this week (seven days up to the newest) and of the week before it.
WITH weeks AS (
    SELECT c.capture, c.to_s, CASE WHEN c.start_time > n.newest - INTERVAL 7 DAYS THEN 1 ELSE 0 END AS is_new
    FROM captures c CROSS JOIN (SELECT max(start_time) AS newest FROM captures) n
    WHERE c.start_time > n.newest - INTERVAL 14 DAYS
), counted AS (
    SELECT CAST(sum(is_new) AS DOUBLE) AS captures_now, CAST(sum(1 - is_new) AS DOUBLE) AS captures_before FROM weeks
), held AS (
    SELECT a.layer, p.name AS process, s.stack_key, max(s.function) AS function,
           CAST(sum(a.size * (1 - w.is_new)) AS DOUBLE) AS bytes_before, CAST(sum(a.size * w.is_new) AS DOUBLE) AS bytes_now
    FROM allocations a
    JOIN weeks w ON w.capture = a.capture
    JOIN processes p ON p.capture = a.capture AND p.process_id = a.process_id
    JOIN stacks s ON s.capture = a.capture AND s.stack_id = a.stack_id
    WHERE a.death_s IS NULL OR a.death_s >= w.to_s
    GROUP BY a.layer, p.name, s.stack_key
)
SELECT layer, process, function, CAST(round(bytes_before / captures_before) AS BIGINT) AS bytes_before,
       CAST(round(bytes_now / captures_now) AS BIGINT) AS bytes_now,
       CAST(round(bytes_now / captures_now - bytes_before / captures_before) AS BIGINT) AS growth
FROM held CROSS JOIN counted
WHERE captures_before > 0 AND bytes_now / captures_now > bytes_before / captures_before
ORDER BY growth DESC, layer, process, stack_key
LIMIT 20
