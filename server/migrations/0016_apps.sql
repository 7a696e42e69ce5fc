-- Apps of third parties: one organization registers them, others install them, and they call with tokens.

create table app_registration (
  id bigint not null,
  org_id bigint not null,
  status text not null,
  status_reason text,
  visibility text not null,
  client_name text not null,
  description text,
  homepage_url text,
  redirect_uris text[] not null,
  scopes text[] not null,
  grant_types text[] not null,
  auth_method text not null,
  webhook jsonb,
  -- At most two, each with the SHA-256 of its text in hex; the one that was replaced has an end.
  secrets jsonb not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint app_registration_pkey primary key (id)
);
create index app_registration_org_idx on app_registration (org_id, id);

-- An organization's consent to an app. The row stays when the app is uninstalled.
create table app_installation (
  org_id bigint not null,
  id bigint not null,
  app_id bigint not null,
  -- The app as it was called when consent was given.
  client_name text not null,
  scopes text[] not null,
  installed_by text not null,
  -- The endpoint that hears of events for the app; null when it wants none, or may hear of none.
  webhook_id bigint,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  uninstalled_at timestamptz,
  constraint app_installation_pkey primary key (org_id, id)
);
create unique index app_installation_live_key on app_installation (org_id, app_id) where uninstalled_at is null;
create index app_installation_app_idx on app_installation (app_id) where uninstalled_at is null;

-- What a client gives for tokens, once: an authorization code or a refresh token. All that came of one consent share
-- consent_id, so that all of it ends when one of them is used twice.
create table app_grant (
  hash bytea not null,
  org_id bigint not null,
  app_id bigint not null,
  installation_id bigint not null,
  consent_id bigint not null,
  kind text not null,
  scopes text[] not null,
  redirect_uri text,
  code_challenge text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  revoked_at timestamptz,
  constraint app_grant_pkey primary key (hash)
);
create index app_grant_installation_idx on app_grant (org_id, installation_id, consent_id);
create index app_grant_expires_idx on app_grant (expires_at);

-- An access token is a key that belongs to an installation and ends within the hour.
alter table api_key add column kind text not null default 'key';
alter table api_key add column installation_id bigint;
alter table api_key add column consent_id bigint;
create index api_key_installation_idx on api_key (org_id, installation_id, consent_id) where installation_id is not null;
create index api_key_token_end_idx on api_key (expires_at) where kind = 'token';

-- The tokens of an installation share its limits, however many there are.
drop function app.find_key(bytea);
create function app.find_key(key_hash bytea)
  returns table (key_id bigint, org_id bigint, key_name text, scopes text[], expires_at timestamptz, revoked_at timestamptz,
    text_expires_at timestamptz, allowed_ips text[], property_ids bigint[], installation_id bigint,
    plan text, environment text, currency text, area_unit text, time_zone text)
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select k.id, k.org_id, k.name, k.scopes, k.expires_at, k.revoked_at,
      case when k.hash <> key_hash then k.old_expires_at end, k.allowed_ips, k.property_ids, k.installation_id,
      o.plan, o.environment, o.default_currency, o.default_area_unit, o.time_zone
    from api_key k join organization o on o.id = k.org_id
    where (k.hash = key_hash or k.old_hash = key_hash) and o.deleted_at is null
  $$;
revoke execute on function app.find_key(bytea) from public;
grant execute on function app.find_key(bytea) to grid_app;
alter function app.find_key(bytea) owner to grid_system;

alter table app_installation enable row level security;
alter table app_installation force row level security;
create policy app_installation_org on app_installation to grid_app using (org_id = app.org());
create policy app_installation_system on app_installation to grid_system using (true);
alter table app_registration enable row level security;
create policy app_registration_org on app_registration to grid_app using (org_id = app.org());
create policy app_registration_system on app_registration to grid_system using (true);
alter table app_grant enable row level security;
create policy app_grant_org on app_grant to grid_app using (org_id = app.org());
create policy app_grant_system on app_grant to grid_system using (true);
grant select, insert, update on app_registration, app_installation, app_grant to grid_app;
grant select on app_installation to grid_system;
grant select, update on app_registration to grid_system;
grant select, delete on app_grant to grid_system;
grant delete, update (revoked_at) on api_key to grid_system;

