-- The sealed audit log, usage counters, and the ages at which logs are dropped.

-- Log tables kept in partitions by time: how wide a partition is, and the least age in days at which one may be dropped,
-- whatever the service asks for.
create table log_table (
  name text not null,
  width text not null,
  least_days integer not null,
  constraint log_table_pkey primary key (name),
  constraint log_table_width check (width in ('day', 'month'))
);
grant select on log_table to grid_app;
insert into log_table (name, width, least_days)
select c.relname, case when c.relname like 'delivery%' then 'day' else 'month' end,
  case when c.relname = 'audit_entry' then 30 else 1 end
from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'p';

-- The request log is dropped by the day, so it is kept by the day.
alter table request_log rename to request_log_by_month;
alter table request_log_by_month rename constraint request_log_pkey to request_log_by_month_pkey;
create table request_log (like request_log_by_month including defaults including storage,
  constraint request_log_pkey primary key (org_id, at, id)) partition by range (at);
update log_table set width = 'day' where name = 'request_log';

-- What was sealed: the entry as it is exported, and the hash that ties it to the one before. `at` is the time of sealing;
-- it never goes back within an organization, so a partition that is dropped ends where a checkpoint stands.
create table audit_seal (
  org_id bigint not null,
  position bigint not null,
  at timestamptz not null,
  hash bytea not null,
  tx_id bigint not null,
  n integer not null,
  -- When it happened.
  happened_at timestamptz not null,
  action text not null,
  object_id bigint not null,
  actor_id text,
  request_id text,
  -- Digest of the row of audit_entry that it was made from.
  source_digest bytea not null,
  -- Canonical JSON (RFC 8785) of the entry: the bytes that were hashed.
  body text not null,
  constraint audit_seal_pkey primary key (org_id, position, at)
) partition by range (at);
-- Bodies stay uncompressed in the row, as those of events.
alter table audit_seal alter column body set storage external;
create index audit_seal_tx_idx on audit_seal (org_id, tx_id, n);
create index audit_seal_object_idx on audit_seal (org_id, object_id);
create index audit_seal_request_idx on audit_seal (org_id, request_id) where request_id is not null;
insert into log_table (name, width, least_days) values ('audit_seal', 'month', 30);

-- Signed hashes of the chain: at least one per 1,000 entries and hour, and one where each partition ends. Never dropped.
create table audit_checkpoint (
  org_id bigint not null,
  position bigint not null,
  at timestamptz not null,
  hash bytea not null,
  -- When the entry at the position was sealed, which is where it lies.
  sealed_at timestamptz not null,
  public_key bytea not null,
  signature bytea not null,
  constraint audit_checkpoint_pkey primary key (org_id, position)
);

-- Where the chain of an organization ends.
create table audit_head (
  org_id bigint not null,
  position bigint not null default 0,
  hash bytea not null default decode(repeat('00', 32), 'hex'),
  at timestamptz,
  -- No transaction numbered below has an entry to seal.
  first_seq bigint not null default 0,
  -- Transactions that had been placed when it was last sealed to its end.
  placed bigint not null default 0,
  signed_position bigint not null default 0,
  -- Since when entries wait for a signature.
  unsigned_since timestamptz,
  constraint audit_head_pkey primary key (org_id)
) with (fillfactor = 70);

-- How many transactions of an organization were placed. Apart from the head, which the sealer holds while it works.
create table audit_due (
  org_id bigint not null,
  placed bigint not null,
  constraint audit_due_pkey primary key (org_id)
) with (fillfactor = 70);

-- Requests of an hour, in the groups that usage is told by.
create table usage_request (
  org_id bigint not null,
  hour timestamptz not null,
  key_id bigint not null,
  route_group text not null,
  status_class smallint not null,
  requests bigint not null,
  constraint usage_request_pkey primary key (org_id, hour, key_id, route_group, status_class)
) with (fillfactor = 80);

-- Everything else that is counted, by the hour.
create table usage_meter (
  org_id bigint not null,
  hour timestamptz not null,
  meter text not null,
  amount bigint not null,
  constraint usage_meter_pkey primary key (org_id, hour, meter)
) with (fillfactor = 80);

