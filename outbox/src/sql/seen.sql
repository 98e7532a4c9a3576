-- Notes that these handlers are run. An UPDATE: a subscription that an operator ended stays ended.
-- $1 handlers
WITH mine AS (
  SELECT handler FROM outbox_handlers WHERE handler = ANY ($1::text[]) ORDER BY handler FOR UPDATE
)
UPDATE outbox_handlers h SET last_seen_at = clock_timestamp() FROM mine WHERE h.handler = mine.handler
RETURNING h.handler
