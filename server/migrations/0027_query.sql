-- Queries that are kept, and the SQL console: a role that may read views of one organization and do nothing else.

create table saved_query (
  org_id bigint not null,
  id bigint not null,
  name text not null,
  description text,
  -- The document as it was sent, with its parameters in the places of values.
  query json not null,
  -- Values of parameters that a run leaves out.
  defaults json not null,
  version integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint saved_query_pkey primary key (org_id, id),
  constraint saved_query_name_key unique (org_id, name)
);
alter table saved_query enable row level security;
alter table saved_query force row level security;
create policy saved_query_org on saved_query to grid_app using (org_id = app.org());
grant select, insert, update, delete on saved_query to grid_app;

-- Whose statement is running: written before it by the service, found by a token that nobody can guess, and gone after it.
-- Nothing that SQL can set names an organization. Not logged: it is worth seconds.
create unlogged table console_context (
  token_hash bytea not null,
  org_id bigint not null,
  expires_at timestamptz not null,
  constraint console_context_pkey primary key (token_hash)
);
alter table console_context enable row level security;
create policy console_context_org on console_context to grid_app using (org_id = app.org());
create policy console_context_system on console_context for select to grid_system using (true);
grant select, insert, delete on console_context to grid_app;
grant select on console_context to grid_system;

-- The organization of the token that the transaction carries; null, and so no rows at all, without a good one.
create function app.console_org() returns bigint
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select c.org_id from console_context c
    where c.token_hash = sha256(current_setting('app.console_token', true)::bytea) and c.expires_at > clock_timestamp()
  $$;
revoke execute on function app.console_org() from public;
grant execute on function app.console_org() to grid_console;
alter function app.console_org() owner to grid_system;

-- Settings are the service's to set. Where the server belongs to somebody else these two say only that they had no effect;
-- the console refuses the function in any case.
revoke execute on function pg_catalog.set_config(text, text, boolean) from public;
grant execute on function pg_catalog.set_config(text, text, boolean) to grid_app, grid_restricted, grid_system;

-- What the console reads. A view is read with the rights of the role, under policies of its own that ask for the token.
create schema console;
grant usage on schema console to grid_console;

grant select (
  org_id, id, version, created_at, updated_at, archived_at, deleted_at, body, name, slug, kind, plan, environment,
  default_currency, default_area_unit, time_zone, locale, fiscal_year_start_month, parent_organization_id,
  data_region, retention_days, tags
) on organization to grid_console;
create policy organization_console on organization for select to grid_console using (id = (select app.console_org()));
create view console.organization with (security_barrier = true, security_invoker = true) as
  select id, 'org_' || id as api_id,
    name, slug, kind, plan, environment, default_currency, default_area_unit, time_zone, locale,
    fiscal_year_start_month, parent_organization_id, data_region, retention_days, tags, version, created_at,
    updated_at, archived_at, body::jsonb as data
  from public.organization where deleted_at is null;

grant select (
  org_id, id, version, created_at, updated_at, archived_at, deleted_at, body, kind, legal_name, display_name,
  dba_name, roles, parent_party_id, global_party_id, industry_code, industry_label, credit_rating,
  credit_rating_agency, credit_rated_on_date, is_investment_grade, is_public, ticker, lei, registration_number,
  tax_id_last4, website, emails, phones, status, tags
) on party to grid_console;
create policy party_console on party for select to grid_console using (org_id = (select app.console_org()));
create view console.party with (security_barrier = true, security_invoker = true) as
  select id, 'pty_' || id as api_id,
    kind, legal_name, display_name, dba_name, roles, parent_party_id, global_party_id, industry_code, industry_label,
    credit_rating, credit_rating_agency, credit_rated_on_date, is_investment_grade, is_public, ticker, lei,
    registration_number, tax_id_last4, website, emails, phones, status, tags, version, created_at, updated_at,
    archived_at, body::jsonb as data
  from public.party where deleted_at is null;

