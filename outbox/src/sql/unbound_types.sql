-- The event types of open rows without a handler that these patterns select: a skip scan, whose cost goes with the
-- number of such types.
-- $1 patterns: `prefix.*` or `*`
WITH RECURSIVE types AS (
  (SELECT e.event_type FROM outbox_events e WHERE e.handler IS NULL AND e.processed_at IS NULL
   ORDER BY e.event_type LIMIT 1)
  UNION ALL
  SELECT (SELECT e.event_type FROM outbox_events e WHERE e.handler IS NULL AND e.processed_at IS NULL
            AND e.event_type > t.event_type
          ORDER BY e.event_type LIMIT 1)
  FROM types t WHERE t.event_type IS NOT NULL
)
SELECT t.event_type FROM types t
WHERE t.event_type IS NOT NULL AND EXISTS (
  SELECT FROM unnest($1::text[]) q
  WHERE q = '*' OR (right(q, 2) = '.*' AND starts_with(t.event_type, left(q, -1))))
