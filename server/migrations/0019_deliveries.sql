-- Deliveries from the feed to their end: made, claimed, completed, taken back from workers that died.

-- The property an object belongs to; null when it belongs to none.
create function app.property_of(org bigint, kind text, object bigint)
  returns bigint language sql stable set search_path = public, pg_temp
  as $$
    select case kind
      when 'property' then object
      when 'building' then (select b.property_id from building b where b.org_id = org and b.id = object)
      when 'floor' then (select b.property_id from floor f join building b on b.org_id = org and b.id = f.building_id
        where f.org_id = org and f.id = object)
      when 'space' then (select b.property_id from space s join building b on b.org_id = org and b.id = s.building_id
        where s.org_id = org and s.id = object)
      when 'lease' then (select l.property_id from lease l where l.org_id = org and l.id = object)
      when 'work_order' then (select w.property_id from work_order w where w.org_id = org and w.id = object)
    end
  $$;

-- Makes deliveries of the next events of every webhook that is behind the feed, and moves the webhooks on: both or
-- neither, so nothing is lost or made twice. One caller at a time. The limits inside keep the plan to one look-up per row
-- while the statistics still tell of empty tables.
create function app.fan_out(most integer)
  returns integer language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare made integer;
  begin
    if not pg_try_advisory_xact_lock(7016, 4) then return 0; end if;
    with heads as materialized (
      select o.org_id, h.head from (select distinct w.org_id from webhook w) o
      cross join lateral (
        select t.first_seq + t.events - 1 as head from tx t where t.org_id = o.org_id and t.first_seq is not null
        order by t.first_seq desc, t.events desc limit 1) h
    ), behind as materialized (
      select w.*, h.head from webhook w join heads h on h.org_id = w.org_id where w.position < h.head
      order by w.org_id, w.id limit 500 for no key update of w
    ), steps as materialized (
      select b.*, least(b.head, b.position + greatest(20, most / (count(*) over ()))) as upto from behind b
    ), next as materialized (
      select b.org_id, b.id as webhook_id, e.seq, e.tx_id, e.n, e.type, e.object_id,
        e.type like any (b.types) and not (e.object_type = 'webhook' and e.object_id = b.id)
          and (b.property_ids is null or app.property_of(b.org_id, e.object_type, e.object_id) = any (b.property_ids)) as wanted,
        case b.state when 'active' then 'pending' else 'held' end as state, b.coalesce_seconds,
        case b.ordering when 'resource' then e.object_id end as ordering_key
      from steps b cross join lateral (
        select t.first_seq, t.tx_id, t.at from tx t
        where t.org_id = b.org_id and t.first_seq <= b.upto
          and t.first_seq >= coalesce((select max(x.first_seq) from tx x where x.org_id = b.org_id and x.first_seq <= b.position), 0)
        limit b.upto - b.position + 100000) t
      cross join lateral (
        select t.first_seq + v.n as seq, v.tx_id, v.n, v.type, v.object_type, v.object_id from event v
        where v.org_id = b.org_id and v.tx_id = t.tx_id and v.at = t.at
          and v.n > b.position - t.first_seq and v.n <= b.upto - t.first_seq
        limit 100000) e
    ), added as (
      insert into delivery (org_id, webhook_id, id, tx_id, n, type, object_id, created_at, state, trigger, next_at, ordering_key)
      select o.org_id, o.webhook_id, nextval('app.delivery_seq'), o.tx_id, o.n, o.type, o.object_id, now(), o.state, 'event',
        now() + make_interval(secs => o.coalesce_seconds), o.ordering_key
      from (select * from next x where x.wanted order by x.org_id, x.webhook_id, x.seq) o
      returning 1
    ), moved as (
      update webhook w set position = s.upto from steps s where w.org_id = s.org_id and w.id = s.id
    )
    select count(*) into made from added;
    if made > 0 and exists (select from webhook w where w.coalesce_seconds > 0) then
      perform app.coalesce_deliveries();
    end if;
    return made;
  end $$;

