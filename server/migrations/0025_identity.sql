-- Identity: which objects are one, how that was found, what a person has to decide, what must stay apart.

-- The log of merges. Winner and loser are as they stood then: the winner may have been merged itself since.
create table object_merge (
  org_id bigint not null,
  id bigint not null,
  object_type text not null,
  winner_id bigint not null,
  loser_id bigint not null,
  rule text not null,
  score double precision,
  evidence jsonb not null,
  reason text,
  actor_type text not null,
  actor_id text,
  actor_name text not null,
  tx_id bigint not null,
  merged_at timestamptz not null,
  unmerge_tx bigint,
  unmerged_at timestamptz,
  constraint object_merge_pkey primary key (org_id, id)
);
create unique index object_merge_loser_key on object_merge (org_id, loser_id) where unmerged_at is null;
create index object_merge_loser_idx on object_merge (org_id, loser_id);
create index object_merge_winner_idx on object_merge (org_id, winner_id);

-- Where each merged object stands now: at the end of all merges, never at another merged object.
create table cluster_member (
  org_id bigint not null,
  object_id bigint not null,
  head_id bigint not null,
  object_type text not null,
  -- As clients name it, for claims that say of which member they are.
  public_id text not null,
  constraint cluster_member_pkey primary key (org_id, object_id)
);
create index cluster_member_head_idx on cluster_member (org_id, head_id, object_id);

create table do_not_link (
  org_id bigint not null,
  id bigint not null,
  object_type text not null,
  low_id bigint not null,
  high_id bigint not null,
  reason text,
  actor_type text not null,
  actor_id text,
  actor_name text not null,
  created_at timestamptz not null,
  constraint do_not_link_pkey primary key (org_id, id),
  constraint do_not_link_pair_key unique (org_id, low_id, high_id)
);
create index do_not_link_high_idx on do_not_link (org_id, high_id, low_id);

-- Pairs that may be one object, for a person to decide.
create table match_candidate (
  org_id bigint not null,
  id bigint not null,
  object_type text not null,
  low_id bigint not null,
  high_id bigint not null,
  rule text not null,
  score double precision not null,
  evidence jsonb not null,
  state text not null,
  run_id bigint,
  merge_id bigint,
  actor_type text,
  actor_id text,
  actor_name text,
  created_at timestamptz not null,
  decided_at timestamptz,
  constraint match_candidate_pkey primary key (org_id, id),
  constraint match_candidate_pair_key unique (org_id, low_id, high_id)
);
create index match_candidate_state_idx on match_candidate (org_id, state, id);

-- One pass over objects of a type: those that a job created, or all of them.
create table match_run (
  org_id bigint not null,
  id bigint not null,
  object_type text not null,
  job_id bigint,
  -- Of a run after a load: whether what it created is looked at, or the fewer others; null before the first batch.
  side text,
  state text not null,
  -- Objects up to this one have been compared.
  after_id bigint not null default 0,
  counts jsonb not null default '{}',
  actor_type text not null,
  actor_id text,
  actor_name text not null,
  created_at timestamptz not null,
  finished_at timestamptz,
  constraint match_run_pkey primary key (org_id, id)
);
create index match_run_open_idx on match_run (org_id, id) where finished_at is null;

-- Objects whose place in a cluster has changed while others may still refer to where they stood.
create table reference_move (
  org_id bigint not null,
  object_id bigint not null,
  object_type text not null,
  -- After an unmerge, records that refer to the object are to be read again when their source is loaded next.
  reread boolean not null,
  asked_at timestamptz not null,
  constraint reference_move_pkey primary key (org_id, object_id)
);

