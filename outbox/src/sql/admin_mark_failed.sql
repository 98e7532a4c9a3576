-- Makes a PENDING record FAILED, for a reason that the operator gives.
--
-- $1 id  $2 tenant of the scope, NULL for all  $3 reason
--
-- Returns the status that the statement found, and whether it made the change. PENDING and no change means that
-- another transition, such as a claim, came between the two.
WITH seen AS MATERIALIZED (
  SELECT status FROM outbox_events WHERE id = $1::uuid AND ($2::text IS NULL OR tenant_id = $2::text)
),
-- The lock first, which may wait, and the clock after it; MATERIALIZED keeps them in this order.
locked AS MATERIALIZED (
  SELECT l.id, clock_timestamp() AS at
  FROM (SELECT id FROM outbox_events
        WHERE id = $1::uuid AND ($2::text IS NULL OR tenant_id = $2::text) AND status = 'PENDING'
        FOR NO KEY UPDATE OFFSET 0) l
),
applied AS (
  UPDATE outbox_events e
  SET status = 'FAILED', last_error = $3::text, processed_at = l.at, failed_at = l.at, updated_at = l.at
  FROM locked l
  WHERE e.id = l.id
  RETURNING e.id
)
SELECT s.status, EXISTS (SELECT FROM applied) AS applied
FROM seen s
