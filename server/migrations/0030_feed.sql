-- From a commit to its deliveries in fewer steps: nothing waits for transactions of others, or asks twice.

-- Gives what has committed its place in the feed, in the order of transaction ids. A transaction takes its id when it
-- holds the rows it changes, so of two that change one object the later has the higher id and is seen no sooner; one that
-- is still open is placed when it has committed, and holds up no other. One caller at a time. Places that readers have
-- seen outlive a crash of the database: the commit waits for the disk even where those of the connection do not.
create or replace function app.place_transactions(most integer)
  returns integer language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare placed integer;
  begin
    if not pg_try_advisory_xact_lock(7016, 1) then return 0; end if;
    with ready as materialized (
      select t.org_id, t.tx_id, t.events from tx t where t.first_seq is null
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
    if placed > 0 and current_setting('synchronous_commit') = 'off' then
      perform set_config('synchronous_commit', 'on', true);
    end if;
    return placed;
  end $$;

-- Whether a claim can find anything; cheaper than a claim that finds nothing.
create function app.deliveries_due()
  returns boolean language sql stable security definer set search_path = public, pg_temp
  as $$
    select exists (
      select from webhook w cross join lateral (
        select from delivery d
        where d.org_id = w.org_id and d.webhook_id = w.id and d.state = 'pending' and d.next_at <= now() limit 1) due
      where w.state = 'active')
  $$;
alter function app.deliveries_due() owner to grid_system;
revoke execute on function app.deliveries_due() from public;
grant execute on function app.deliveries_due() to grid_app;

-- As before, but that what a webhook has in flight and has room for are looked up by its id: joined, a thousand webhooks
-- were compared with a thousand lanes.
create or replace function app.claim_deliveries(most integer, lease bigint, lanes json)
  returns json language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare
    answer json;
    -- By webhook: ids are unique over all organizations.
    rooms constant jsonb := (
      select coalesce(jsonb_object_agg(l.webhook_id, l.room), '{}') from json_to_recordset(lanes) as l(webhook_id bigint, room integer));
  begin
    with flying as materialized (
      select coalesce(jsonb_object_agg(c.webhook_id, c.n), '{}') as held
      from (select d.webhook_id, count(*) as n from delivery d where d.state = 'in_flight' group by 1) c
    ), ready as materialized (
      select w.org_id, w.id, w.rate, least(
          case when h.circuit = 'open' then 1 - coalesce((f.held ->> w.id::text)::integer, 0)
            when h.pace is not null then h.pace - coalesce((f.held ->> w.id::text)::integer, 0)
            else most end,
          coalesce((rooms ->> w.id::text)::integer, w.max_concurrency),
          case when w.rate is null then most
            else floor(w.rate * extract(epoch from now() - greatest(coalesce(h.rate_at, '-infinity'), now() - interval '1 second'))) end
        )::integer as room
      from webhook w
      join webhook_health h on h.org_id = w.org_id and h.webhook_id = w.id
      cross join flying f
      where w.state = 'active' and (h.circuit = 'closed' or h.open_until <= now())
      order by random()
    ), taken as (
      select d.org_id, d.webhook_id, d.id from ready r cross join lateral (
        select p.org_id, p.webhook_id, p.id from delivery p
        where p.org_id = r.org_id and p.webhook_id = r.id and p.state = 'pending' and p.next_at <= now()
          and (p.ordering_key is null or not exists (
            select from delivery o where o.org_id = p.org_id and o.webhook_id = p.webhook_id
              and o.ordering_key = p.ordering_key and o.id < p.id))
        order by p.next_at, p.id limit greatest(r.room, 0) for update skip locked) d
      where r.room > 0 limit most
    ), claimed as (
      update delivery d set state = 'in_flight', lease_id = lease, locked_until = now() + interval '60 seconds'
      from taken t where d.org_id = t.org_id and d.webhook_id = t.webhook_id and d.id = t.id
      returning d.org_id, d.webhook_id, d.id, d.tx_id, d.n, d.type, d.trigger, d.attempt, d.coalesced
    ), used as (
      update webhook_health h set rate_at = greatest(coalesce(h.rate_at, '-infinity'), now() - interval '1 second')
        + make_interval(secs => c.n::double precision / r.rate)
      from (select x.org_id, x.webhook_id, count(*) as n from claimed x group by 1, 2) c
      join ready r on r.org_id = c.org_id and r.id = c.webhook_id and r.rate is not null
      where h.org_id = c.org_id and h.webhook_id = c.webhook_id
    )
    select json_build_object(
      'deliveries', coalesce((select json_agg(c order by c.id) from claimed c), '[]'),
      'events', coalesce((select json_agg(json_build_object('org_id', v.org_id, 'seq', t.first_seq + v.n, 'tx_id', v.tx_id, 'n', v.n,
          'at', v.at, 'type', v.type, 'object_type', v.object_type, 'object_id', v.object_id, 'operation', v.operation,
          'version', v.version, 'changed', v.changed, 'previous', v.previous, 'about', v.about, 'body', v.body, 'actor_type', t.actor_type,
          'actor_id', t.actor_id, 'actor_name', t.actor_name, 'request_id', t.request_id, 'job_id', t.job_id,
          'environment', g.environment))
        from (select distinct c.org_id, c.tx_id, c.n from claimed c) e
        join tx t on t.org_id = e.org_id and t.tx_id = e.tx_id
        cross join lateral (select * from event x where x.org_id = e.org_id and x.tx_id = e.tx_id and x.n = e.n and x.at = t.at limit 1) v
        join organization g on g.org_id = e.org_id and g.id = e.org_id), '[]'),
      'webhooks', coalesce((select json_agg(json_build_object('org_id', w.org_id, 'id', w.id, 'url', w.url, 'payload', w.payload,
          'max_concurrency', w.max_concurrency, 'secrets', w.secrets, 'inbox_id', w.inbox_id, 'coalesce_seconds', w.coalesce_seconds))
        from (select distinct c.org_id, c.webhook_id from claimed c) e
        join webhook w on w.org_id = e.org_id and w.id = e.webhook_id), '[]'))
    into answer;
    return answer;
  end $$;
