-- Counts, up to $1 each, open rows of handlers that nobody has run for a day, and of event types that no
-- subscription wants. Distinct handlers and types come from a skip scan: the cost goes with their number, not the
-- table's size.
WITH RECURSIVE handlers AS (
  (SELECT e.handler FROM outbox_events e WHERE e.processed_at IS NULL AND e.handler IS NOT NULL
   ORDER BY e.handler LIMIT 1)
  UNION ALL
  SELECT (SELECT e.handler FROM outbox_events e WHERE e.processed_at IS NULL AND e.handler > h.handler
          ORDER BY e.handler LIMIT 1)
  FROM handlers h WHERE h.handler IS NOT NULL
),
types AS (
  (SELECT e.event_type FROM outbox_events e WHERE e.processed_at IS NULL AND e.handler IS NULL
   ORDER BY e.event_type LIMIT 1)
  UNION ALL
  SELECT (SELECT e.event_type FROM outbox_events e WHERE e.processed_at IS NULL AND e.handler IS NULL
            AND e.event_type > t.event_type
          ORDER BY e.event_type LIMIT 1)
  FROM types t WHERE t.event_type IS NOT NULL
)
SELECT h.handler, NULL AS event_type, (
  SELECT count(*) FROM (SELECT FROM outbox_events e WHERE e.processed_at IS NULL AND e.handler = h.handler LIMIT $1) x
) AS rows
FROM handlers h
WHERE h.handler IS NOT NULL AND NOT EXISTS (
  SELECT FROM outbox_handlers s
  WHERE (s.handler = h.handler OR h.handler = ANY (s.aliases)) AND s.last_seen_at > clock_timestamp() - interval '24 hours')
UNION ALL
SELECT NULL, t.event_type, (
  SELECT count(*) FROM (
    SELECT FROM outbox_events e WHERE e.processed_at IS NULL AND e.handler IS NULL AND e.event_type = t.event_type
    LIMIT $1) x
)
FROM types t
WHERE t.event_type IS NOT NULL AND NOT EXISTS (
  SELECT FROM outbox_handlers s, unnest(s.patterns) q
  WHERE s.last_seen_at > clock_timestamp() - interval '24 hours'
    AND (q = t.event_type OR q = '*' OR (right(q, 2) = '.*' AND starts_with(t.event_type, left(q, -1)))))
