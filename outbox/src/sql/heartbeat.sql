-- Renews a runtime's claims; never one that has expired or is another's.
-- $1 ids  $2 claim tokens  $3 lease in ms
UPDATE outbox_events e
SET lease_expires_at = l.at + $3 * interval '1 millisecond'
FROM (
  -- The token is compared on the locked row and the clock read above the lock, as when settling.
  SELECT k.id, clock_timestamp() AS at
  FROM (
    SELECT o.id FROM unnest($1::uuid[], $2::uuid[]) AS i(id, token)
    JOIN outbox_events o ON o.id = i.id AND o.claim_token = i.token
    ORDER BY o.id
    FOR NO KEY UPDATE OF o SKIP LOCKED
  ) k OFFSET 0
) l
WHERE e.id = l.id AND e.status = 'PROCESSING' AND e.lease_expires_at > l.at
RETURNING e.id
