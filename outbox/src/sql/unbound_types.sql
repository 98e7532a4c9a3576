-- The event types of open records that are not bound yet, as far as handlers take them by a pattern. Distinct types
-- come from a skip scan: the cost goes with their number, not the table's size.
-- $1 patterns that end in `*`
WITH RECURSIVE types AS (
  (SELECT e.event_type FROM outbox_events e WHERE e.processed_at IS NULL AND e.handler IS NULL
   ORDER BY e.event_type LIMIT 1)
  UNION ALL
  SELECT (SELECT e.event_type FROM outbox_events e WHERE e.processed_at IS NULL AND e.handler IS NULL
            AND e.event_type > t.event_type
          ORDER BY e.event_type LIMIT 1)
  FROM types t WHERE t.event_type IS NOT NULL
)
SELECT t.event_type FROM types t
CROSS JOIN LATERAL (
  SELECT e.next_attempt_at AS at FROM outbox_events e
  WHERE e.handler IS NULL AND e.event_type = t.event_type AND e.processed_at IS NULL
  ORDER BY e.next_attempt_at LIMIT 1) d
WHERE t.event_type IS NOT NULL
  AND EXISTS (SELECT FROM unnest($1::text[]) q WHERE q = '*' OR starts_with(t.event_type, left(q, -1)))
-- The longest due first: types whose records are delayed don't crowd out those that are due.
ORDER BY d.at, t.event_type LIMIT 1000
