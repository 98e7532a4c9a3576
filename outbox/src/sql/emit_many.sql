-- Writes up to 1,000 events of any types: for each a row for every handler that is linked in the emitting binary or
-- subscribed to its type, or one row without a handler where nobody is. As emit_renamed.sql, which explains the steps.
--
-- Events:      $1 ids of the records  $2 event ids  $3 numbers of their types  $4 payloads  $5 the types  $6 headers
-- Linked:      $7 number of the type  $8 handler  $9 max_retries | $10 former name  $11 whose it is
-- Candidates: $12 number of the type $13 pattern that matches it
-- $14 max_retries of the call  $15 max_retries when neither call, handler nor subscription says so
-- $16 delay in ms              $17 occurred at
-- $18 tenant  $19 aggregate type  $20 aggregate id  $21 partition key  $22 correlation id  $23 causation id
-- $24 channels to notify
WITH RECURSIVE
renamed AS MATERIALIZED (
  SELECT COALESCE(array_agg(r.name ORDER BY r.name, r.handler), '{}') AS names,
         COALESCE(array_agg(r.handler ORDER BY r.name, r.handler), '{}') AS handlers
  FROM (SELECT a.name, s.handler
        FROM outbox_handlers s CROSS JOIN LATERAL unnest(s.aliases) a (name)
        WHERE s.aliases <> '{}' AND a.name <> s.handler
        UNION ALL
        SELECT l.name, l.handler FROM unnest($10::text[], $11::text[]) l (name, handler)) r
),
walk AS (
  SELECT n.name AS first, n.name FROM renamed r CROSS JOIN LATERAL unnest(r.names) n (name)
  UNION
  SELECT w.first, r.handlers[array_position(r.names, w.name)]
  FROM walk w JOIN renamed r ON w.name = ANY (r.names)
),
successor AS (
  SELECT w.first AS name, COALESCE(min(w.name) FILTER (WHERE w.name <> ALL (r.names)), min(w.name)) AS handler
  FROM walk w CROSS JOIN renamed r
  GROUP BY w.first
),
taker AS (
  SELECT DISTINCT n.type, COALESCE(u.handler, n.name) AS handler
  FROM (SELECT l.type, l.name FROM unnest($7::int4[], $8::text[]) l (type, name)
        UNION ALL
        -- By equality, so that many types and many patterns meet in a hash table.
        SELECT c.type, s.handler
        FROM outbox_handlers s CROSS JOIN LATERAL unnest(s.patterns) p (pattern)
        JOIN unnest($12::int4[], $13::text[]) c (type, pattern) ON c.pattern = p.pattern) n
  LEFT JOIN successor u ON u.name = n.name
),
numbered AS (
  SELECT t.type, t.handler, COALESCE(l.max_retries, s.max_retries) AS max_retries,
         (row_number() OVER (PARTITION BY t.type ORDER BY t.handler))::int2 AS ordinal
  FROM taker t
  LEFT JOIN unnest($7::int4[], $8::text[], $9::int4[]) l (type, handler, max_retries)
    ON l.type = t.type AND l.handler = t.handler
  LEFT JOIN outbox_handlers s ON s.handler = t.handler
),
written AS (
  INSERT INTO outbox_events
    (id, event_id, event_type, handler, payload, headers, max_retries,
     next_attempt_at, created_at, updated_at, occurred_at,
     tenant_id, aggregate_type, aggregate_id, partition_key, correlation_id, causation_id)
  SELECT
    CASE WHEN n.handler IS NULL THEN e.id
         ELSE encode(overlay(uuid_send(e.id) PLACING int2send(n.ordinal) FROM 15 FOR 2), 'hex')::uuid END,
    e.event_id, ($5::text[])[e.type], n.handler, e.payload::jsonb, $6::text::jsonb,
    CASE WHEN n.handler IS NULL THEN $14::int4 ELSE COALESCE($14::int4, n.max_retries, $15::int4) END,
    c.at + $16::int8 * interval '1 millisecond', c.at, c.at, COALESCE($17::timestamptz, c.at),
    $18::text, $19::text, $20::text, $21::text, $22::text, $23::text
  FROM (SELECT clock_timestamp() AS at OFFSET 0) c
  CROSS JOIN unnest($1::uuid[], $2::uuid[], $3::int4[], $4::text[]) e (id, event_id, type, payload)
  LEFT JOIN numbered n ON n.type = e.type
)
SELECT pg_notify(channel, '') FROM unnest($24::text[]) channel
