-- Makes a FAILED record PENDING and due, and wakes the pollers.
--
-- $1 id  $2 tenant of the scope, NULL for all  $3 channels to notify
--
-- Returns the status that the statement found, and whether it made the change. FAILED and no change means that
-- another transition came between the two.
WITH seen AS MATERIALIZED (
  SELECT status FROM outbox_events WHERE id = $1::uuid AND ($2::text IS NULL OR tenant_id = $2::text)
),
-- The lock first, which may wait, and the clock after it; MATERIALIZED keeps them in this order.
locked AS MATERIALIZED (
  SELECT l.id, clock_timestamp() AS at
  FROM (SELECT id FROM outbox_events
        WHERE id = $1::uuid AND ($2::text IS NULL OR tenant_id = $2::text) AND status = 'FAILED'
        FOR NO KEY UPDATE OFFSET 0) l
),
applied AS (
  UPDATE outbox_events e
  SET status = 'PENDING', next_attempt_at = l.at, updated_at = l.at, recovery_count = 0,
      last_error = NULL, processed_at = NULL, failed_at = NULL,
      claim_token = NULL, lease_expires_at = NULL, claimed_by = NULL
  FROM locked l
  WHERE e.id = l.id
  RETURNING e.id
),
woken AS (
  SELECT pg_notify(channel, '') FROM applied CROSS JOIN unnest($3::text[]) channel
)
-- A CTE that only reads is run as far as it is asked for: counting asks for all of it.
SELECT s.status, EXISTS (SELECT FROM applied) AS applied, (SELECT count(*) FROM woken) AS woken
FROM seen s
