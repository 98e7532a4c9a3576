-- Claims due records of the handlers that run here.
-- $1 handler names  $2 slots for each  $3, $4 each one's position: the (next_attempt_at, id) after which to look
-- $5 claim token  $6 lease in ms  $7 worker  $8 whether a suspect may start now
-- $9 the event types of these handlers, for a glance at rows that are not bound to a handler yet
WITH pick AS MATERIALIZED (
  -- One index probe per handler. The limit is exact whatever the plan: the rows are picked before anything is
  -- joined to them.
  SELECT x.* FROM unnest($1::text[], $2::int[], $3::timestamptz[], $4::uuid[]) AS h(name, slots, at, id),
  LATERAL (
    SELECT e.ctid AS tid, e.id, e.handler, e.next_attempt_at, e.recovery_count FROM outbox_events e
    WHERE e.handler = h.name AND e.processed_at IS NULL AND e.status = 'PENDING'
      AND e.next_attempt_at <= now() AND (e.next_attempt_at, e.id) > (h.at, h.id)
    ORDER BY e.next_attempt_at, e.id LIMIT h.slots
    FOR UPDATE SKIP LOCKED
  ) x
),
cut AS MATERIALIZED (
  -- Suspects, records that lost their lease twice or more, run one at a time; the others stay PENDING and are
  -- only reported, so that the position moves past them and their neighbours come next.
  SELECT p.*, p.recovery_count < 2 OR ($8 AND row_number() OVER (
      PARTITION BY p.recovery_count >= 2 ORDER BY p.next_attempt_at, p.id) = 1) AS kept
  FROM pick p
),
claimed AS (
  UPDATE outbox_events e
  SET status = 'PROCESSING', claim_token = $5, lease_expires_at = clock_timestamp() + $6 * interval '1 millisecond',
      claimed_by = $7, updated_at = clock_timestamp()
  WHERE e.ctid = ANY (ARRAY(SELECT tid FROM cut WHERE kept))
  RETURNING e.id, e.handler, e.next_attempt_at, e.event_id, e.event_type, e.payload::text AS payload,
    NULLIF(e.headers, '{}')::text AS headers, e.retry_count, e.max_retries, e.recovery_count,
    e.created_at, e.occurred_at, e.tenant_id, e.correlation_id, e.causation_id
),
-- Only a claim that came back short asks when the next record is due: who has work has no use for the answer.
short AS (SELECT (SELECT count(*) FROM pick) < (SELECT sum(s) FROM unnest($2::int[]) s) AS yes)
SELECT now() AS now, head.*, row.*
FROM (
  SELECT
    EXISTS (
      SELECT FROM unnest($9::text[]) AS t(name), LATERAL (
        SELECT FROM outbox_events e
        WHERE e.handler IS NULL AND e.event_type = t.name AND e.processed_at IS NULL AND e.status = 'PENDING'
          AND e.next_attempt_at <= now() LIMIT 1) x
    ) AS unbound,
    CASE WHEN short.yes THEN (
      SELECT (EXTRACT(epoch FROM min(x.at) - clock_timestamp()) * 1000)::float8 FROM (
        SELECT d.at FROM unnest($1::text[]) AS h(name), LATERAL (
          SELECT e.next_attempt_at AS at FROM outbox_events e
          WHERE e.handler = h.name AND e.processed_at IS NULL AND e.next_attempt_at > now()
          ORDER BY e.next_attempt_at, e.id LIMIT 1) d
        UNION ALL
        SELECT d.at FROM unnest($9::text[]) AS t(name), LATERAL (
          SELECT e.next_attempt_at AS at FROM outbox_events e
          WHERE e.handler IS NULL AND e.event_type = t.name AND e.processed_at IS NULL AND e.next_attempt_at > now()
          ORDER BY e.next_attempt_at, e.id LIMIT 1) d
      ) x
    ) END AS next_due_ms
  FROM short
) head
LEFT JOIN (
  SELECT * FROM claimed
  UNION ALL
  SELECT c.id, c.handler, c.next_attempt_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM cut c WHERE NOT c.kept
) row ON true
