-- The outbox: one row of outbox_events per event and handler, one row of outbox_handlers per handler.
-- Names stand unqualified: the connection's search_path says which schema.

DO $$
BEGIN
  IF getdatabaseencoding() <> 'UTF8' THEN
    RAISE EXCEPTION 'outbox needs a database with encoding UTF8, this one has %', getdatabaseencoding()
      USING HINT = 'Create the database with ENCODING ''UTF8'' TEMPLATE template0.';
  END IF;
END
$$;

CREATE TABLE outbox_events (
  id               uuid         NOT NULL DEFAULT gen_random_uuid(),
  event_id         uuid         NOT NULL DEFAULT gen_random_uuid(),
  event_type       varchar(255) NOT NULL,
  handler          text,
  payload          jsonb        NOT NULL,
  headers          jsonb        NOT NULL DEFAULT '{}',
  status           varchar(20)  NOT NULL DEFAULT 'PENDING',
  retry_count      int          NOT NULL DEFAULT 0,
  max_retries      int,
  next_attempt_at  timestamptz  DEFAULT now(),
  claim_token      uuid,
  lease_expires_at timestamptz,
  claimed_by       text,
  recovery_count   int          NOT NULL DEFAULT 0,
  last_error       text,
  created_at       timestamptz  NOT NULL DEFAULT now(),
  occurred_at      timestamptz  NOT NULL DEFAULT now(),
  updated_at       timestamptz  NOT NULL DEFAULT now(),
  processed_at     timestamptz,
  failed_at        timestamptz,
  tenant_id        varchar(255),
  aggregate_type   varchar(255),
  aggregate_id     varchar(255),
  partition_key    varchar(255),
  correlation_id   varchar(255),
  causation_id     varchar(255),
  idempotency_key  varchar(255),
  ordering_key     varchar(255),

  CONSTRAINT outbox_events_pkey PRIMARY KEY (id),
  -- The white space of ASCII; the library refuses all of Unicode's before it gets here.
  CONSTRAINT outbox_events_type_is_canonical
    CHECK (event_type <> '' AND event_type = btrim(event_type, E' \t\n\x0b\f\r') AND strpos(event_type, '*') = 0),
  CONSTRAINT outbox_events_handler_is_named CHECK (handler <> ''),
  CONSTRAINT outbox_events_headers_are_an_object CHECK (jsonb_typeof(headers) = 'object'),
  CONSTRAINT outbox_events_status_is_known CHECK (status IN ('PENDING', 'PROCESSING', 'SENT', 'FAILED')),
  CONSTRAINT outbox_events_retry_count_is_not_negative CHECK (retry_count >= 0),
  CONSTRAINT outbox_events_recovery_count_is_not_negative CHECK (recovery_count >= 0),
  CONSTRAINT outbox_events_max_retries_is_positive CHECK (max_retries >= 1),
  CONSTRAINT outbox_events_bound_means_limited CHECK (handler IS NULL OR max_retries IS NOT NULL),
  CONSTRAINT outbox_events_pending_means_scheduled CHECK (status <> 'PENDING' OR next_attempt_at IS NOT NULL),
  CONSTRAINT outbox_events_processing_means_bound CHECK (status <> 'PROCESSING' OR handler IS NOT NULL),
  CONSTRAINT outbox_events_processing_means_claimed
    CHECK ((claim_token IS NOT NULL) = (status = 'PROCESSING')
       AND (lease_expires_at IS NOT NULL) = (status = 'PROCESSING')
       AND (claimed_by IS NULL OR status = 'PROCESSING')),
  CONSTRAINT outbox_events_processed_means_ended
    CHECK ((processed_at IS NOT NULL) = (status IN ('SENT', 'FAILED'))),
  CONSTRAINT outbox_events_failed_at_means_failed
    CHECK ((failed_at IS NOT NULL) = (status = 'FAILED')),
  -- PostgreSQL's range is wider than most languages': a year 200000 or an infinity would be a row that no
  -- consumer can read.
  CONSTRAINT outbox_events_times_are_representable
    CHECK (LEAST(next_attempt_at, lease_expires_at, created_at, occurred_at, updated_at, processed_at, failed_at)
             >= '0001-01-01 00:00:00+00'
       AND GREATEST(next_attempt_at, lease_expires_at, created_at, occurred_at, updated_at, processed_at, failed_at)
             < '10000-01-01 00:00:00+00')
) WITH (
  -- Half of a page stays free, so that claim and settle find room beside the row (HOT updates).
  fillfactor = 50,
  -- The table is a queue: its dead rows must go as fast as they come, whatever its size.
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 1
);

-- A few kilobytes of jsonb can be a gigabyte of text, as 1e100000 has a hundred thousand digits, and a row that can't
-- be read stops every claim that meets it. The condition lets through what can't grow so far, which is nearly all; it
-- is no CHECK, as those are evaluated again with every claim and renewal.
CREATE OR REPLACE FUNCTION outbox_events_refuse_unreadable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF octet_length(NEW.payload::text) > 134217728 OR octet_length(NEW.headers::text) > 134217728 THEN
    RAISE EXCEPTION 'an event of more than 128 MiB of JSON text can''t be delivered'
      USING ERRCODE = 'program_limit_exceeded', HINT = 'Store it elsewhere and let the event say where.';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER outbox_events_are_readable BEFORE INSERT ON outbox_events FOR EACH ROW
  WHEN (pg_column_size(NEW.payload) > 8192 OR pg_column_size(NEW.headers) > 8192)
  EXECUTE FUNCTION outbox_events_refuse_unreadable();

-- The claim of bound rows. No index names status, the lease or updated_at, in columns or predicate:
-- one that did would make every claim and renewal rewrite all indexes.
CREATE INDEX outbox_events_due ON outbox_events (handler, next_attempt_at, id)
  WHERE processed_at IS NULL;

-- The claim of rows that no handler is chosen for yet.
CREATE INDEX outbox_events_unbound_due ON outbox_events (event_type, next_attempt_at, id)
  WHERE handler IS NULL AND processed_at IS NULL;

-- Subscriptions: which handler wants events of which patterns.
CREATE TABLE outbox_handlers (
  handler      text        NOT NULL,
  patterns     text[]      NOT NULL,
  max_retries  int,
  aliases      text[]      NOT NULL DEFAULT '{}',
  last_seen_at timestamptz NOT NULL DEFAULT now(),

  CONSTRAINT outbox_handlers_pkey PRIMARY KEY (handler),
  CONSTRAINT outbox_handlers_handler_is_named CHECK (handler <> ''),
  CONSTRAINT outbox_handlers_max_retries_is_positive CHECK (max_retries >= 1)
);

COMMENT ON TABLE outbox_events IS 'One event on its way to one handler.';
COMMENT ON TABLE outbox_handlers IS 'This handler wants events of these patterns.';