grant select on audit_seal, audit_checkpoint, audit_head, audit_due, usage_request, usage_meter, request_log to grid_app;
grant select, insert on audit_seal, audit_checkpoint to grid_system;
grant select, insert, update on audit_head, audit_due, usage_request, usage_meter to grid_system;
grant select on log_table to grid_system;
grant select, insert on request_log to grid_system;
revoke insert on request_log_by_month from grid_system;

do $$
declare name text;
begin
  foreach name in array array['audit_seal', 'audit_checkpoint', 'audit_head', 'audit_due', 'usage_request', 'usage_meter', 'request_log'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
    execute format('create policy %I on %I to grid_system using (true)', name || '_system', name);
  end loop;
end $$;

-- What is written to the audit log stays as it was written, whoever asks.
create function app.refuse_change() returns trigger language plpgsql
  as $$ begin raise exception 'rows of % are never changed nor deleted', tg_table_name; end $$;
create trigger audit_entry_append_only before update or delete on audit_entry
  for each row execute function app.refuse_change();
create trigger audit_seal_append_only before update or delete on audit_seal
  for each row execute function app.refuse_change();
create trigger audit_checkpoint_append_only before update or delete on audit_checkpoint
  for each row execute function app.refuse_change();

-- Creates the partitions of every log table: those of this and the next month, or of the next eight days.
create or replace function app.ensure_partitions(day date)
  returns void language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare
    wanted record;
  begin
    for wanted in
      select l.name, format('%s_%s', l.name, to_char(f.first, case l.width when 'day' then 'YYYYMMDD' else 'YYYYMM' end)) as child,
        f.first::date as first, (f.first + ('1 ' || l.width)::interval)::date as next
      from log_table l
      cross join lateral generate_series(date_trunc(l.width, day::timestamp),
        date_trunc(l.width, day + case l.width when 'day' then interval '7 days' else interval '1 month' end),
        ('1 ' || l.width)::interval) as f(first)
    loop
      if to_regclass(format('public.%I', wanted.child)) is null then
        perform pg_advisory_xact_lock(7016, 2);
        continue when to_regclass(format('public.%I', wanted.child)) is not null;
        -- Attached rather than created in place: that way writers of the log do not wait, nor can they deadlock with this.
        execute format('create table public.%I (like public.%I including defaults including constraints including storage)', wanted.child, wanted.name);
        if wanted.name in ('event', 'audit_seal') then
          execute format('alter table public.%I set (toast_tuple_target = 8160)', wanted.child);
        end if;
        execute format('alter table public.%I enable row level security', wanted.child);
        execute format('alter table public.%I force row level security', wanted.child);
        execute format('alter table public.%I attach partition public.%I for values from (%L) to (%L)',
          wanted.name, wanted.child, wanted.first || ' 00:00+00', wanted.next || ' 00:00+00');
      end if;
    end loop;
  end $$;

-- Entries written before the log was kept by the day move over.
do $$
declare day date;
begin
  perform app.ensure_partitions(current_date);
  for day in select distinct (at at time zone 'UTC')::date from request_log_by_month loop
    perform app.ensure_partitions(day);
  end loop;
end $$;
insert into request_log select * from request_log_by_month;
drop table request_log_by_month;

-- Before this time no webhook needs events any more: each has passed them, and no delivery of theirs is under way. What is
-- held is not waited for.
create function app.events_needed_since()
  returns timestamptz language plpgsql stable security definer set search_path = public, pg_temp
  as $$
  declare since timestamptz;
  begin
    if to_regclass('public.webhook') is null then return 'infinity'; end if;
    select least(
      (select min(reached.at) from webhook w
       cross join lateral (
         select t.at from tx t where t.org_id = w.org_id and t.first_seq <= w.position + 1 order by t.first_seq desc limit 1) reached
       where exists (select from tx t where t.org_id = w.org_id and t.first_seq > w.position and t.events > 0)),
      (select min(t.at) from delivery d join tx t on t.org_id = d.org_id and t.tx_id = d.tx_id
       where d.state in ('pending', 'in_flight'))) into since;
    return coalesce(since, 'infinity');
  end $$;
alter function app.events_needed_since() owner to grid_system;

-- Drops the partitions of a log table that lie wholly before a time. Returns their names.
create function app.drop_partitions(log text, before timestamptz)
  returns setof text language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare
    kept log_table%rowtype;
    child text;
    old text[];
    cut timestamptz;
  begin
    select * into kept from log_table l where l.name = log;
    if not found then return; end if;
    cut := least(before, now() - make_interval(days => kept.least_days));
    if log = 'event' then cut := least(cut, app.events_needed_since()); end if;
    old := array(
      select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = to_regclass(format('public.%I', log))
        and (regexp_match(pg_get_expr(c.relpartbound, c.oid), $re$TO \('([^']+)'\)$re$))[1]::timestamptz <= cut
      order by 1);
    if cardinality(old) = 0 then return; end if;
    -- Waits little for readers, and not in the queue, where everyone else would wait behind it.
    for attempt in 1..50 loop
      begin
        execute format('lock table only public.%I in access exclusive mode nowait', log);
        exit;
      exception when lock_not_available then
        if attempt = 50 then raise; end if;
        perform pg_sleep(0.02);
      end;
    end loop;
    foreach child in array old loop
      execute format('drop table public.%I', child);
      return next child;
    end loop;
  end $$;

-- Stored answers of idempotent requests are kept for some hours.
drop function app.forget_answers();
create function app.forget_answers(hours integer)
  returns void language sql security definer set search_path = public, pg_temp
  as $$ delete from idempotency where at < now() - make_interval(hours => hours) $$;

-- Where a request belongs: the first part of its endpoint below the base path.
create function app.route_group(route text)
  returns text language sql immutable parallel safe
  as $$ select case when starts_with(route, '/api/v1/') then split_part(route, '/', 4) else route end $$;

-- Usage is counted by the statement that writes the log, so the two cannot differ. Rows are taken in the order of their
-- keys, so that two batches wait for each other instead of dying.
create or replace function app.write_request_log(entries json)
  returns void language sql security definer set search_path = public, pg_temp
  as $$
    with logged as (
      insert into request_log (org_id, at, id, request_id, method, route, path, status, latency_ms, key_id, key_name, error_code)
      select e.org_id, e.at, e.id, e.request_id, e.method, e.route, e.path, e.status, e.latency_ms, e.key_id, e.key_name, e.error_code
      from json_to_recordset(entries) as e(org_id bigint, at timestamptz, id bigint, request_id text, method text, route text,
        path text, status smallint, latency_ms real, key_id bigint, key_name text, error_code text)
      returning org_id, at, key_id, route, status
    )
    insert into usage_request as u (org_id, hour, key_id, route_group, status_class, requests)
    select l.org_id, date_trunc('hour', l.at, 'UTC'), coalesce(l.key_id, 0), app.route_group(l.route), l.status / 100, count(*)
    from logged l group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (org_id, hour, key_id, route_group, status_class) do update set requests = u.requests + excluded.requests
  $$;

create function app.count_usage(entries json)
  returns void language sql security definer set search_path = public, pg_temp
  as $$
    insert into usage_meter as u (org_id, hour, meter, amount)
    select e.org_id, date_trunc('hour', e.at, 'UTC'), e.meter, sum(e.amount)
    from json_to_recordset(entries) as e(org_id bigint, at timestamptz, meter text, amount bigint)
    group by 1, 2, 3 order by 1, 2, 3
    on conflict (org_id, hour, meter) do update set amount = u.amount + excluded.amount
  $$;

-- Numbers events as before, and notes whose audit entries are to be sealed. Transactions that count no event share the
-- number of the next one, so the head of the feed is the larger of the two.
create or replace function app.place_transactions(most integer)
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
        where t.org_id = o.org_id and t.first_seq is not null order by t.first_seq desc, t.events desc limit 1), 1) as next
      from (select distinct org_id from ready) o
    ), numbered as (
      select r.org_id, r.tx_id,
        h.next + sum(r.events) over (partition by r.org_id order by r.tx_id) - r.events as first_seq
      from ready r join heads h using (org_id)
    ), due as (
      insert into audit_due as d (org_id, placed) select r.org_id, count(*) from ready r group by r.org_id order by r.org_id
      on conflict (org_id) do update set placed = d.placed + excluded.placed
    )
    update tx t set first_seq = n.first_seq from numbered n where t.org_id = n.org_id and t.tx_id = n.tx_id;
    get diagnostics placed = row_count;
    return placed;
  end $$;
