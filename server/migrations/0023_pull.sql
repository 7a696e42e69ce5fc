-- Sources that are asked instead of files that are sent: connections with their secrets, schedules, and what jobs pulled.

create table connection (
  org_id bigint not null,
  id bigint not null,
  name text not null,
  kind text not null,
  -- Where the source is and how it is spoken to; nothing secret.
  settings jsonb not null,
  -- Sealed under the master key; null without one.
  secret text,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint connection_pkey primary key (org_id, id),
  constraint connection_name_key unique (org_id, name),
  constraint connection_kind check (kind in ('rest', 'postgres'))
);

create table schedule (
  org_id bigint not null,
  id bigint not null,
  -- Name or id of the adapter, or the document itself.
  adapter jsonb not null,
  cron text not null,
  time_zone text not null,
  state text not null,
  -- Null while it is paused.
  next_run_at timestamptz,
  last_run_at timestamptz,
  last_job_id bigint,
  -- Why the last run started no job.
  last_error text,
  -- Name of the key that made it: its jobs carry it.
  actor_name text not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint schedule_pkey primary key (org_id, id),
  constraint schedule_state check (state in ('active', 'paused'))
);
create index schedule_due_idx on schedule (next_run_at) where next_run_at is not null;

do $$
declare name text;
begin
  foreach name in array array['connection', 'schedule'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
    execute format('create policy %I on %I for select to grid_system using (true)', name || '_system', name);
    execute format('grant select, insert, update, delete on %I to grid_app', name);
    execute format('grant select on %I to grid_system', name);
  end loop;
end $$;

-- What a job pulled: from which connection, from where on, how far.
alter table job add column pulled jsonb;

-- Schedules that are due, of any organization.
create function app.schedules_due(most integer) returns table (org_id bigint, id bigint)
  language sql stable security definer set search_path = public, pg_temp
  as $$ select s.org_id, s.id from schedule s where s.next_run_at <= now() order by s.next_run_at limit most $$;
alter function app.schedules_due(integer) owner to grid_system;
revoke execute on function app.schedules_due(integer) from public;
grant execute on function app.schedules_due(integer) to grid_app;

-- Connections whose secret was sealed with another master key than this.
create function app.connections_sealed_otherwise(key_id text) returns table (org_id bigint, id bigint, sealed_by text)
  language sql stable security definer set search_path = public, pg_temp
  as $$ select c.org_id, c.id, split_part(c.secret, '.', 2) from connection c
    where c.secret is not null and split_part(c.secret, '.', 2) <> key_id $$;
alter function app.connections_sealed_otherwise(text) owner to grid_system;
revoke execute on function app.connections_sealed_otherwise(text) from public;
grant execute on function app.connections_sealed_otherwise(text) to grid_app;