do $$
declare name text;
begin
  foreach name in array array['object_merge', 'cluster_member', 'do_not_link', 'match_candidate', 'match_run', 'reference_move'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
    execute format('grant select, insert, update, delete on %I to grid_app', name);
  end loop;
end $$;
-- A key of some properties reads clusters as it reads the claims in them.
create policy cluster_member_restricted on cluster_member to grid_restricted using (org_id = app.org());
grant select on cluster_member to grid_restricted;
create policy object_merge_restricted on object_merge for select to grid_restricted using (org_id = app.org());
grant select on object_merge to grid_restricted;

-- Identifiers are compared without their punctuation and in capitals: `us-ma 0042/1` is `USMA00421`.
create function app.identifier(value text) returns text language sql immutable parallel safe
  as $$ select nullif(upper(translate(value, E' -._/\\#:\t', '')), '') $$;
revoke execute on function app.identifier(text) from public;
grant execute on function app.identifier(text) to grid_app, grid_restricted, grid_system;

create index party_lei_idx on party (org_id, app.identifier(lei)) where lei is not null;
create index party_registration_idx on party (org_id, app.identifier(registration_number)) where registration_number is not null;
create index property_identifier_idx on property (org_id, app.identifier(code)) where code is not null;
create index building_identifier_idx on building (org_id, app.identifier(code)) where code is not null;
create index lease_identifier_idx on lease (org_id, app.identifier(lease_number)) where lease_number is not null;

-- Indexes on expressions and on trigrams are closed to queries that row-level security guards: their operators are not
-- leakproof. These functions look into them for the organization of the transaction, and for no other.

-- Whether two objects may be one: no source lists both now in one stream, and nobody said that they are to stay two.
create function app.may_be_one(org bigint, a bigint, b bigint) returns boolean language sql stable
  as $$
    select not exists (
        select from public.source_record x join public.source_record y on y.org_id = org and y.source_id = x.source_id
          and y.stream = x.stream and y.object_id = b and y.gone_tx is null
        where x.org_id = org and x.object_id = a and x.gone_tx is null)
      and not exists (
        select from public.do_not_link d where d.org_id = org and d.low_id = least(a, b) and d.high_id = greatest(a, b))
  $$;

-- Live objects that have the identifier of one of these, a few for each; `within` names a field that both must share.
create function app.same_identifier(type text, field text, within text, ids bigint[], shortest integer)
  returns table (id bigint, other bigint, mine text, theirs text)
  language plpgsql stable security definer set search_path = public, pg_temp
  as $$
  begin
    return query execute format(
      'select n.id, o.id, n.%2$I, o.value from %1$I n cross join lateral (
         select o.id, o.%2$I as value from %1$I o
         where o.org_id = $1 and app.identifier(o.%2$I) = app.identifier(n.%2$I) and o.%2$I is not null and o.id <> n.id
           and o.deleted_at is null and o.archived_at is null %3$s and app.may_be_one($1, n.id, o.id)
         order by o.id limit 5
       ) o
       where n.org_id = $1 and n.id = any($2) and n.deleted_at is null and length(app.identifier(n.%2$I)) >= $3',
      type, field, case when within is null then '' else format('and o.%1$I is not distinct from n.%1$I', within) end)
    using app.org(), ids, shortest;
  end $$;

-- Live objects by the plain form of a field's value, a few for each value.
create function app.find_identifier(type text, field text, given text[])
  returns table (value text, id bigint)
  language plpgsql stable security definer set search_path = public, pg_temp
  as $$
  begin
    return query execute format(
      'select v.value, o.id from unnest($2) as v(value) cross join lateral (
         select t.id from %1$I t where t.org_id = $1 and app.identifier(t.%2$I) = app.identifier(v.value) and t.%2$I is not null
           and t.deleted_at is null order by t.id limit 10
       ) o', type, field)
    using app.org(), given;
  end $$;

-- For each text the live objects whose names or address are most like it.
create function app.alike(type text, ids bigint[], texts text[], most integer)
  returns table (sought bigint, id bigint, body text)
  language plpgsql stable security definer set search_path = public, pg_temp
  as $$
  begin
    return query execute format(
      'select n.id, o.id, o.body from unnest($2, $3) as n(id, text) cross join lateral (
         select c.id, c.body from (
           -- Where hundreds are like it, likeness tells none of them apart. They are counted before it is asked which may
           -- be one with it: a source that lists thousands alike would have all of them looked at.
           select o.id, o.body, o.search from %1$I o
           where o.org_id = $1 and n.text <%% o.search and o.id <> n.id and o.deleted_at is null and o.archived_at is null
           limit 500
         ) c where app.may_be_one($1, n.id, c.id) order by word_similarity(n.text, c.search) desc, c.id limit $4
       ) o', type)
    using app.org(), ids, texts, most;
  end $$;

