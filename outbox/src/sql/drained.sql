-- Whether nothing is open for these handlers, bound or not.
-- $1 handlers  $2 event types  $3 patterns that end in `*`
WITH RECURSIVE types AS (
  -- A skip scan over the types of records that are not bound; none without a pattern.
  (SELECT e.event_type FROM outbox_events e
   WHERE e.processed_at IS NULL AND e.handler IS NULL AND cardinality($3::text[]) > 0
   ORDER BY e.event_type LIMIT 1)
  UNION ALL
  SELECT (SELECT e.event_type FROM outbox_events e WHERE e.processed_at IS NULL AND e.handler IS NULL
            AND e.event_type > t.event_type
          ORDER BY e.event_type LIMIT 1)
  FROM types t WHERE t.event_type IS NOT NULL
)
SELECT NOT EXISTS (SELECT FROM unnest($1::text[]) AS h(name), LATERAL (
    SELECT FROM outbox_events e WHERE e.handler = h.name AND e.processed_at IS NULL LIMIT 1) x)
  AND NOT EXISTS (SELECT FROM unnest($2::text[]) AS t(name), LATERAL (
    SELECT FROM outbox_events e WHERE e.handler IS NULL AND e.event_type = t.name AND e.processed_at IS NULL LIMIT 1) x)
  AND NOT EXISTS (SELECT FROM types t, unnest($3::text[]) q
    WHERE t.event_type IS NOT NULL AND (q = '*' OR starts_with(t.event_type, left(q, -1))))
  AS drained