grant select (
  org_id, id, version, created_at, updated_at, archived_at, deleted_at, body, party_id, first_name, last_name, title,
  email, phone, phone_type, role, is_primary, is_decision_maker, preferred_channel, tags
) on contact to grid_console;
create policy contact_console on contact for select to grid_console using (org_id = (select app.console_org()));
create view console.contact with (security_barrier = true, security_invoker = true) as
  select id, 'con_' || id as api_id,
    party_id, first_name, last_name, title, email, phone, phone_type, role, is_primary, is_decision_maker,
    preferred_channel, tags, version, created_at, updated_at, archived_at, body::jsonb as data
  from public.contact where deleted_at is null;

grant select (
  org_id, id, version, created_at, updated_at, archived_at, deleted_at, body, name, code, property_type,
  property_subtype, status, latitude, longitude, time_zone, market, submarket, region_group, owner_party_id,
  legal_entity_name, fund_name, ownership_type, property_manager_party_id, asset_manager_party_id,
  leasing_broker_party_id, acquisition_date, acquisition_price, disposition_date, disposition_price, parcel_numbers,
  land_area, land_area_unit, zoning, flood_zone, currency, area_unit, tags
) on property to grid_console;
create policy property_console on property for select to grid_console using (org_id = (select app.console_org()));
create view console.property with (security_barrier = true, security_invoker = true) as
  select id, 'prop_' || id as api_id,
    name, code, property_type, property_subtype, status, latitude, longitude, time_zone, market, submarket,
    region_group, owner_party_id, legal_entity_name, fund_name, ownership_type, property_manager_party_id,
    asset_manager_party_id, leasing_broker_party_id, acquisition_date, acquisition_price, disposition_date,
    disposition_price, parcel_numbers, land_area, land_area_unit, zoning, flood_zone, currency, area_unit, tags,
    version, created_at, updated_at, archived_at, body::jsonb as data
  from public.property where deleted_at is null;

grant select (
  org_id, id, version, created_at, updated_at, archived_at, deleted_at, body, property_id, name, code, area_unit,
  building_class, primary_use, secondary_uses, year_built, year_renovated, floors_above_ground, floors_below_ground,
  gross_area, rentable_area, usable_area, load_factor, measurement_standard, remeasured_date, parking_spaces,
  parking_ratio, elevators_passenger, elevators_freight, clear_height, column_spacing, dock_doors, drive_in_doors,
  trailer_stalls, power_amps, construction_type, hvac_type, sprinklered, ada_compliant, energy_star_score, site_eui,
  source_eui, ghg_intensity, site_energy_use, electricity_use, natural_gas_use, steam_use, ghg_emissions, tags
) on building to grid_console;
create policy building_console on building for select to grid_console using (org_id = (select app.console_org()));
create view console.building with (security_barrier = true, security_invoker = true) as
  select id, 'bld_' || id as api_id,
    property_id, name, code, area_unit, building_class, primary_use, secondary_uses, year_built, year_renovated,
    floors_above_ground, floors_below_ground, gross_area, rentable_area, usable_area, load_factor,
    measurement_standard, remeasured_date, parking_spaces, parking_ratio, elevators_passenger, elevators_freight,
    clear_height, column_spacing, dock_doors, drive_in_doors, trailer_stalls, power_amps, construction_type,
    hvac_type, sprinklered, ada_compliant, energy_star_score, site_eui, source_eui, ghg_intensity,
    site_energy_use, electricity_use, natural_gas_use, steam_use, ghg_emissions, tags, version,
    created_at, updated_at, archived_at, body::jsonb as data
  from public.building where deleted_at is null;

grant select (
  org_id, id, version, created_at, updated_at, archived_at, deleted_at, body, building_id, label, level_number,
  floor_type, area_unit, gross_area, rentable_area, usable_area, common_area, slab_to_slab_height,
  floor_plan_document_id, is_leasable, tags
) on floor to grid_console;
create policy floor_console on floor for select to grid_console using (org_id = (select app.console_org()));
create view console.floor with (security_barrier = true, security_invoker = true) as
  select id, 'flr_' || id as api_id,
    building_id, label, level_number, floor_type, area_unit, gross_area, rentable_area, usable_area, common_area,
    slab_to_slab_height, floor_plan_document_id, is_leasable, tags, version, created_at, updated_at, archived_at,
    body::jsonb as data
  from public.floor where deleted_at is null;

