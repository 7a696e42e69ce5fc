-- What the operator's metrics show of all organizations together.

create function app.job_states()
  returns table (state text, jobs bigint) language sql stable security definer set search_path = public, pg_temp
  as $$ select j.state, count(*) from job j group by j.state order by j.state $$;
alter function app.job_states() owner to grid_system;
revoke execute on function app.job_states() from public;
grant execute on function app.job_states() to grid_app;