-- Of waiting updates of one object, the last stands for all, at the time the first was due.
create function app.coalesce_deliveries()
  returns void language sql set search_path = public, pg_temp
  as $$
    with waiting as materialized (
      select d.org_id, d.webhook_id, d.id, d.coalesced, row_number() over each as place,
        sum(d.coalesced) over whole as total, min(d.next_at) over whole as due
      from webhook w cross join lateral (
        select * from delivery x where x.org_id = w.org_id and x.webhook_id = w.id offset 0) d
      where w.coalesce_seconds > 0 and d.state in ('pending', 'held') and d.attempt = 0 and d.trigger = 'event' and d.type like '%.updated'
      window whole as (partition by d.org_id, d.webhook_id, d.object_id, d.type, d.state),
        each as (partition by d.org_id, d.webhook_id, d.object_id, d.type, d.state order by d.id desc)
    ), dropped as (
      delete from delivery d using waiting w
      where w.place > 1 and d.org_id = w.org_id and d.webhook_id = w.webhook_id and d.id = w.id
    )
    update delivery d set coalesced = w.total, next_at = w.due from waiting w
    where w.place = 1 and w.total > w.coalesced and d.org_id = w.org_id and d.webhook_id = w.webhook_id and d.id = w.id
  $$;

-- Hands due deliveries to a worker: of each webhook as many as it may take, for a minute. A webhook that others also
-- want deliveries from is passed by when it allows no more at once; an open circuit lets one attempt through.
-- lanes: how many deliveries the worker takes of webhooks it already has some of.
create function app.claim_deliveries(most integer, lease bigint, lanes json)
  returns json language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare answer json;
  begin
    with flying as materialized (
      select d.org_id, d.webhook_id, count(*)::integer as n from delivery d where d.state = 'in_flight' group by 1, 2
    ), ready as materialized (
      select w.org_id, w.id, w.rate, least(
          case when h.circuit = 'open' then 1 - coalesce(f.n, 0)
            when h.pace is not null then h.pace - coalesce(f.n, 0)
            else most end,
          coalesce(l.room, w.max_concurrency),
          case when w.rate is null then most
            else floor(w.rate * extract(epoch from now() - greatest(coalesce(h.rate_at, '-infinity'), now() - interval '1 second'))) end
        )::integer as room
      from webhook w
      join webhook_health h on h.org_id = w.org_id and h.webhook_id = w.id
      left join flying f on f.org_id = w.org_id and f.webhook_id = w.id
      left join json_to_recordset(lanes) as l(org_id bigint, webhook_id bigint, room integer)
        on l.org_id = w.org_id and l.webhook_id = w.id
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

-- Writes what became of deliveries, each only if it is still held by the lease it was claimed with.
-- results: outcome is succeeded, failed or cancelled, which end it; retry; or released, which uses no attempt.
-- Returns the webhooks whose circuit changed, with the time since when they had failed.
create function app.complete_deliveries(results json)
  returns json language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare answer json;
  begin
    perform from webhook_health h
    where (h.org_id, h.webhook_id) in (
      select r.org_id, r.webhook_id from json_to_recordset(results) as r(org_id bigint, webhook_id bigint))
    order by h.org_id, h.webhook_id for no key update;
    with r as materialized (
      select g.org_id, g.webhook_id, g.id, g.lease_id, g.wait_s, g.slow, g.attempt, g.headers, g.body, g.base64,
        case when gone then 'cancelled' else g.outcome end as outcome, case when gone then 'webhook_deleted' else g.reason end as reason
      from json_to_recordset(results) as g(org_id bigint, webhook_id bigint, id bigint, lease_id bigint, outcome text, reason text,
        wait_s double precision, slow boolean, attempt jsonb, headers jsonb, body text, base64 boolean)
      -- What would be tried again has nobody to go to when the webhook was deleted meanwhile.
      cross join lateral (select g.outcome in ('retry', 'released') and not exists (
        select from webhook w where w.org_id = g.org_id and w.id = g.webhook_id) as gone) w
    ), ended as (
      delete from delivery d using r
      where d.org_id = r.org_id and d.webhook_id = r.webhook_id and d.id = r.id and d.lease_id = r.lease_id
        and r.outcome in ('succeeded', 'failed', 'cancelled')
      returning d.org_id, d.webhook_id, d.id, d.tx_id, d.n, d.type, d.object_id, d.created_at, d.trigger, d.replay_id,
        d.attempt + (r.attempt is not null)::integer as number, coalesce(d.attempts || r.attempt, d.attempts) as attempts, d.coalesced,
        r.outcome, r.reason, r.headers, r.body, r.base64, r.slow
    ), logged as (
      insert into delivery_log (org_id, webhook_id, id, at, tx_id, n, type, object_id, created_at, state, reason, trigger, replay_id,
        attempt, attempts, coalesced)
      select e.org_id, e.webhook_id, e.id, now(), e.tx_id, e.n, e.type, e.object_id, e.created_at, e.outcome, e.reason, e.trigger,
        e.replay_id, e.number, e.attempts, e.coalesced
      from ended e
    ), again as (
      update delivery d set state = case w.state when 'active' then 'pending' else 'held' end,
        next_at = now() + make_interval(secs => r.wait_s), lease_id = null, locked_until = null, lost = 0,
        attempt = case r.outcome when 'retry' then d.attempt + 1 else d.attempt end,
        attempts = case r.outcome when 'retry' then d.attempts || r.attempt else d.attempts end
      from r join webhook w on w.org_id = r.org_id and w.id = r.webhook_id
      where d.org_id = r.org_id and d.webhook_id = r.webhook_id and d.id = r.id and d.lease_id = r.lease_id
        and r.outcome in ('retry', 'released')
      returning d.org_id, d.webhook_id, d.id, d.attempt as number, d.trigger, r.outcome, r.headers, r.body, r.base64, r.slow
    ), done as (
      select e.org_id, e.webhook_id, e.id, e.number, e.trigger, e.outcome, e.headers, e.body, e.base64, e.slow from ended e
      union all select a.* from again a where a.outcome = 'retry'
    ), kept as (
      insert into delivery_body (org_id, delivery_id, attempt, at, headers, body, base64)
      select x.org_id, x.id, x.number, now(), x.headers, x.body, x.base64 from done x where x.headers is not null
    ), sums as (
      select x.org_id, x.webhook_id, count(*)::integer as total,
        (count(*) filter (where x.outcome = 'succeeded'))::integer as ok,
        (count(*) filter (where x.outcome <> 'succeeded'))::integer as bad,
        (count(*) filter (where x.outcome = 'failed' and x.trigger <> 'replay'))::integer as exhausted,
        bool_or(x.slow) as slow
      from done x group by 1, 2
    ), judged as (
      select s.*, w.max_concurrency, h.circuit, h.open_until, h.open_s, h.pace, h.failing_since,
        h.window_start is null or h.window_start < now() - interval '5 minutes' as fresh
      from sums s join webhook_health h on h.org_id = s.org_id and h.webhook_id = s.webhook_id
      join webhook w on w.org_id = s.org_id and w.id = s.webhook_id
    ), counted as (
      select j.*, j.total + case when j.fresh then 0 else h.window_total end as window_all,
        j.bad + case when j.fresh then 0 else h.window_failed end as window_bad
      from judged j join webhook_health h on h.org_id = j.org_id and h.webhook_id = j.webhook_id
    ), decided as (
      select c.*, case
          when c.circuit = 'open' and c.ok > 0 then 'closes'
          when c.circuit = 'open' and c.open_until <= now() then 'stays'
          when c.circuit = 'closed' and c.window_all >= 10 and c.window_bad >= 0.7 * c.window_all then 'opens'
        end as move
      from counted c
    ), changed as (
      update webhook_health h set
        last_success_at = case when d.ok > 0 then now() else h.last_success_at end,
        last_failure_at = case when d.bad > 0 then now() else h.last_failure_at end,
        failures = case when d.ok > 0 then 0 else h.failures + d.bad end,
        exhausted = case when d.ok > 0 then 0 else h.exhausted + d.exhausted end,
        failing_since = case when d.ok > 0 then null else coalesce(h.failing_since, now()) end,
        warned_hours = case when d.ok > 0 then 0 else h.warned_hours end,
        circuit = case d.move when 'opens' then 'open' when 'closes' then 'closed' else h.circuit end,
        open_s = case d.move when 'stays' then least(h.open_s * 2, 900) when 'closes' then 30 else h.open_s end,
        open_until = case d.move when 'opens' then now() + make_interval(secs => h.open_s)
          when 'stays' then now() + make_interval(secs => least(h.open_s * 2, 900))
          when 'closes' then null else h.open_until end,
        window_start = case when d.move = 'closes' then null when d.fresh then now() else h.window_start end,
        window_total = case when d.move = 'closes' then 0 else d.window_all end,
        window_failed = case when d.move = 'closes' then 0 else d.window_bad end,
        pace = case when d.move = 'closes' then 1
          when d.slow then greatest(1, coalesce(h.pace, d.max_concurrency) / 2)
          when h.pace is not null and d.ok > 0 then nullif(least(h.pace * 2, d.max_concurrency), d.max_concurrency)
          else h.pace end
      from decided d where h.org_id = d.org_id and h.webhook_id = d.webhook_id
      returning h.org_id, h.webhook_id, d.move, old.failing_since
    )
    select coalesce(json_agg(c), '[]') into answer from changed c where c.move is not null;
    return answer;
  end $$;

-- Takes deliveries back from workers that did not answer for a minute. The third time, it is the delivery that is given
-- up; one whose webhook is gone is cancelled; and what was held longer than deliveries are kept has expired.
create function app.recover_deliveries(keep_days integer)
  returns integer language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare recovered integer;
  begin
    with lost as materialized (
      select d.org_id, d.webhook_id, d.id, case when w.id is null then 'cancelled' when d.state = 'held' then 'expired'
          when d.lost >= 2 then 'failed' when w.state = 'active' then 'pending' else 'held' end as becomes
      from delivery d left join webhook w on w.org_id = d.org_id and w.id = d.webhook_id
      where (d.state = 'in_flight' and d.locked_until < now())
        or (d.state = 'held' and d.created_at < now() - make_interval(days => keep_days))
      limit 5000 for update of d skip locked
    ), gone as (
      delete from delivery d using lost l
      where d.org_id = l.org_id and d.webhook_id = l.webhook_id and d.id = l.id and l.becomes in ('cancelled', 'expired', 'failed')
      returning d.*, l.becomes
    ), logged as (
      insert into delivery_log (org_id, webhook_id, id, at, tx_id, n, type, object_id, created_at, state, reason, trigger, replay_id,
        attempt, attempts, coalesced)
      select g.org_id, g.webhook_id, g.id, now(), g.tx_id, g.n, g.type, g.object_id, g.created_at, g.becomes,
        case g.becomes when 'failed' then 'worker_crashed' when 'cancelled' then 'webhook_deleted' end,
        g.trigger, g.replay_id, g.attempt, g.attempts, g.coalesced
      from gone g
    )
    update delivery d set state = l.becomes, lost = d.lost + 1, lease_id = null, locked_until = null, next_at = now()
    from lost l
    where d.org_id = l.org_id and d.webhook_id = l.webhook_id and d.id = l.id and l.becomes in ('pending', 'held');
    get diagnostics recovered = row_count;
    return recovered;
  end $$;

-- Webhooks whose owner is to be told, or which are to be suspended: without success for hours or days.
create function app.failing_webhooks()
  returns table (org_id bigint, webhook_id bigint, hours integer) language sql stable security definer set search_path = public, pg_temp
  as $$
    select h.org_id, h.webhook_id, f.hours from webhook_health h
    join webhook w on w.org_id = h.org_id and w.id = h.webhook_id and w.state = 'active'
    cross join lateral (select case
      when h.failing_since < now() - interval '5 days' and (h.exhausted >= 50 or h.failures >= 250) then 120
      when h.failing_since < now() - interval '72 hours' then 72
      when h.failing_since < now() - interval '24 hours' then 24 end as hours) f
    where f.hours > h.warned_hours
  $$;

create function app.open_replays()
  returns table (org_id bigint, id bigint) language sql stable security definer set search_path = public, pg_temp
  as $$ select r.org_id, r.id from replay r where r.state = 'running' order by r.id limit 100 $$;

create function app.find_inbox(token text)
  returns table (org_id bigint, id bigint, status smallint) language sql stable security definer set search_path = public, pg_temp
  as $$ select i.org_id, i.id, i.status from inbox i where i.token = find_inbox.token $$;

-- Secrets of every organization that are not sealed with the given master key.
create function app.secrets_sealed_otherwise(key_id text)
  returns table (org_id bigint, webhook_id bigint, sealed_by text) language sql stable security definer set search_path = public, pg_temp
  as $$
    select distinct w.org_id, w.id, split_part(s ->> 'sealed', '.', 2) from webhook w cross join lateral jsonb_array_elements(w.secrets) s
    where split_part(s ->> 'sealed', '.', 2) <> key_id
  $$;

do $$
declare signature text;
begin
  foreach signature in array array['app.fan_out(integer)', 'app.claim_deliveries(integer, bigint, json)',
    'app.complete_deliveries(json)', 'app.recover_deliveries(integer)', 'app.failing_webhooks()', 'app.open_replays()',
    'app.find_inbox(text)', 'app.secrets_sealed_otherwise(text)'] loop
    execute format('alter function %s owner to grid_system', signature);
    execute format('revoke execute on function %s from public', signature);
    execute format('grant execute on function %s to grid_app', signature);
  end loop;
end $$;
revoke execute on function app.coalesce_deliveries(), app.property_of(bigint, text, bigint) from public;
grant execute on function app.coalesce_deliveries(), app.property_of(bigint, text, bigint) to grid_system;
