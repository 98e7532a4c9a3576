-- Writes the subscriptions of the handlers that a runtime runs. Patterns are added, never removed: an older version
-- that restarts must not end a newer one's subscription.
-- $1 handlers  $2 their limits | $3 handler, $4 pattern | $5 handler, $6 alias
INSERT INTO outbox_handlers (handler, patterns, max_retries, aliases, last_seen_at)
SELECT h.name, ARRAY(SELECT p.pattern FROM unnest($3::text[], $4::text[]) AS p(name, pattern) WHERE p.name = h.name),
  h.max_retries, ARRAY(SELECT a.alias FROM unnest($5::text[], $6::text[]) AS a(name, alias) WHERE a.name = h.name),
  clock_timestamp()
FROM unnest($1::text[], $2::int[]) AS h(name, max_retries)
ORDER BY h.name
ON CONFLICT (handler) DO UPDATE
SET patterns = ARRAY(SELECT DISTINCT p FROM unnest(outbox_handlers.patterns || EXCLUDED.patterns) p ORDER BY p),
    max_retries = EXCLUDED.max_retries, aliases = EXCLUDED.aliases, last_seen_at = EXCLUDED.last_seen_at
RETURNING handler
