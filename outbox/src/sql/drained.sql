-- Whether nothing is open for these handlers, bound or not.
-- $1 handlers  $2 event types
SELECT NOT EXISTS (SELECT FROM unnest($1::text[]) AS h(name), LATERAL (
    SELECT FROM outbox_events e WHERE e.handler = h.name AND e.processed_at IS NULL LIMIT 1) x)
  AND NOT EXISTS (SELECT FROM unnest($2::text[]) AS t(name), LATERAL (
    SELECT FROM outbox_events e WHERE e.handler IS NULL AND e.event_type = t.name AND e.processed_at IS NULL LIMIT 1) x)
  AS drained
