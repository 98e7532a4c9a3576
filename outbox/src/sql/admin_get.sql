-- One record, as a whole.
--
-- $1 id  $2 tenant of the scope, NULL for all
SELECT id, event_id, event_type, handler, payload::text AS payload, headers::text AS headers, status,
       retry_count, max_retries, next_attempt_at, claim_token, lease_expires_at, claimed_by,
       recovery_count, last_error, created_at, occurred_at, updated_at, processed_at, failed_at,
       tenant_id, aggregate_type, aggregate_id, partition_key, correlation_id, causation_id,
       idempotency_key, ordering_key
FROM outbox_events
WHERE id = $1::uuid AND ($2::text IS NULL OR tenant_id = $2::text)