insert into audit_due (org_id, placed) select org_id, count(*) from tx group by org_id;

-- Organizations with entries to seal or to sign, those that waited longest first.
create function app.audits_due(most integer)
  returns setof bigint language sql stable security definer set search_path = public, pg_temp
  as $$
    select d.org_id from audit_due d left join audit_head h using (org_id)
    where h.placed is distinct from d.placed or h.unsigned_since < now() - interval '1 hour'
    order by h.at nulls first limit most
  $$;

-- Takes an organization's chain until the end of the transaction; nothing when another has it.
create function app.take_audit(org bigint)
  returns table (head_position bigint, head_hash bytea, head_at timestamptz, head_first_seq bigint, head_signed bigint,
    head_unsigned_since timestamptz, placed_now bigint) language sql security definer set search_path = public, pg_temp
  as $$
    insert into audit_head (org_id) values (org) on conflict (org_id) do nothing;
    select h.position, h.hash, h.at, h.first_seq, h.signed_position, h.unsigned_since, coalesce(d.placed, 0)
    from audit_head h left join audit_due d using (org_id) where h.org_id = org for update of h skip locked
  $$;

-- Appends sealed entries and checkpoints to a chain that this transaction has taken.
create function app.seal_audit(org bigint, head json, checkpoints json, sealed_at timestamptz, positions bigint[],
    hashes text[], tx_ids bigint[], ns integer[], times text[], actions text[], object_ids bigint[], actor_ids text[],
    request_ids text[], digests text[], bodies text[])
  returns void language plpgsql security definer set search_path = public, pg_temp
  as $$
  begin
    insert into audit_seal (org_id, position, at, hash, tx_id, n, happened_at, action, object_id, actor_id, request_id, source_digest, body)
    select org, s.p, sealed_at, decode(s.h, 'hex'), s.t, s.n, s.w::timestamptz, s.a, s.o, s.i, s.r, decode(s.d, 'hex'), s.b
    from unnest(positions, hashes, tx_ids, ns, times, actions, object_ids, actor_ids, request_ids, digests, bodies)
      as s(p, h, t, n, w, a, o, i, r, d, b);
    insert into audit_checkpoint (org_id, position, at, hash, sealed_at, public_key, signature)
    select org, c.position, c.at, decode(c.hash, 'hex'), c.sealed_at, decode(c.public_key, 'base64'), decode(c.signature, 'base64')
    from json_to_recordset(checkpoints) as c(position bigint, at timestamptz, hash text, sealed_at timestamptz, public_key text,
      signature text);
    update audit_head h set position = n.position, hash = decode(n.hash, 'hex'), at = n.at, first_seq = n.first_seq,
      placed = coalesce(n.placed, h.placed), signed_position = n.signed_position, unsigned_since = n.unsigned_since
    from json_to_record(head) as n(position bigint, hash text, at timestamptz, first_seq bigint, placed bigint,
      signed_position bigint, unsigned_since timestamptz)
    where h.org_id = org and h.position <= n.position;
  end $$;

do $$
declare signature text;
begin
  foreach signature in array array['app.forget_answers(integer)', 'app.write_request_log(json)', 'app.count_usage(json)',
    'app.place_transactions(integer)', 'app.audits_due(integer)', 'app.take_audit(bigint)', 
    'app.seal_audit(bigint, json, json, timestamptz, bigint[], text[], bigint[], integer[], text[], text[], bigint[], text[], text[], text[], text[])'] loop
    execute format('alter function %s owner to grid_system', signature);
    execute format('revoke execute on function %s from public', signature);
    execute format('grant execute on function %s to grid_app', signature);
  end loop;
end $$;
revoke execute on function app.drop_partitions(text, timestamptz), app.events_needed_since(), app.refuse_change(),
  app.route_group(text) from public;
grant execute on function app.events_needed_since() to current_user;
grant execute on function app.drop_partitions(text, timestamptz), app.route_group(text) to grid_app;
grant execute on function app.route_group(text) to grid_system;
