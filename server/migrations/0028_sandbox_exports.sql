-- Sandboxes: what is asked of one (empty it, fill it, move its clock), and how far its clock is ahead. Exports: lists
-- written to files in the background.

-- How many days the clock of a sandbox is ahead of the real one.
create table sandbox_clock (
  org_id bigint not null,
  ahead_days integer not null,
  moved_at timestamptz not null,
  constraint sandbox_clock_pkey primary key (org_id)
);

create table sandbox_task (
  org_id bigint not null,
  id bigint not null,
  kind text not null,
  args jsonb not null,
  state text not null,
  -- What came of it; null until it has ended well.
  result jsonb,
  error jsonb,
  attempts integer not null default 0,
  actor_type text not null,
  actor_id text,
  actor_name text not null,
  request_id text,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  -- The worker that has it: its database session, and until when it may be silent. One that waits is taken after that time.
  lease_id bigint,
  backend_pid integer,
  locked_until timestamptz,
  constraint sandbox_task_pkey primary key (org_id, id)
);
-- One at a time in a sandbox.
create unique index sandbox_task_open_key on sandbox_task (org_id) where state in ('queued', 'running');

create table export (
  org_id bigint not null,
  id bigint not null,
  state text not null,
  type text not null,
  format text not null,
  -- The query of the list, as it was checked.
  query jsonb not null,
  time_zone text not null,
  rows_total integer,
  rows_written integer not null default 0,
  -- The file of a finished export: the lease under which it was written is part of its place.
  file_version bigint,
  file_name text not null,
  byte_size bigint,
  sha256 text,
  error jsonb,
  attempts integer not null default 0,
  actor_type text not null,
  actor_id text,
  actor_name text not null,
  request_id text,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  expires_at timestamptz,
  lease_id bigint,
  backend_pid integer,
  locked_until timestamptz,
  constraint export_pkey primary key (org_id, id)
);
create index export_open_idx on export (org_id, created_at) where state in ('queued', 'running', 'cancelling');
create index export_past_idx on export (org_id, expires_at) where state = 'completed';