-- An app by its id, whoever registered it, with the name of that organization.
create function app.find_app(wanted bigint)
  returns json language sql stable security definer set search_path = public, pg_temp
  as $$
    select row_to_json(f) from (
      select a.*, o.name as organization_name from app_registration a join organization o on o.id = a.org_id
      where a.id = wanted and o.deleted_at is null) f
  $$;

-- The same, and nobody changes the app until the transaction ends: tokens are made of what it may do now.
create function app.hold_app(wanted bigint)
  returns json language plpgsql security definer set search_path = public, pg_temp
  as $$
  begin
    perform from app_registration a where a.id = wanted for share;
    return app.find_app(wanted);
  end $$;

-- Apps of every organization, for the operator's review.
create function app.apps_in(wanted text)
  returns setof json language sql stable security definer set search_path = public, pg_temp
  as $$
    select row_to_json(f) from (
      select a.*, o.name as organization_name from app_registration a join organization o on o.id = a.org_id
      where wanted is null or a.status = wanted order by a.id) f
  $$;

-- Where an app is installed: everywhere, or the one installation or organization that is named.
create function app.installations_of_app(wanted bigint, installation bigint, organization bigint)
  returns setof json language sql stable security definer set search_path = public, pg_temp
  as $$
    select row_to_json(i) from app_installation i
    where i.app_id = wanted and i.uninstalled_at is null
      and (installation is null or i.id = installation) and (organization is null or i.org_id = organization)
    order by i.org_id, i.id
  $$;

-- Ends every access token of an app, wherever it is installed.
create function app.revoke_app_tokens(wanted bigint)
  returns integer language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare ended integer;
  begin
    update api_key k set revoked_at = now() from app_installation i
    where i.app_id = wanted and k.org_id = i.org_id and k.installation_id = i.id and k.revoked_at is null
      and k.expires_at > now();
    get diagnostics ended = row_count;
    return ended;
  end $$;

-- A code or refresh token by its hash.
create function app.find_grant(wanted bytea)
  returns json language sql stable security definer set search_path = public, pg_temp
  as $$ select row_to_json(g) from app_grant g where g.hash = wanted $$;

-- An access token by its hash, with the app it was made for.
create function app.find_token(wanted bytea)
  returns json language sql stable security definer set search_path = public, pg_temp
  as $$
    select row_to_json(f) from (
      select k.id, k.org_id, i.app_id, k.installation_id, k.consent_id, k.scopes, k.created_at, k.expires_at, k.revoked_at
      from api_key k join app_installation i on i.org_id = k.org_id and i.id = k.installation_id
      where k.hash = wanted and k.kind = 'token') f
  $$;

-- Codes and refresh tokens go a day after their end, access tokens when the request log no longer names them.
create function app.forget_tokens()
  returns void language sql security definer set search_path = public, pg_temp
  as $$
    delete from app_grant where expires_at < now() - interval '1 day';
    delete from api_key where kind = 'token' and expires_at < now() - interval '30 days';
  $$;

do $$
declare signature text;
begin
  foreach signature in array array['find_app(bigint)', 'hold_app(bigint)', 'apps_in(text)', 'installations_of_app(bigint, bigint, bigint)',
    'revoke_app_tokens(bigint)', 'find_grant(bytea)', 'find_token(bytea)', 'forget_tokens()'] loop
    execute format('revoke execute on function app.%s from public', signature);
    execute format('grant execute on function app.%s to grid_app', signature);
    execute format('alter function app.%s owner to grid_system', signature);
  end loop;
end $$;
