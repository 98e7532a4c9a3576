-- Claims due rows that have no handler yet, binds each to all subscribed handlers and writes the siblings' rows,
-- in one statement: PROCESSING without a handler never exists.
-- $1 event types  $2 slots for each  $3, $4 each one's position  $5 each type's own limit
-- $6 claim token  $7 lease in ms  $8 worker  $9 the handlers that run here  $10 this runtime's limit  $11 channel
-- $12 event type  $13 pattern that matches it
WITH RECURSIVE pick AS MATERIALIZED (
  SELECT x.*, k.type_max FROM unnest($1::text[], $2::int[], $3::timestamptz[], $4::uuid[], $5::int[])
    AS k(name, slots, at, id, type_max),
  LATERAL (
    SELECT e.id, e.event_type, e.next_attempt_at, e.max_retries FROM outbox_events e
    WHERE e.handler IS NULL AND e.event_type = k.name AND e.processed_at IS NULL AND e.status = 'PENDING'
      AND e.next_attempt_at <= now() AND (e.next_attempt_at, e.id) > (k.at, k.id)
    ORDER BY e.next_attempt_at, e.id LIMIT k.slots
    FOR UPDATE SKIP LOCKED
  ) x
),
-- Who was renamed to whom, as emit_renamed.sql has it: a row that is bound gets the names that emit would have chosen.
renamed AS MATERIALIZED (
  SELECT COALESCE(array_agg(r.name ORDER BY r.name, r.handler), '{}') AS names,
         COALESCE(array_agg(r.handler ORDER BY r.name, r.handler), '{}') AS handlers
  FROM (SELECT a.name, s.handler
        FROM outbox_handlers s CROSS JOIN LATERAL unnest(s.aliases) a (name)
        WHERE s.aliases <> '{}' AND a.name <> s.handler) r
),
walk AS (
  SELECT n.name AS first, n.name FROM renamed r CROSS JOIN LATERAL unnest(r.names) n (name)
  UNION
  SELECT w.first, r.handlers[array_position(r.names, w.name)]
  FROM walk w JOIN renamed r ON w.name = ANY (r.names)
),
successor AS (
  SELECT w.first AS name, COALESCE(min(w.name) FILTER (WHERE w.name <> ALL (r.names)), min(w.name)) AS handler
  FROM walk w CROSS JOIN renamed r
  GROUP BY w.first
),
-- What each type's subscriptions come to. By equality with the type's candidates, as emit compares them.
taker AS (
  SELECT DISTINCT c.event_type, COALESCE(u.handler, s.handler) AS handler
  FROM outbox_handlers s CROSS JOIN LATERAL unnest(s.patterns) p (pattern)
  JOIN unnest($12::text[], $13::text[]) c (event_type, pattern) ON c.pattern = p.pattern
  LEFT JOIN successor u ON u.name = s.handler
),
bound AS MATERIALIZED (
  -- The first of each event's handlers takes the row itself: one that runs here, where there is one.
  SELECT p.id, t.handler, COALESCE(p.max_retries, s.max_retries, p.type_max, $10, 5) AS max_retries,
    row_number() OVER (PARTITION BY p.id ORDER BY t.handler = ANY ($9::text[]) DESC, t.handler) AS n
  FROM pick p JOIN taker t USING (event_type) LEFT JOIN outbox_handlers s ON s.handler = t.handler
),
claimed AS (
  UPDATE outbox_events e
  SET handler = b.handler, max_retries = b.max_retries, status = 'PROCESSING', claim_token = $6,
      lease_expires_at = clock_timestamp() + $7 * interval '1 millisecond', claimed_by = $8,
      updated_at = clock_timestamp()
  FROM bound b
  WHERE b.n = 1 AND b.handler = ANY ($9::text[]) AND e.id = b.id
  RETURNING e.*
),
siblings AS (
  INSERT INTO outbox_events (event_id, event_type, handler, payload, headers, max_retries, next_attempt_at,
    created_at, occurred_at, tenant_id, aggregate_type, aggregate_id, partition_key, correlation_id, causation_id,
    idempotency_key, ordering_key)
  SELECT c.event_id, c.event_type, b.handler, c.payload, c.headers, b.max_retries, clock_timestamp(),
    c.created_at, c.occurred_at, c.tenant_id, c.aggregate_type, c.aggregate_id, c.partition_key, c.correlation_id,
    c.causation_id, c.idempotency_key, c.ordering_key
  FROM claimed c JOIN bound b USING (id) WHERE b.n > 1
  RETURNING 1
),
woken AS MATERIALIZED (
  SELECT pg_notify($11, '') FROM (SELECT FROM siblings LIMIT 1) s
)
SELECT now() AS now, (SELECT count(*) FROM woken) AS woken, (SELECT count(*) FROM siblings) AS siblings,
  p.event_type AS picked_type, p.next_attempt_at AS picked_at, p.id AS picked_id,
  c.id, c.handler, c.next_attempt_at, c.event_id, c.event_type, c.payload::text AS payload, NULLIF(c.headers, '{}')::text AS headers,
  c.retry_count, c.max_retries, c.recovery_count, c.created_at, c.occurred_at, c.tenant_id, c.correlation_id,
  c.causation_id
FROM (SELECT) one LEFT JOIN (pick p LEFT JOIN claimed c USING (id)) ON true