do $$
declare name text;
begin
  foreach name in array array['sandbox_clock', 'sandbox_task', 'export'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
    execute format('create policy %I on %I to grid_system using (true)', name || '_system', name);
    execute format('grant select, insert, update, delete on %I to grid_app', name);
    execute format('grant select, update, delete on %I to grid_system', name);
  end loop;
end $$;

-- Takes the oldest task that nobody works on, of any sandbox.
create function app.claim_sandbox_task(lease bigint, worker_pid integer)
  returns table (org_id bigint, id bigint) language sql security definer set search_path = public, pg_temp
  as $$
    update sandbox_task t set state = 'running', lease_id = lease, backend_pid = worker_pid,
      locked_until = now() + interval '60 seconds', attempts = t.attempts + 1, started_at = coalesce(t.started_at, now())
    from (
      select o.org_id, o.id from sandbox_task o
      where (o.state = 'queued' and (o.locked_until is null or o.locked_until <= now()))
        or (o.state = 'running' and (o.locked_until < now() or (o.backend_pid is not null
        and not exists (select from pg_stat_activity a where a.pid = o.backend_pid))))
      order by o.created_at, o.id limit 1 for update skip locked) f
    where t.org_id = f.org_id and t.id = f.id
    returning t.org_id, t.id
  $$;

-- The same for exports.
create function app.claim_export(lease bigint, worker_pid integer)
  returns table (org_id bigint, id bigint) language sql security definer set search_path = public, pg_temp
  as $$
    update export t set state = case t.state when 'queued' then 'running' else t.state end, lease_id = lease,
      backend_pid = worker_pid, locked_until = now() + interval '60 seconds', attempts = t.attempts + 1,
      started_at = coalesce(t.started_at, now())
    from (
      select o.org_id, o.id from export o
      where (o.state = 'queued' and (o.locked_until is null or o.locked_until <= now()))
        or (o.state in ('running', 'cancelling') and (o.locked_until < now() or (o.backend_pid is not null
        and not exists (select from pg_stat_activity a where a.pid = o.backend_pid))))
      order by o.created_at, o.id limit 1 for update skip locked) f
    where t.org_id = f.org_id and t.id = f.id
    returning t.org_id, t.id
  $$;

-- Exports whose files are to be removed.
create function app.exports_past(most integer)
  returns table (org_id bigint, id bigint) language sql stable security definer set search_path = public, pg_temp
  as $$
    select e.org_id, e.id from export e where e.state = 'completed' and e.expires_at <= now() order by e.expires_at limit most
  $$;

-- What a sandbox holds: objects, claims, jobs, and what stands in its feed. Its keys, webhooks, sources, adapters, fields and
-- rules are settings; its logs are what they are. Tables that a later release adds are named before they are there.
create function app.sandbox_tables() returns text[] language sql immutable
  as $$ select array[
    'work_order', 'document', 'lease', 'space', 'floor', 'building', 'property', 'contact', 'party',
    'assertion', 'source_record', 'source_blank', 'stream_run', 'external_key', 'pending_reference',
    'agenda', 'agenda_scan', 'job_chunk', 'job_error', 'job', 'delivery', 'event', 'export', 'idempotency',
    'job_diff_row', 'job_blank', 'job_run_event',
    'cluster_member', 'object_merge', 'reference_move', 'match_candidate', 'match_run', 'do_not_link',
    'survivorship_change', 'refold', 'erasure', 'ext_index'
  ] $$;

-- Transactions of an organization with entries of the audit log that are not sealed yet.
create function app.unsealed_transactions(org bigint)
  returns table (tx_id bigint, at timestamptz) language sql stable set search_path = public, pg_temp
  as $$
    select t.tx_id, t.at from tx t
    where t.org_id = org
      and (t.first_seq is null or t.first_seq >= coalesce((select h.first_seq from audit_head h where h.org_id = org), 0))
      and exists (select from audit_entry a where a.org_id = org and a.tx_id = t.tx_id and a.at = t.at
        and not exists (select from audit_seal s where s.org_id = org and s.tx_id = a.tx_id and s.n = a.n))
  $$;

-- Empties the organization of the transaction, which must be a sandbox: whatever a caller gets wrong, live data is not
-- reached. The organization's own claims stay, and answers of requests about sandboxes, so that a repeat is not done again.
-- So do events and claims of which entries of the audit log are still to be made: what is written meanwhile.
create function app.empty_sandbox()
  returns integer language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare
    org constant bigint := app.org();
    name text;
    own text;
    sealed constant text := ' and tx_id not in (select u.tx_id from app.unsealed_transactions($1) u)';
    gone integer;
    total integer := 0;
  begin
    if not exists (select from organization o where o.org_id = org and o.id = org and o.environment = 'sandbox') then
      raise exception 'organization % is no sandbox', org using errcode = '42501';
    end if;
    foreach name in array app.sandbox_tables() loop
      continue when to_regclass('public.' || name) is null;
      own := case name when 'assertion' then ' and object_id <> $1' || sealed when 'event' then sealed when 'external_key' then ' and object_id <> $1'
        when 'idempotency' then ' and route not like ''%/sandbox%''' else '' end;
      execute format('delete from %I where org_id = $1%s', name, own) using org;
      get diagnostics gone = row_count;
      if name in ('work_order', 'document', 'lease', 'space', 'floor', 'building', 'property', 'contact', 'party') then
        total := total + gone;
      end if;
    end loop;
    return total;
  end $$;

do $$
declare name text;
begin
  foreach name in array app.sandbox_tables() loop
    continue when to_regclass('public.' || name) is null;
    execute format('grant select, delete on %I to grid_system', name);
    execute format('create policy %I on %I for select to grid_system using (true)', name || '_counted', name);
    execute format('create policy %I on %I for delete to grid_system using (true)', name || '_emptied', name);
  end loop;
end $$;

-- Organizations that have something due by then, or objects written since they were last looked at. The clock of a sandbox
-- may be ahead.
drop function app.organizations_due(timestamptz);
create function app.organizations_due(by timestamptz)
  returns table (org_id bigint, time_zone text, ahead_days integer)
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select o.id, o.time_zone, coalesce(c.ahead_days, 0) from organization o
    left join sandbox_clock c on c.org_id = o.id
    left join agenda_scan l on l.org_id = o.id and l.object_type = 'lease'
    left join agenda_scan w on w.org_id = o.id and w.object_type = 'work_order'
    where o.deleted_at is null and (
      exists (select from agenda a where a.org_id = o.id and a.done_at is null
        and a.due_at <= by + make_interval(days => coalesce(c.ahead_days, 0)))
      or exists (select from lease t where t.org_id = o.id and t.updated_at > coalesce(l.scanned_at, '-infinity'))
      or exists (select from work_order t where t.org_id = o.id and t.updated_at > coalesce(w.scanned_at, '-infinity')))
    order by o.id
  $$;

do $$
declare signature text;
begin
  foreach signature in array array['app.claim_sandbox_task(bigint, integer)', 'app.claim_export(bigint, integer)',
    'app.exports_past(integer)', 'app.empty_sandbox()', 'app.organizations_due(timestamptz)'] loop
    execute format('alter function %s owner to grid_system', signature);
    execute format('revoke execute on function %s from public', signature);
    execute format('grant execute on function %s to grid_app', signature);
  end loop;
end $$;
revoke execute on function app.sandbox_tables() from public;
grant execute on function app.sandbox_tables() to grid_system;
revoke execute on function app.unsealed_transactions(bigint) from public;
grant execute on function app.unsealed_transactions(bigint) to grid_app, grid_system;
