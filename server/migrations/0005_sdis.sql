-- Data-integration jobs: what was asked for, how far it came, what it could not use.

create table job (
  id bigint not null,
  org_id bigint not null,
  state text not null,
  phase text,
  adapter jsonb not null,
  adapter_hash text not null,
  source_name text not null,
  as_of date not null,
  -- Start of as_of in the adapter's time zone: valid time of every claim the job makes.
  valid_from timestamptz not null,
  file_name text not null,
  file_key text not null,
  file_bytes bigint not null,
  file_sha256 text not null,
  approved boolean not null default false,
  counts jsonb not null default '{}',
  error jsonb,
  attempts integer not null default 0,
  actor_type text not null,
  actor_id text,
  actor_name text not null,
  request_id text,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  -- The worker that has the job: its database session, and until when it may be silent.
  lease_id bigint,
  backend_pid integer,
  locked_until timestamptz,
  constraint job_pkey primary key (id)
);
create index job_org_idx on job (org_id, id);
create index job_open_idx on job (created_at) where state in ('queued', 'validating', 'running', 'cancelling');
alter table job enable row level security;
create policy job_org on job to grid_app using (org_id = app.org());
create policy job_system on job to grid_system using (true);
grant select, insert, update on job to grid_app;
grant select, update on job to grid_system;

create table job_chunk (
  org_id bigint not null,
  job_id bigint not null,
  chunk_no integer not null,
  counts jsonb not null,
  at timestamptz not null,
  constraint job_chunk_pkey primary key (org_id, job_id, chunk_no)
);

create table job_error (
  org_id bigint not null,
  job_id bigint not null,
  n bigint not null,
  stream text not null,
  row_no integer not null,
  field text,
  code text not null,
  message text not null,
  level text not null,
  raw jsonb not null,
  constraint job_error_pkey primary key (org_id, job_id, n)
);

-- Attributes with a value that a source's row left blank from a run on, each until it is claimed again.
create table source_blank (
  org_id bigint not null,
  object_id bigint not null,
  source_id bigint not null,
  valid_from timestamptz not null,
  fields text[] not null,
  constraint source_blank_pkey primary key (org_id, object_id, source_id, valid_from)
);

do $$
declare name text;
begin
  foreach name in array array['job_chunk', 'job_error', 'source_blank'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
    execute format('grant select, insert, update, delete on %I to grid_app', name);
  end loop;
end $$;

-- Takes the oldest job that nobody works on: queued, or left by a worker that is silent or whose session is gone, in this
-- run of the server or an earlier one. A source is loaded by one job at a time; claims come one after the other, so that
-- two workers do not take two of its jobs at once.
create function app.claim_job(lease bigint, worker_pid integer)
  returns table (id bigint, org_id bigint, attempts integer) language plpgsql security definer set search_path = public, pg_temp
  as $$
  begin
    perform pg_advisory_xact_lock(7016, 3);
    return query
    update job j set
      state = case j.state when 'queued' then 'validating' else j.state end,
      lease_id = lease, backend_pid = worker_pid, locked_until = now() + interval '60 seconds',
      attempts = j.attempts + 1, started_at = coalesce(j.started_at, now())
    where j.id = (
      select o.id from job o
      where (o.state = 'queued' or (o.state in ('validating', 'running', 'cancelling') and (o.locked_until < now()
          or (o.backend_pid is not null and (o.locked_until - interval '60 seconds' < pg_postmaster_start_time()
            or not exists (select from pg_stat_activity a where a.pid = o.backend_pid))))))
        and not exists (
          select from job b where b.org_id = o.org_id and b.source_name = o.source_name and b.id <> o.id
            and b.state in ('validating', 'running', 'cancelling')
            and (o.state = 'queued' or b.id < o.id))
      order by o.created_at, o.id limit 1 for update skip locked)
    returning j.id, j.org_id, j.attempts;
  end $$;
alter function app.claim_job(bigint, integer) owner to grid_system;
revoke execute on function app.claim_job(bigint, integer) from public;
grant execute on function app.claim_job(bigint, integer) to grid_app;
