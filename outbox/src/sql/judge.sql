-- Looks, without a lock, at claims that a fenced statement did not touch.
-- $1 ids
SELECT e.id, e.claim_token, COALESCE(e.lease_expires_at > clock_timestamp(), false) AS live
FROM outbox_events e WHERE e.id = ANY ($1::uuid[])
