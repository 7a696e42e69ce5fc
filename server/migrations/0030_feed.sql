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
