-- Organizations' context, keys, facts, logs. Runs as the owner role; the app role is a member of grid_app.

create extension if not exists pg_trgm;
create extension if not exists btree_gin;

create schema app;
grant usage on schema app to grid_app, grid_system;

-- One sequence for all ids; processes take blocks of 1,000 and hand them out.
create sequence app.id_seq as bigint start 1001 increment 1000;
create sequence app.tx_seq as bigint;
grant usage, select on sequence app.id_seq, app.tx_seq to grid_app;

-- The one way to choose the organization whose rows a transaction sees. set_config's third argument makes it local to
-- the transaction. On Citus the body must be SET LOCAL instead, which is what its workers are told.
create function app.set_org(org bigint) returns text language sql
  as $$ select set_config('app.org_id', org::text, true) $$;
grant execute on function app.set_org(bigint) to grid_app;

-- The organization of the transaction; null, and so no rows at all, when none was set.
create function app.org() returns bigint language sql stable
  as $$ select nullif(current_setting('app.org_id', true), '')::bigint $$;
grant execute on function app.org() to grid_app, grid_system;

-- Control tables: needed before the organization of a request is known, or about organizations themselves.

create table app_secret (
  name text not null,
  value bytea not null,
  constraint app_secret_pkey primary key (name)
);
grant select on app_secret to grid_app;

create table api_key (
  id bigint not null,
  org_id bigint not null,
  name text not null,
  hash bytea not null,
  hint text not null,
  scopes text[] not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  constraint api_key_pkey primary key (id),
  constraint api_key_hash_key unique (hash)
);
create index api_key_org_idx on api_key (org_id, id);
alter table api_key enable row level security;
create policy api_key_org on api_key to grid_app using (org_id = app.org());
create policy api_key_system on api_key to grid_system using (true);
grant select, insert, update on api_key to grid_app;
grant select on api_key to grid_system;

-- Tables of an organization. org_id comes first in every key; row-level security is forced.

create table tx (
  org_id bigint not null,
  tx_id bigint not null,
  at timestamptz not null,
  -- Objects changed; with first_seq it numbers the events of the transaction.
  events integer not null,
  -- First number of its events in the organization's feed; null until the sequencer has placed the transaction.
  first_seq bigint,
  xid xid8 not null default pg_current_xact_id(),
  source_id bigint not null,
  actor_type text not null,
  actor_id text,
  actor_name text not null,
  request_id text,
  job_id bigint,
  constraint tx_pkey primary key (org_id, tx_id)
);
create index tx_unplaced_idx on tx (org_id, tx_id) where first_seq is null;
create index tx_seq_idx on tx (org_id, first_seq);
create index tx_job_idx on tx (org_id, job_id, tx_id) where job_id is not null;

create table source (
  org_id bigint not null,
  id bigint not null,
  kind text not null,
  name text not null,
  -- Lower wins when sources disagree; equal ranks are decided by the later valid time.
  rank integer not null,
  min_confidence smallint not null default 0,
  created_at timestamptz not null,
  constraint source_pkey primary key (org_id, id),
  constraint source_name_key unique (org_id, kind, name)
);

-- Facts, grouped: one row per object, source, valid_from and transaction, holding the attributes that changed.
create table assertion (
  object_id bigint not null,
  tx_id bigint not null,
  valid_from timestamptz not null,
  valid_to timestamptz,
  org_id bigint not null,
  source_id bigint not null,
  row_no integer,
  confidence smallint not null default 1000,
  attrs jsonb not null,
  retracts text[],
  constraint assertion_pkey primary key (org_id, object_id, source_id, valid_from, tx_id)
);
create index assertion_tx_idx on assertion (org_id, tx_id, object_id);

-- Which object a source's record became, and the hash of the row it last gave.
create table source_record (
  org_id bigint not null,
  source_id bigint not null,
  stream text not null,
  ext_key text collate "C" not null,
  object_id bigint not null,
  row_hash bigint not null,
  first_tx bigint not null,
  last_tx bigint not null,
  gone_tx bigint,
  constraint source_record_pkey primary key (org_id, source_id, stream, ext_key)
) with (fillfactor = 80);
create index source_record_object_idx on source_record (org_id, object_id);