grant select (
  org_id, id, version, created_at, updated_at, archived_at, deleted_at, body, building_id, suite, space_type,
  area_unit, rentable_area, usable_area, load_factor, measurement_standard, available_date, availability_type,
  condition, currency, asking_rent_per_area, asking_rent_basis, market_rent_per_area, min_divisible_area,
  max_contiguous_area, is_listed, tags
) on space to grid_console;
create policy space_console on space for select to grid_console using (org_id = (select app.console_org()));
create view console.space with (security_barrier = true, security_invoker = true) as
  select id, 'spc_' || id as api_id,
    building_id, suite, space_type, area_unit, rentable_area, usable_area, load_factor, measurement_standard,
    available_date, availability_type, condition, currency, asking_rent_per_area, asking_rent_basis,
    market_rent_per_area, min_divisible_area, max_contiguous_area, is_listed, tags, version, created_at, updated_at,
    archived_at, body::jsonb as data
  from public.space where deleted_at is null;

grant select (
  org_id, id, version, created_at, updated_at, archived_at, deleted_at, body, lease_number, name, property_id,
  building_id, tenant_party_id, landlord_party_id, lease_type, status, renewal_status, term_type, execution_date,
  possession_date, commencement_date, rent_commencement_date, expiration_date, move_in_date, move_out_date,
  notice_given_date, terminated_date, is_month_to_month, holdover_rent_pct, term_months, rentable_area,
  pro_rata_share_pct, pro_rata_denominator, recovery_type, currency, area_unit, rent_frequency, rent_due_day,
  payment_method, security_deposit_amount, ti_allowance, commission_total, free_rent_months, go_dark_right,
  assignment_consent, snda_status, estoppel_due_date, lease_abstract_status, tags
) on lease to grid_console;
create policy lease_console on lease for select to grid_console using (org_id = (select app.console_org()));
create view console.lease with (security_barrier = true, security_invoker = true) as
  select id, 'le_' || id as api_id,
    lease_number, name, property_id, building_id, tenant_party_id, landlord_party_id, lease_type, status,
    renewal_status, term_type, execution_date, possession_date, commencement_date, rent_commencement_date,
    expiration_date, move_in_date, move_out_date, notice_given_date, terminated_date, is_month_to_month,
    holdover_rent_pct, term_months, rentable_area, pro_rata_share_pct, pro_rata_denominator, recovery_type, currency,
    area_unit, rent_frequency, rent_due_day, payment_method, security_deposit_amount, ti_allowance, commission_total,
    free_rent_months, go_dark_right, assignment_consent, snda_status, estoppel_due_date, lease_abstract_status, tags,
    version, created_at, updated_at, archived_at, body::jsonb as data
  from public.lease where deleted_at is null;

grant select (
  org_id, id, version, created_at, updated_at, archived_at, deleted_at, body, title, document_type, status, filename,
  content_type, byte_size, sha256, page_count, version_number, current_version_id, content_url, text_status,
  ocr_language, linked_to, effective_date, expires_date, signed_date, counterparty_party_id, confidentiality,
  retention_until_date, legal_hold, redacted_of_document_id, tags
) on document to grid_console;
create policy document_console on document for select to grid_console using (org_id = (select app.console_org()));
create view console.document with (security_barrier = true, security_invoker = true) as
  select id, 'doc_' || id as api_id,
    title, document_type, status, filename, content_type, byte_size, sha256, page_count, version_number,
    current_version_id, content_url, text_status, ocr_language, linked_to, effective_date, expires_date, signed_date,
    counterparty_party_id, confidentiality, retention_until_date, legal_hold, redacted_of_document_id, tags, version,
    created_at, updated_at, archived_at, body::jsonb as data
  from public.document where deleted_at is null;

