-- Gives claims back, at shutdown or when they could not be started: due at once, no attempt charged.
-- $1 ids  $2 claim tokens  $3 channel
WITH released AS (
  UPDATE outbox_events e
  SET status = 'PENDING', next_attempt_at = l.at, updated_at = l.at,
      claim_token = NULL, lease_expires_at = NULL, claimed_by = NULL
  FROM (
    SELECT k.id, clock_timestamp() AS at
    FROM (
      SELECT o.id FROM unnest($1::uuid[], $2::uuid[]) AS i(id, token)
      JOIN outbox_events o ON o.id = i.id AND o.claim_token = i.token
      ORDER BY o.id
      FOR UPDATE OF o SKIP LOCKED
    ) k OFFSET 0
  ) l
  WHERE e.id = l.id AND e.status = 'PROCESSING'
  RETURNING e.id
),
woken AS MATERIALIZED (SELECT pg_notify($3, '') FROM (SELECT FROM released LIMIT 1) r)
SELECT id, (SELECT count(*) FROM woken) AS woken FROM released
