-- Puts records back whose lease has expired, a chunk per handler, and says how far it looked.
-- $1 handler names  $2, $3 each one's (next_attempt_at, id) after which to look  $4 until  $5 rows per handler
-- $6 how many leases a record may lose before it is FAILED; NULL: any number  $7 channel
WITH scan AS MATERIALIZED (
  SELECT h.name, x.* FROM unnest($1::text[], $2::timestamptz[], $3::uuid[], $4::timestamptz[])
    AS h(name, at, id, until),
  LATERAL (
    SELECT e.id, e.next_attempt_at, e.status, e.lease_expires_at FROM outbox_events e
    WHERE e.handler = h.name AND e.processed_at IS NULL
      AND (e.next_attempt_at, e.id) > (h.at, h.id) AND e.next_attempt_at <= LEAST(h.until, now())
    ORDER BY e.next_attempt_at, e.id LIMIT $5
  ) x
),
expired AS MATERIALIZED (
  SELECT k.id, clock_timestamp() AS at
  FROM (
    SELECT o.id FROM outbox_events o
    WHERE o.id = ANY (ARRAY(
      SELECT s.id FROM scan s WHERE s.status = 'PROCESSING' AND s.lease_expires_at <= clock_timestamp()))
    ORDER BY o.id
    FOR UPDATE SKIP LOCKED
  ) k OFFSET 0
),
recovered AS (
  UPDATE outbox_events e
  SET recovery_count = LEAST(e.recovery_count, 2147483646) + 1,
      claim_token = NULL, lease_expires_at = NULL, claimed_by = NULL, updated_at = x.at,
      status = CASE WHEN e.recovery_count >= $6 - 1 THEN 'FAILED' ELSE 'PENDING' END,
      next_attempt_at = CASE WHEN e.recovery_count >= $6 - 1 THEN e.next_attempt_at ELSE x.at END,
      last_error = CASE WHEN e.recovery_count >= $6 - 1 THEN format(
          'the lease was lost %s times in a row without a result: the process that runs the handler dies or hangs on this event (last claimed by %s)',
          e.recovery_count::bigint + 1, COALESCE(e.claimed_by, 'an unknown worker'))
        ELSE e.last_error END,
      processed_at = CASE WHEN e.recovery_count >= $6 - 1 THEN x.at END,
      failed_at = CASE WHEN e.recovery_count >= $6 - 1 THEN x.at END
  FROM expired x
  WHERE e.id = x.id AND e.status = 'PROCESSING' AND e.lease_expires_at <= x.at
  RETURNING e.id, e.handler, e.status
),
woken AS MATERIALIZED (
  SELECT pg_notify($7, '') FROM (SELECT FROM recovered WHERE status = 'PENDING' LIMIT 1) r
)
SELECT (SELECT count(*) FROM woken) AS woken,
  (SELECT array_agg(id) FROM recovered WHERE status = 'PENDING') AS requeued,
  (SELECT array_agg(id) FROM recovered WHERE status = 'FAILED') AS failed,
  h.name, s.n, s.last_at, s.last_id
FROM unnest($1::text[]) AS h(name)
LEFT JOIN (
  SELECT name, count(*) AS n,
    (array_agg(next_attempt_at ORDER BY next_attempt_at DESC, id DESC))[1] AS last_at,
    (array_agg(id ORDER BY next_attempt_at DESC, id DESC))[1] AS last_id
  FROM scan GROUP BY name
) s USING (name)
