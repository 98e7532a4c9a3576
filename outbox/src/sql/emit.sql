-- Writes one event: a row for every handler that is linked in the emitting binary or subscribed to the type, or one
-- row without a handler where nobody is. One statement, so that it costs the caller's transaction one round trip.
--
-- Only while no handler has a former name, which is nearly always: emit_renamed.sql takes the names into account, and
-- starting the parts of its plan costs a tenth of a millisecond. Returns whether there are former names; then it has
-- written nothing.
--
--  $1 id of the record          $2 event id            $3 event type         $4 payload            $5 headers
--  $6 linked handlers           $7 their max_retries   $8 patterns that match
--  $9 max_retries of the call  $10 max_retries when neither call, handler nor subscription says so
-- $11 delay in ms              $12 occurred at
-- $13 tenant  $14 aggregate type  $15 aggregate id  $16 partition key  $17 correlation id  $18 causation id
-- $19 channels to notify
WITH moment AS MATERIALIZED (
  SELECT clock_timestamp() AS at, EXISTS (SELECT FROM outbox_handlers WHERE cardinality(aliases) > 0) AS renamed
),
numbered AS (
  SELECT t.handler, t.max_retries, (row_number() OVER (ORDER BY t.handler))::int2 AS ordinal
  FROM (SELECT l.handler,
               COALESCE(l.max_retries, (SELECT s.max_retries FROM outbox_handlers s WHERE s.handler = l.handler)) AS max_retries
        FROM unnest($6::text[], $7::int4[]) l (handler, max_retries)
        UNION ALL
        SELECT s.handler, s.max_retries
        FROM outbox_handlers s
        WHERE s.patterns && $8::text[] AND s.handler <> ALL ($6::text[])) t
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
    CASE WHEN n.handler IS NULL THEN $9::int4 ELSE COALESCE($9::int4, n.max_retries, $10::int4) END,
    c.at + $11::int8 * interval '1 millisecond', c.at, c.at, COALESCE($12::timestamptz, c.at),
    $13::text, $14::text, $15::text, $16::text, $17::text, $18::text
  FROM moment c
  LEFT JOIN numbered n ON true
  WHERE NOT c.renamed
)
-- Constant and empty, so that PostgreSQL keeps one per transaction.
SELECT c.renamed, (SELECT count(pg_notify(channel, '')) FROM unnest($19::text[]) channel WHERE NOT c.renamed) AS notified
FROM moment c
