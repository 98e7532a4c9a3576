-- Writes the results of attempts, each under its claim's fence.
-- $1 ids  $2 claim tokens  $3 whether it was delivered  $4 errors  $5 delays in ms before the next attempt
UPDATE outbox_events e
SET status = CASE WHEN s.delivered THEN 'SENT' WHEN s.again THEN 'PENDING' ELSE 'FAILED' END,
    retry_count = CASE WHEN s.delivered THEN e.retry_count ELSE LEAST(e.retry_count, 2147483646) + 1 END,
    last_error = CASE WHEN s.delivered THEN e.last_error ELSE s.error END,
    next_attempt_at = CASE WHEN s.again THEN s.at + s.delay * interval '1 millisecond' ELSE e.next_attempt_at END,
    processed_at = CASE WHEN NOT s.again THEN s.at END,
    failed_at = CASE WHEN NOT s.again AND NOT s.delivered THEN s.at END,
    updated_at = s.at, claim_token = NULL, lease_expires_at = NULL, claimed_by = NULL, recovery_count = 0
FROM (
  -- The token is compared again on the row as it is once it is locked, so another's claim is neither touched nor
  -- locked. The clock is read above the lock: a fence read before a wait would pass after the lease has expired.
  -- OFFSET 0 keeps the planner from pulling it down.
  SELECT l.*, clock_timestamp() AS at, NOT l.delivered AND l.retry_count < l.max_retries - 1 AS again
  FROM (
    SELECT o.id, o.retry_count, o.max_retries, i.delivered, i.error, i.delay
    FROM unnest($1::uuid[], $2::uuid[], $3::bool[], $4::text[], $5::bigint[]) AS i(id, token, delivered, error, delay)
    JOIN outbox_events o ON o.id = i.id AND o.claim_token = i.token
    ORDER BY o.id
    FOR UPDATE OF o SKIP LOCKED
  ) l OFFSET 0
) s
WHERE e.id = s.id AND e.status = 'PROCESSING' AND e.lease_expires_at > s.at
RETURNING e.id, e.status, e.retry_count, e.max_retries
