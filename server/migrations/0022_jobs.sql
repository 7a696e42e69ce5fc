-- Jobs beyond loading a file: checks that write nothing, undo, replay, approval, run events for lineage systems.

alter table job
  -- load: a file; replay: corrected rows of another job; undo: takes back what another job wrote.
  add column kind text not null default 'load',
  add column dry_run boolean not null default false,
  add column options jsonb not null default '{}',
  add column parent_id bigint,
  add column undone_by bigint,
  -- What a check found, and the hash of it by which another check finds the same.
  add column diff jsonb,
  add column diff_hash text,
  -- When the present attempt began, progress was last saved, the job began to wait for a person.
  add column taken_at timestamptz,
  add column progress_at timestamptz,
  add column waiting_since timestamptz,
  -- When the rows of its errors and its diff were dropped.
  add column dropped_at timestamptz;
create index job_waiting_idx on job (waiting_since) where state = 'awaiting_review';
create index job_ended_idx on job (finished_at) where dropped_at is null and finished_at is not null;

alter table job_error
  add column chunk_no integer not null default 0,
  add column status text not null default 'open',
  -- The job that loaded the row again, and the row of its file.
  add column child_id bigint,
  add column child_row integer;
create index job_error_child_idx on job_error (org_id, child_id) where child_id is not null;

-- What a check found would happen, one row per object.
create table job_diff_row (
  org_id bigint not null,
  job_id bigint not null,
  n bigint not null,
  action text not null,
  body jsonb not null,
  constraint job_diff_row_pkey primary key (org_id, job_id, n)
);

-- Blanks as they were before a job wrote them; null when there were none.
create table job_blank (
  org_id bigint not null,
  job_id bigint not null,
  object_id bigint not null,
  source_id bigint not null,
  valid_from timestamptz not null,
  fields text[],
  constraint job_blank_pkey primary key (org_id, job_id, object_id, source_id, valid_from)
);

-- OpenLineage run events. next_at: when it is sent next; null when it was, or will not be.
create table job_run_event (
  org_id bigint not null,
  job_id bigint not null,
  n bigint not null,
  type text not null,
  at timestamptz not null,
  body jsonb not null,
  attempts smallint not null default 0,
  next_at timestamptz,
  constraint job_run_event_pkey primary key (org_id, job_id, n)
);
create index job_run_event_due_idx on job_run_event (next_at) where next_at is not null;

do $$
declare name text;
begin
  foreach name in array array['job_diff_row', 'job_blank', 'job_run_event'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
    execute format('grant select, insert, update, delete on %I to grid_app', name);
  end loop;
end $$;
create policy job_run_event_system on job_run_event to grid_system using (true);
grant select, update on job_run_event to grid_system;

-- An undone load has no run and leaves no records of the objects it made.
grant delete on source_record, stream_run to grid_app;

-- A load gathers statistics of what it fills.
grant maintain on party, property, building, floor, space, lease, document, work_order, source_record, external_key to grid_app;

-- Takes the oldest job that nobody works on, as before, unless its organization has as many at work as it may.
drop function app.claim_job(bigint, integer);
create function app.claim_job(lease bigint, worker_pid integer, most integer)
  returns table (id bigint, org_id bigint, attempts integer) language plpgsql security definer set search_path = public, pg_temp
  as $$
  begin
    perform pg_advisory_xact_lock(7016, 3);
    return query
    update job j set
      state = case j.state when 'queued' then 'validating' else j.state end,
      lease_id = lease, backend_pid = worker_pid, locked_until = now() + interval '60 seconds',
      attempts = j.attempts + 1, started_at = coalesce(j.started_at, now()), taken_at = now()
    where j.id = (
      select o.id from job o
      where (o.state = 'queued' or (o.state in ('validating', 'running', 'cancelling') and (o.locked_until < now()
          or (o.backend_pid is not null and (o.locked_until - interval '60 seconds' < pg_postmaster_start_time()
            or not exists (select from pg_stat_activity a where a.pid = o.backend_pid))))))
        and not exists (
          select from job b where b.org_id = o.org_id and b.source_name = o.source_name and b.id <> o.id
            and b.state in ('validating', 'running', 'cancelling')
            and (o.state = 'queued' or b.id < o.id))
        and (o.state <> 'queued' or (
          select count(*) from job b where b.org_id = o.org_id and b.state in ('validating', 'running', 'cancelling')) < most)
      order by o.created_at, o.id limit 1 for update skip locked)
    returning j.id, j.org_id, j.attempts;
  end $$;
alter function app.claim_job(bigint, integer, integer) owner to grid_system;
revoke execute on function app.claim_job(bigint, integer, integer) from public;
grant execute on function app.claim_job(bigint, integer, integer) to grid_app;

-- Jobs that have waited too long for a person, and those whose results are past their time.
create function app.jobs_due(waiting_before timestamptz, ended_before timestamptz, most integer)
  returns table (id bigint, org_id bigint, expired boolean) language sql security definer set search_path = public, pg_temp
  as $$
    (select j.id, j.org_id, true from job j where j.state = 'awaiting_review' and j.waiting_since < waiting_before
      order by j.waiting_since limit most)
    union all
    (select j.id, j.org_id, false from job j where j.finished_at < ended_before and j.dropped_at is null
      order by j.finished_at limit most)
  $$;
alter function app.jobs_due(timestamptz, timestamptz, integer) owner to grid_system;
revoke execute on function app.jobs_due(timestamptz, timestamptz, integer) from public;
grant execute on function app.jobs_due(timestamptz, timestamptz, integer) to grid_app;

-- Hands out run events that are due, each to one sender, who has until retry_at.
create function app.claim_run_events(retry_at timestamptz, most integer)
  returns table (org_id bigint, job_id bigint, n bigint, attempts smallint, body jsonb)
  language sql security definer set search_path = public, pg_temp
  as $$
    update job_run_event e set next_at = retry_at, attempts = e.attempts + 1
    from (select d.org_id, d.job_id, d.n from job_run_event d where d.next_at <= now() and d.at > now() - interval '24 hours'
      order by d.next_at limit most for update skip locked) due
    where e.org_id = due.org_id and e.job_id = due.job_id and e.n = due.n
    returning e.org_id, e.job_id, e.n, e.attempts, e.body
  $$;
alter function app.claim_run_events(timestamptz, integer) owner to grid_system;
revoke execute on function app.claim_run_events(timestamptz, integer) from public;
grant execute on function app.claim_run_events(timestamptz, integer) to grid_app;
