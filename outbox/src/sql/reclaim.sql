-- Gives back what claims took whose replies were lost: nobody runs those records. Due at once, no attempt charged.
-- $1 handler names  $2 claim tokens  $3 channel
WITH reclaimed AS (
  UPDATE outbox_events e
  SET status = 'PENDING', next_attempt_at = l.at, updated_at = l.at,
      claim_token = NULL, lease_expires_at = NULL, claimed_by = NULL
  FROM (
    SELECT k.id, clock_timestamp() AS at
    FROM (
      SELECT o.id FROM outbox_events o
      WHERE o.handler = ANY ($1::text[]) AND o.processed_at IS NULL AND o.next_attempt_at <= now()
        AND o.claim_token = ANY ($2::uuid[])
      ORDER BY o.id
      FOR UPDATE OF o SKIP LOCKED
    ) k OFFSET 0
  ) l
  WHERE e.id = l.id AND e.status = 'PROCESSING'
  RETURNING e.id
),
woken AS MATERIALIZED (SELECT pg_notify($3, '') FROM (SELECT FROM reclaimed LIMIT 1) r)
SELECT (SELECT count(*) FROM reclaimed) AS reclaimed, (SELECT count(*) FROM woken) AS woken