-- One row per load of a stream: all its records were confirmed at valid_from.
create table stream_run (
  org_id bigint not null,
  source_id bigint not null,
  stream text not null,
  valid_from timestamptz not null,
  job_id bigint not null,
  complete boolean not null,
  constraint stream_run_pkey primary key (org_id, source_id, stream, valid_from, job_id)
);

create table external_key (
  org_id bigint not null,
  object_type text not null,
  system text not null,
  external_id text not null,
  object_id bigint not null,
  constraint external_key_pkey primary key (org_id, object_type, system, external_id)
);

create table idempotency (
  org_id bigint not null,
  key text not null,
  route text not null,
  fingerprint text not null,
  status integer not null,
  headers jsonb not null,
  body text not null,
  at timestamptz not null,
  constraint idempotency_pkey primary key (org_id, key, route)
);
alter table idempotency alter column body set storage external;
alter table idempotency set (toast_tuple_target = 8160);
create index idempotency_at_idx on idempotency (at);

-- What changed, one row per object and transaction, in the transaction that changed it. An event's public id is made of
-- tx_id and n. Kept by month.
create table event (
  org_id bigint not null,
  tx_id bigint not null,
  n integer not null,
  at timestamptz not null,
  object_type text not null,
  object_id bigint not null,
  operation text not null,
  version integer not null,
  changed text[] not null,
  previous jsonb not null,
  -- The object as it was then; null after an import, when it is rendered from the facts known at the transaction.
  body text,
  constraint event_pkey primary key (org_id, tx_id, n, at)
) partition by range (at);
-- Bodies stay uncompressed in the row, as in the resource tables.
alter table event alter column body set storage external;

create table audit_entry (
  org_id bigint not null,
  tx_id bigint not null,
  n integer not null,
  at timestamptz not null,
  action text not null,
  object_type text not null,
  object_id bigint not null,
  version integer not null,
  changed text[] not null,
  previous jsonb not null,
  constraint audit_entry_pkey primary key (org_id, tx_id, n, at)
) partition by range (at);

create table request_log (
  org_id bigint not null,
  at timestamptz not null,
  id bigint not null,
  request_id text not null,
  method text not null,
  route text not null,
  path text not null,
  status smallint not null,
  latency_ms real not null,
  key_id bigint,
  key_name text,
  error_code text,
  constraint request_log_pkey primary key (org_id, at, id)
) partition by range (at);

-- Statements that cross organizations are these functions and no others. Their owner is grid_system, which may not log
-- in and is let through by a policy of its own on each table they touch.

-- Gives the events of finished transactions their numbers, gap-free per organization. A transaction older than every
-- running one can no longer be overtaken, so numbers are final when given. One caller at a time.
create function app.place_transactions(most integer)
  returns integer language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare placed integer;
  begin
    if not pg_try_advisory_xact_lock(7016, 1) then return 0; end if;
    with ready as materialized (
      select t.org_id, t.tx_id, t.events from tx t
      where t.first_seq is null and t.xid < pg_snapshot_xmin(pg_current_snapshot())
      order by t.org_id, t.tx_id limit most
    ), heads as (
      select o.org_id, coalesce((
        select t.first_seq + t.events from tx t
        where t.org_id = o.org_id and t.first_seq is not null order by t.first_seq desc limit 1), 1) as next
      from (select distinct org_id from ready) o
    ), numbered as (
      select r.org_id, r.tx_id,
        h.next + sum(r.events) over (partition by r.org_id order by r.tx_id) - r.events as first_seq
      from ready r join heads h using (org_id)
    )
    update tx t set first_seq = n.first_seq from numbered n where t.org_id = n.org_id and t.tx_id = n.tx_id;
    get diagnostics placed = row_count;
    return placed;
  end $$;