do $$
declare name text;
begin
  foreach name in array array['party', 'property', 'building', 'floor', 'space', 'lease', 'source_record', 'do_not_link'] loop
    execute format('create policy %I on %I for select to grid_system using (true)', name || '_matched', name);
    execute format('grant select on %I to grid_system', name);
  end loop;
end $$;
alter function app.same_identifier(text, text, text, bigint[], integer) owner to grid_system;
alter function app.find_identifier(text, text, text[]) owner to grid_system;
alter function app.alike(text, bigint[], text[], integer) owner to grid_system;
revoke execute on function app.may_be_one(bigint, bigint, bigint), app.same_identifier(text, text, text, bigint[], integer),
  app.find_identifier(text, text, text[]), app.alike(text, bigint[], text[], integer) from public;
grant execute on function app.may_be_one(bigint, bigint, bigint) to grid_app, grid_system;
grant execute on function app.same_identifier(text, text, text, bigint[], integer),
  app.find_identifier(text, text, text[]), app.alike(text, bigint[], text[], integer) to grid_app;

-- Matching follows every load that came to an end. What was loaded before this migration is matched on request only.
alter table job add column matched_at timestamptz;
update job set matched_at = now() where state in ('completed', 'completed_with_errors', 'failed', 'cancelled');
create index job_unmatched_idx on job (id) where matched_at is null;

-- Makes a run for each type among `types` that an ended job may have created objects of, in the order of `types`:
-- what others refer to first.
create function app.queue_matching(types text[])
  returns integer language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare queued integer;
  begin
    with ended as (
      update job set matched_at = now() where id in (
        select j.id from job j where j.matched_at is null and j.state in ('completed', 'completed_with_errors', 'failed', 'cancelled')
        order by j.id limit 100 for update skip locked)
      returning id, org_id, adapter, actor_name, started_at
    ), wanted as materialized (
      select distinct e.id, e.org_id, e.actor_name, t.type, array_position(types, t.type) as place
      from ended e cross join lateral (
        select jsonb_path_query(e.adapter, '$.streams[*].type') #>> '{}' as type
        union select jsonb_path_query(e.adapter, '$.streams[*].resolve.*.type') #>> '{}') t
      where e.started_at is not null and t.type = any(types)
      order by e.id, array_position(types, t.type)
    )
    insert into match_run (org_id, id, object_type, job_id, state, actor_type, actor_id, actor_name, created_at)
    select w.org_id, nextval('app.id_seq'), w.type, w.id, 'queued', 'job', 'job_' || w.id, w.actor_name, now()
    from wanted w order by w.id, w.place;
    get diagnostics queued = row_count;
    return queued;
  end $$;

-- Organizations in which something is to be matched, or references are to follow their objects. Matching lets loads of the
-- organization go first, for an hour.
create function app.identity_due(most integer)
  returns table (org_id bigint) language sql security definer set search_path = public, pg_temp
  as $$
    select r.org_id from match_run r where r.finished_at is null and (r.created_at < now() - interval '1 hour'
      or not exists (select from job j where j.org_id = r.org_id and j.state in ('validating', 'running')))
    union select m.org_id from reference_move m
    limit most
  $$;

alter function app.queue_matching(text[]) owner to grid_system;
alter function app.identity_due(integer) owner to grid_system;
revoke execute on function app.queue_matching(text[]), app.identity_due(integer) from public;
grant execute on function app.queue_matching(text[]), app.identity_due(integer) to grid_app;
grant usage on sequence app.id_seq to grid_system;
create policy match_run_system on match_run to grid_system using (true);
create policy reference_move_system on reference_move to grid_system using (true);
grant select, insert on match_run to grid_system;
grant select on reference_move to grid_system;
