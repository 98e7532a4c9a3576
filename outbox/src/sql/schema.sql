-- What a runtime needs of the schema, and whether it is there.
-- $1, $2 table and column  $3 indexes
SELECT
  ARRAY(SELECT 'table ' || t FROM (SELECT DISTINCT n FROM unnest($1::text[]) n) x(t)
        WHERE to_regclass(quote_ident(t)) IS NULL ORDER BY 1)
  || ARRAY(SELECT 'column ' || c.tab || '.' || c.col FROM unnest($1::text[], $2::text[]) AS c(tab, col)
        WHERE to_regclass(quote_ident(c.tab)) IS NOT NULL AND NOT EXISTS (
          SELECT FROM pg_attribute a WHERE a.attrelid = to_regclass(quote_ident(c.tab)) AND a.attname = c.col
            AND NOT a.attisdropped) ORDER BY 1)
  || ARRAY(SELECT 'index ' || i FROM unnest($3::text[]) AS x(i)
        WHERE to_regclass('outbox_events') IS NOT NULL AND to_regclass(quote_ident(i)) IS NULL ORDER BY 1)
    AS missing,
  to_regclass('outbox_events')::oid::bigint AS events_oid,
  ARRAY(SELECT t FROM (SELECT DISTINCT n FROM unnest($1::text[]) n) x(t)
        WHERE CASE WHEN to_regclass(quote_ident(t)) IS NULL THEN false
                   ELSE row_security_active(to_regclass(quote_ident(t))::oid) END ORDER BY 1) AS row_secured,
  -- A grant of single columns is the operator's own affair: it may hold all that are needed.
  ARRAY(SELECT p || ' on ' || t FROM (SELECT DISTINCT n FROM unnest($1::text[]) n) x(t)
        CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) WITH ORDINALITY AS y(p, place)
        WHERE to_regclass(quote_ident(t)) IS NOT NULL
          AND NOT has_any_column_privilege(to_regclass(quote_ident(t))::oid, p) ORDER BY t, place) AS forbidden,
  current_setting('server_encoding') AS encoding,
  current_setting('default_transaction_isolation') AS isolation,
  current_setting('server_version_num')::int AS version,
  current_setting('search_path') AS search_path