create function app.write_request_log(entries json)
  returns void language sql security definer set search_path = public, pg_temp
  as $$
    insert into request_log (org_id, at, id, request_id, method, route, path, status, latency_ms, key_id, key_name, error_code)
    select e.org_id, e.at, e.id, e.request_id, e.method, e.route, e.path, e.status, e.latency_ms, e.key_id, e.key_name, e.error_code
    from json_to_recordset(entries) as e(org_id bigint, at timestamptz, id bigint, request_id text, method text, route text,
      path text, status smallint, latency_ms real, key_id bigint, key_name text, error_code text)
  $$;

-- Marks keys as used; at most once a minute per key, by the process that saw them.
create function app.touch_keys(entries json)
  returns void language sql security definer set search_path = public, pg_temp
  as $$
    update api_key k set last_used_at = e.at
    from json_to_recordset(entries) as e(id bigint, at timestamptz)
    where k.id = e.id and (k.last_used_at is null or k.last_used_at < e.at)
  $$;

-- Stored answers of idempotent requests are kept for a day.
create function app.forget_answers()
  returns void language sql security definer set search_path = public, pg_temp
  as $$ delete from idempotency where at < now() - interval '24 hours' $$;

-- Creates the monthly partitions that cover a day, of every log table.
create function app.ensure_partitions(day date)
  returns void language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare
    parent text;
    first date := date_trunc('month', day)::date;
    child text;
  begin
    foreach parent in array array['event', 'audit_entry', 'request_log'] loop
      child := format('%s_%s', parent, to_char(first, 'YYYYMM'));
      if to_regclass(format('public.%I', child)) is null then
        perform pg_advisory_xact_lock(7016, 2);
        execute format('create table if not exists public.%I partition of public.%I for values from (%L) to (%L)',
          child, parent, first, (first + interval '1 month')::date);
        if parent = 'event' then
          execute format('alter table public.%I set (toast_tuple_target = 8160)', child);
        end if;
        execute format('alter table public.%I enable row level security', child);
        execute format('alter table public.%I force row level security', child);
      end if;
    end loop;
  end $$;

revoke execute on all functions in schema app from public;
grant execute on function app.set_org(bigint), app.org(), app.place_transactions(integer),
  app.write_request_log(json), app.touch_keys(json), app.ensure_partitions(date), app.forget_answers() to grid_app;
grant execute on function app.org() to grid_system;
alter function app.place_transactions(integer) owner to grid_system;
alter function app.write_request_log(json) owner to grid_system;
alter function app.touch_keys(json) owner to grid_system;

alter function app.forget_answers() owner to grid_system;

grant select, update on tx to grid_system;
grant select, delete on idempotency to grid_system;
grant insert on request_log to grid_system;
grant update (last_used_at) on api_key to grid_system;

grant select, insert, update on tx, source_record, source, stream_run to grid_app;
grant select, insert on assertion, event, audit_entry to grid_app;
grant select, insert, delete on external_key, idempotency to grid_app;
grant select on request_log to grid_app;

-- Policies: an organization sees its own rows; grid_system only what its functions need.
do $$
declare name text;
begin
  foreach name in array array['tx', 'source', 'assertion', 'source_record', 'stream_run', 'external_key', 'idempotency',
    'event', 'audit_entry', 'request_log'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
  end loop;
end $$;
create policy tx_system on tx to grid_system using (true);
create policy idempotency_system on idempotency to grid_system using (true);
create policy request_log_system on request_log to grid_system with check (true);

select app.ensure_partitions(current_date);
select app.ensure_partitions((current_date + interval '1 month')::date);

-- One row per claim: what /facts shows. Attributes that speak of the object itself start with an underscore.
create view fact with (security_invoker = true) as
select a.org_id, a.object_id, f.key as field, f.value, a.valid_from, a.valid_to, t.at as recorded_at, a.tx_id, a.source_id,
  a.confidence, a.row_no, t.job_id
from assertion a
join tx t on t.org_id = a.org_id and t.tx_id = a.tx_id
cross join lateral jsonb_each(a.attrs) as f(key, value);
grant select on fact to grid_app;