grant select (
  org_id, id, version, created_at, updated_at, archived_at, deleted_at, body, number, title, property_id, building_id,
  floor_id, space_id, lease_id, tenant_party_id, equipment_id, parent_work_order_id, type, category, subcategory,
  priority, source, status, status_changed_at, reported_at, acknowledged_at, assigned_at, started_at, completed_at,
  closed_at, assigned_to, vendor_party_id, team, scheduled_start_at, scheduled_end_at, due_at, deferred_until_date,
  sla_paused_minutes, reopened_count, entry_allowed, access_contact_id, currency, estimated_cost,
  not_to_exceed_amount, approved_cost, actual_cost, is_billable_to_tenant, markup_pct, charge_id, invoice_number,
  is_warranty, is_insurance_claim, is_emergency, rating, tags
) on work_order to grid_console;
create policy work_order_console on work_order for select to grid_console using (org_id = (select app.console_org()));
create view console.work_order with (security_barrier = true, security_invoker = true) as
  select id, 'wo_' || id as api_id,
    number, title, property_id, building_id, floor_id, space_id, lease_id, tenant_party_id, equipment_id,
    parent_work_order_id, type, category, subcategory, priority, source, status, status_changed_at, reported_at,
    acknowledged_at, assigned_at, started_at, completed_at, closed_at, assigned_to, vendor_party_id, team,
    scheduled_start_at, scheduled_end_at, due_at, deferred_until_date, sla_paused_minutes, reopened_count,
    entry_allowed, access_contact_id, currency, estimated_cost, not_to_exceed_amount, approved_cost, actual_cost,
    is_billable_to_tenant, markup_pct, charge_id, invoice_number, is_warranty, is_insurance_claim, is_emergency,
    rating, tags, version, created_at, updated_at, archived_at, body::jsonb as data
  from public.work_order where deleted_at is null;

create view console.objects with (security_barrier = true, security_invoker = true) as
  select id, api_id, 'organization' as type, version, created_at, updated_at, archived_at from console.organization
  union all
  select id, api_id, 'party' as type, version, created_at, updated_at, archived_at from console.party
  union all
  select id, api_id, 'contact' as type, version, created_at, updated_at, archived_at from console.contact
  union all
  select id, api_id, 'property' as type, version, created_at, updated_at, archived_at from console.property
  union all
  select id, api_id, 'building' as type, version, created_at, updated_at, archived_at from console.building
  union all
  select id, api_id, 'floor' as type, version, created_at, updated_at, archived_at from console.floor
  union all
  select id, api_id, 'space' as type, version, created_at, updated_at, archived_at from console.space
  union all
  select id, api_id, 'lease' as type, version, created_at, updated_at, archived_at from console.lease
  union all
  select id, api_id, 'document' as type, version, created_at, updated_at, archived_at from console.document
  union all
  select id, api_id, 'work_order' as type, version, created_at, updated_at, archived_at from console.work_order;

grant select (org_id, object_id, tx_id, valid_from, valid_to, source_id, row_no, confidence, attrs) on assertion to grid_console;
grant select (org_id, tx_id, at, job_id) on tx to grid_console;
grant select (org_id, id, name) on source to grid_console;
create policy assertion_console on assertion for select to grid_console using (org_id = (select app.console_org()));
create policy tx_console on tx for select to grid_console using (org_id = (select app.console_org()));
create policy source_console on source for select to grid_console using (org_id = (select app.console_org()));
create view console.facts with (security_barrier = true, security_invoker = true) as
  select a.object_id, f.key as field, f.value, a.valid_from, a.valid_to, t.at as recorded_at, a.tx_id as transaction_id,
    a.source_id, coalesce(s.name, case a.source_id when 1 then 'API' when 2 then 'User' when 3 then 'Documents' when 4 then 'Assistant'
      when 5 then 'Computed' when 6 then 'Demo portfolio' end) as source,
    a.confidence / 10.0 as confidence_pct, t.job_id, a.row_no as row
  from public.assertion a
  join public.tx t on t.org_id = a.org_id and t.tx_id = a.tx_id
  left join public.source s on s.org_id = a.org_id and s.id = a.source_id
  cross join lateral jsonb_each(a.attrs) as f(key, value);

-- What the views are: shown to everyone, as it says nothing of any organization.
create view console.schema as
  select c.relname::text as view, a.attname::text as column,
    replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz') as type,
    col_description(c.oid, a.attnum) as description
  from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
  where c.relnamespace = 'console'::regnamespace and c.relkind = 'v' and a.attnum > 0;

grant select on all tables in schema console to grid_console;
