-- As emit.sql, where handlers have former names: a name that another handler gave up gets no row of its own, but one
-- under that handler's name.
--
--  $1 id of the record          $2 event id            $3 event type         $4 payload            $5 headers
--  $6 linked handlers           $7 their max_retries   $8 former names       $9 whose they are     $10 patterns that match
-- $11 max_retries of the call  $12 max_retries when neither call, handler nor subscription says so
-- $13 delay in ms              $14 occurred at
-- $15 tenant  $16 aggregate type  $17 aggregate id  $18 partition key  $19 correlation id  $20 causation id
-- $21 channels to notify
WITH RECURSIVE
-- Who was renamed to whom, as the subscriptions and the linked handlers say; nearly always nobody. One row of two
-- arrays: the planner expects little of it, so the estimate stays below the threshold of the JIT compiler.
renamed AS MATERIALIZED (
  SELECT COALESCE(array_agg(r.name ORDER BY r.name, r.handler), '{}') AS names,
         COALESCE(array_agg(r.handler ORDER BY r.name, r.handler), '{}') AS handlers
  FROM (SELECT a.name, s.handler
        FROM outbox_handlers s CROSS JOIN LATERAL unnest(s.aliases) a (name)
        WHERE s.aliases <> '{}' AND a.name <> s.handler
        UNION ALL
        SELECT l.name, l.handler FROM unnest($8::text[], $9::text[]) l (name, handler)) r
),
-- From each former name along the renames to the end. UNION ends also on a circle.
walk AS (
  SELECT n.name AS first, n.name FROM renamed r CROSS JOIN LATERAL unnest(r.names) n (name)
  UNION
  SELECT w.first, r.handlers[array_position(r.names, w.name)]
  FROM walk w JOIN renamed r ON w.name = ANY (r.names)
),
-- The name to use instead: the last one; on a circle its smallest, the same one for all of its names.
successor AS (
  SELECT w.first AS name, COALESCE(min(w.name) FILTER (WHERE w.name <> ALL (r.names)), min(w.name)) AS handler
  FROM walk w CROSS JOIN renamed r
  GROUP BY w.first
),
taker AS (
  SELECT DISTINCT COALESCE(u.handler, n.name) AS handler
  FROM (SELECT l.name FROM unnest($6::text[]) l (name)
        UNION ALL
        SELECT s.handler FROM outbox_handlers s WHERE s.patterns && $10::text[]) n
  LEFT JOIN successor u ON u.name = n.name
),
numbered AS (
  SELECT t.handler, COALESCE(l.max_retries, s.max_retries) AS max_retries,
         (row_number() OVER (ORDER BY t.handler))::int2 AS ordinal
  FROM taker t
  LEFT JOIN unnest($6::text[], $7::int4[]) l (handler, max_retries) ON l.handler = t.handler
  LEFT JOIN outbox_handlers s ON s.handler = t.handler
),
written AS (
  INSERT INTO outbox_events
    (id, event_id, event_type, handler, payload, headers, max_retries,
     next_attempt_at, created_at, updated_at, occurred_at,
     tenant_id, aggregate_type, aggregate_id, partition_key, correlation_id, causation_id)
  SELECT
    -- The handler's ordinal stands in the last two bytes of every bound row's id, so the rows of one event differ.
    CASE WHEN n.handler IS NULL THEN $1::uuid
         ELSE encode(overlay(uuid_send($1::uuid) PLACING int2send(n.ordinal) FROM 15 FOR 2), 'hex')::uuid END,
    $2::uuid, $3::text, n.handler, $4::text::jsonb, $5::text::jsonb,
    -- A row without a handler keeps only what the call said; the rest is chosen when it is bound.
    CASE WHEN n.handler IS NULL THEN $11::int4 ELSE COALESCE($11::int4, n.max_retries, $12::int4) END,
    c.at + $13::int8 * interval '1 millisecond', c.at, c.at, COALESCE($14::timestamptz, c.at),
    $15::text, $16::text, $17::text, $18::text, $19::text, $20::text
  FROM (SELECT clock_timestamp() AS at OFFSET 0) c
  LEFT JOIN numbered n ON true
)
-- Constant and empty, so that PostgreSQL keeps one per transaction.
SELECT pg_notify(channel, '') FROM unnest($21::text[]) channel
