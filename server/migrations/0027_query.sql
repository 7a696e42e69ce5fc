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

comment on view console.organization is 'The owner of keys and data. A sandbox is an organization too, below its live one.';
comment on column console.organization.id is 'Id: its digits, for joins.';
comment on column console.organization.api_id is 'Id as every endpoint has it, org_1042.';
comment on column console.organization.name is 'The name of the organization that owns the keys and the data.';
comment on column console.organization.slug is 'A short name for links and file names: lower-case letters, digits and hyphens.';
comment on column console.organization.kind is 'What the organization does with real estate; it decides which screens open first.';
comment on column console.organization.plan is 'The plan of the organization, which sets its limits and the endpoints it may use.';
comment on column console.organization.environment is 'Whether this is the live organization or its sandbox for trying things out.';
comment on column console.organization.default_currency is 'The ISO 4217 currency that new properties start with.';
comment on column console.organization.default_area_unit is 'The unit of area that new properties start with.';
comment on column console.organization.time_zone is 'The IANA time zone in which the organization counts days and deadlines.';
comment on column console.organization.locale is 'The BCP 47 language tag for reports and messages.';
comment on column console.organization.fiscal_year_start_month is 'The month in which the fiscal year begins, 1 to 12; used for budgets and base years.';
comment on column console.organization.parent_organization_id is 'The organization that this one belongs to, such as the live one of a sandbox. The digits of its id: id of organization.';
comment on column console.organization.data_region is 'Where the data of the organization is kept, in the words of the operator.';
comment on column console.organization.retention_days is 'How many days request logs and delivery records are kept.';
comment on column console.organization.tags is 'Labels of your own.';
comment on column console.organization.version is 'Counts the writes to the object.';
comment on column console.organization.created_at is 'When it was first written.';
comment on column console.organization.updated_at is 'When it was last written.';
comment on column console.organization.archived_at is 'When the last source stopped listing it.';
comment on column console.organization.data is 'The whole object, lists and address included.';
comment on view console.party is 'A company or person you deal with: tenant, owner, guarantor, vendor, broker, ...';
comment on column console.party.id is 'Id: its digits, for joins.';
comment on column console.party.api_id is 'Id as every endpoint has it, pty_1042.';
comment on column console.party.kind is 'What the party is in law: a company, a person, a fund, a public body or a trust.';
comment on column console.party.legal_name is 'The registered name, as it stands in leases and contracts.';
comment on column console.party.display_name is 'The name shown in lists and on stacking plans.';
comment on column console.party.dba_name is 'The trade name on the sign, where it differs from the legal name.';
comment on column console.party.roles is 'The parts the party plays in the portfolio, such as tenant or vendor.';
comment on column console.party.parent_party_id is 'The party that controls this one; used to add up exposure over a corporate group. The digits of its id: id of party.';
comment on column console.party.global_party_id is 'The brand or group record under which all local companies of one tenant are rolled up. The digits of its id: id of party.';
comment on column console.party.industry_code is 'The NAICS 2022 code of the industry, two to six digits.';
comment on column console.party.industry_label is 'The name of the industry that the NAICS code stands for.';
comment on column console.party.credit_rating is 'The credit rating in the letters of the agency; NR when not rated.';
comment on column console.party.credit_rating_agency is 'The agency that gave the credit rating; internal for your own assessment.';
comment on column console.party.credit_rated_on_date is 'The day on which the credit rating was given.';
comment on column console.party.is_investment_grade is 'Whether the credit rating is BBB- (or Baa3) and better.';
comment on column console.party.is_public is 'Whether the shares of the party are traded on an exchange.';
comment on column console.party.ticker is 'The exchange symbol of a listed party.';
comment on column console.party.lei is 'The Legal Entity Identifier (ISO 17442): 18 characters and 2 check digits.';
comment on column console.party.registration_number is 'The number in the company register of the home country.';
comment on column console.party.tax_id_last4 is 'The last four characters of the tax number, enough to recognise it.';
comment on column console.party.website is 'The address of the web site, beginning with http:// or https://.';
comment on column console.party.emails is 'General e-mail addresses of the party; people have theirs on the contact.';
comment on column console.party.phones is 'General telephone numbers of the party, with the country code.';
comment on column console.party.status is 'Whether you do business with the party now, may do so, or did so once.';
comment on column console.party.tags is 'Labels of your own.';
comment on column console.party.version is 'Counts the writes to the object.';
comment on column console.party.created_at is 'When it was first written.';
comment on column console.party.updated_at is 'When it was last written.';
comment on column console.party.archived_at is 'When the last source stopped listing it.';
comment on column console.party.data is 'The whole object, lists and address included.';
comment on view console.contact is 'A person to turn to at a party, with a role.';
comment on column console.contact.id is 'Id: its digits, for joins.';
comment on column console.contact.api_id is 'Id as every endpoint has it, con_1042.';
comment on column console.contact.party_id is 'The party that the person can be reached at. The digits of its id: id of party.';
comment on column console.contact.first_name is 'The given name of the person.';
comment on column console.contact.last_name is 'The family name of the person.';
comment on column console.contact.title is 'The position of the person at the party.';
comment on column console.contact.email is 'The e-mail address of the person.';
comment on column console.contact.phone is 'The telephone number of the person, with the country code.';
comment on column console.contact.phone_type is 'What kind of connection the telephone number is.';
comment on column console.contact.role is 'What to turn to the person for, such as invoices, legal notices or emergencies.';
comment on column console.contact.is_primary is 'Whether this is the first person to turn to at the party.';
comment on column console.contact.is_decision_maker is 'Whether the person decides about space and leases.';
comment on column console.contact.preferred_channel is 'How the person likes to be reached.';
comment on column console.contact.tags is 'Labels of your own.';
comment on column console.contact.version is 'Counts the writes to the object.';
comment on column console.contact.created_at is 'When it was first written.';
comment on column console.contact.updated_at is 'When it was last written.';
comment on column console.contact.archived_at is 'When the last source stopped listing it.';
comment on column console.contact.data is 'The whole object, lists and address included.';
comment on view console.property is 'An asset as it is owned and reported; it has one or more buildings.';
comment on column console.property.id is 'Id: its digits, for joins.';
comment on column console.property.api_id is 'Id as every endpoint has it, prop_1042.';
comment on column console.property.name is 'The name that the property is known by.';
comment on column console.property.code is 'The short code of the property in accounting.';
comment on column console.property.property_type is 'The main use of the property.';
comment on column console.property.property_subtype is 'A finer kind within the type of the property.';
comment on column console.property.status is 'Where the property stands between first look, ownership and sale.';
comment on column console.property.latitude is 'The latitude of the property in degrees north (WGS 84).';
comment on column console.property.longitude is 'The longitude of the property in degrees east (WGS 84).';
comment on column console.property.time_zone is 'The IANA time zone of the place; dates of the property are days in it.';
comment on column console.property.market is 'The real-estate market, usually the metropolitan area.';
comment on column console.property.submarket is 'The part of the market, as brokers draw it.';
comment on column console.property.region_group is 'Your own grouping of markets for reports.';
comment on column console.property.owner_party_id is 'The party that owns the property. The digits of its id: id of party.';
comment on column console.property.legal_entity_name is 'The company that holds the title, often one per property.';
comment on column console.property.fund_name is 'The fund or account that the property belongs to.';
comment on column console.property.ownership_type is 'The kind of title in which the property is held.';
comment on column console.property.property_manager_party_id is 'The party that runs the property from day to day. The digits of its id: id of party.';
comment on column console.property.asset_manager_party_id is 'The party that answers to the owner for the result of the property. The digits of its id: id of party.';
comment on column console.property.leasing_broker_party_id is 'The broker that finds tenants for the property. The digits of its id: id of party.';
comment on column console.property.acquisition_date is 'The day on which the property was bought.';
comment on column console.property.acquisition_price is 'The price paid for the property, without costs. Decimal string in the object''s currency.';
comment on column console.property.disposition_date is 'The day on which the property was sold.';
comment on column console.property.disposition_price is 'The price received for the property, before costs. Decimal string in the object''s currency.';
comment on column console.property.parcel_numbers is 'The numbers of the land parcels in the tax register.';
comment on column console.property.land_area is 'The size of the land, in the unit of land_area_unit.';
comment on column console.property.land_area_unit is 'The unit in which the size of the land is given.';
comment on column console.property.zoning is 'The zoning class of the land, in the words of the municipality.';
comment on column console.property.flood_zone is 'The flood zone of the land on the official flood map.';
comment on column console.property.currency is 'The ISO 4217 currency of the property; its leases start with it.';
comment on column console.property.area_unit is 'The unit of the areas; buildings, spaces and leases start with it.';
comment on column console.property.tags is 'Labels of your own.';
comment on column console.property.version is 'Counts the writes to the object.';
comment on column console.property.created_at is 'When it was first written.';
comment on column console.property.updated_at is 'When it was last written.';
comment on column console.property.archived_at is 'When the last source stopped listing it.';
comment on column console.property.data is 'The whole object, lists and address included.';
comment on view console.building is 'A building of a property, with its floors and spaces.';
comment on column console.building.id is 'Id: its digits, for joins.';
comment on column console.building.api_id is 'Id as every endpoint has it, bld_1042.';
comment on column console.building.property_id is 'The property that the building belongs to. The digits of its id: id of property.';
comment on column console.building.name is 'The name that the building is known by.';
comment on column console.building.code is 'The short code of the building in accounting and on drawings.';
comment on column console.building.area_unit is 'The unit of the areas of the building, as a rule that of the property.';
comment on column console.building.building_class is 'The quality class in its market, from trophy down to C.';
comment on column console.building.primary_use is 'What most of the building is used for.';
comment on column console.building.secondary_uses is 'Further uses, such as shops on the ground floor.';
comment on column console.building.year_built is 'The year in which the building was finished.';
comment on column console.building.year_renovated is 'The year of the last major renovation.';
comment on column console.building.floors_above_ground is 'The number of floors from the ground floor up.';
comment on column console.building.floors_below_ground is 'The number of floors below the ground floor.';
comment on column console.building.gross_area is 'The whole constructed area, outer walls included. In the object''s area unit, with at most two decimals.';
comment on column console.building.rentable_area is 'The area that rent is charged on, with a share of common areas. In the object''s area unit, with at most two decimals.';
comment on column console.building.usable_area is 'The area that tenants alone can use. In the object''s area unit, with at most two decimals.';
comment on column console.building.load_factor is 'Rentable area over usable area; 1.15 adds 15 % for common areas.';
comment on column console.building.measurement_standard is 'The standard by which the areas were measured.';
comment on column console.building.remeasured_date is 'The day of the last measurement; it can change pro-rata shares.';
comment on column console.building.parking_spaces is 'The number of parking spaces that belong to the building.';
comment on column console.building.parking_ratio is 'Parking spaces per 1,000 square feet of rentable area.';
comment on column console.building.elevators_passenger is 'The number of elevators for people.';
comment on column console.building.elevators_freight is 'The number of elevators for goods.';
comment on column console.building.clear_height is 'The free height below the structure; feet where areas are in sqft, metres where in sqm.';
comment on column console.building.column_spacing is 'The distance between columns, as width by depth with its unit.';
comment on column console.building.dock_doors is 'The number of doors at truck-bed height.';
comment on column console.building.drive_in_doors is 'The number of doors that vehicles can drive through.';
comment on column console.building.trailer_stalls is 'The number of places to park trailers.';
comment on column console.building.power_amps is 'The electric service of the building in amperes.';
comment on column console.building.construction_type is 'How the building is constructed, such as steel frame or tilt-up.';
comment on column console.building.hvac_type is 'How the building is heated, cooled and aired.';
comment on column console.building.sprinklered is 'Whether sprinklers protect the building from fire.';
comment on column console.building.ada_compliant is 'Whether the building meets the accessibility law (in the US the ADA).';
comment on column console.building.energy_star_score is 'The ENERGY STAR score, 1 to 100; 50 is the median of its kind.';
comment on column console.building.site_eui is 'The energy used at the building in a year, in kBtu per square foot.';
comment on column console.building.source_eui is 'The primary energy behind that use in a year, in kBtu per square foot.';
comment on column console.building.ghg_intensity is 'The greenhouse gas emissions in a year, in kilograms of CO2 equivalent per square foot.';
comment on column console.building.site_energy_use is 'The energy used at the building in a year, in kBtu.';
comment on column console.building.electricity_use is 'The electricity taken from the grid in a year, in kWh; negative where more was given back.';
comment on column console.building.natural_gas_use is 'The natural gas used in a year, in therms.';
comment on column console.building.steam_use is 'The district steam used in a year, in kBtu.';
comment on column console.building.ghg_emissions is 'The net greenhouse gas emissions in a year, in metric tons of CO2 equivalent.';
comment on column console.building.tags is 'Labels of your own.';
comment on column console.building.version is 'Counts the writes to the object.';
comment on column console.building.created_at is 'When it was first written.';
comment on column console.building.updated_at is 'When it was last written.';
comment on column console.building.archived_at is 'When the last source stopped listing it.';
comment on column console.building.data is 'The whole object, lists and address included.';
comment on view console.floor is 'A floor of a building. Listed from the top down, as on a stacking plan.';
comment on column console.floor.id is 'Id: its digits, for joins.';
comment on column console.floor.api_id is 'Id as every endpoint has it, flr_1042.';
comment on column console.floor.building_id is 'The building that the floor is part of. The digits of its id: id of building.';
comment on column console.floor.label is 'The name of the floor as people say it, such as 12, M or B1.';
comment on column console.floor.level_number is 'The place of the floor counted upwards; the ground floor is 0 or 1.';
comment on column console.floor.floor_type is 'What kind of floor it is; parking and mechanical floors are rarely let.';
comment on column console.floor.area_unit is 'The unit of the areas of the floor, as a rule that of the property.';
comment on column console.floor.gross_area is 'The whole constructed area of the floor. In the object''s area unit, with at most two decimals.';
comment on column console.floor.rentable_area is 'The area of the floor that rent can be charged on. In the object''s area unit, with at most two decimals.';
comment on column console.floor.usable_area is 'The area of the floor that tenants alone can use. In the object''s area unit, with at most two decimals.';
comment on column console.floor.common_area is 'The area of lobbies, corridors and rooms that all tenants share. In the object''s area unit, with at most two decimals.';
comment on column console.floor.slab_to_slab_height is 'The height from slab to slab; feet where areas are in sqft, metres where in sqm.';
comment on column console.floor.floor_plan_document_id is 'The drawing of the floor. The digits of its id: id of document.';
comment on column console.floor.is_leasable is 'Whether space on the floor can be let at all.';
comment on column console.floor.tags is 'Labels of your own.';
comment on column console.floor.version is 'Counts the writes to the object.';
comment on column console.floor.created_at is 'When it was first written.';
comment on column console.floor.updated_at is 'When it was last written.';
comment on column console.floor.archived_at is 'When the last source stopped listing it.';
comment on column console.floor.data is 'The whole object, lists and address included.';
comment on view console.space is 'A part of a building that can be let: a suite, shop, bay, lab or roof.';
comment on column console.space.id is 'Id: its digits, for joins.';
comment on column console.space.api_id is 'Id as every endpoint has it, spc_1042.';
comment on column console.space.building_id is 'The building that the space is in. The digits of its id: id of building.';
comment on column console.space.suite is 'The suite or unit number, as on the door.';
comment on column console.space.space_type is 'What the space is built for.';
comment on column console.space.area_unit is 'The unit of the areas and rents, as a rule that of the property.';
comment on column console.space.rentable_area is 'The area that rent is charged on, with a share of common areas. In the object''s area unit, with at most two decimals.';
comment on column console.space.usable_area is 'The area inside the space that the tenant alone can use. In the object''s area unit, with at most two decimals.';
comment on column console.space.load_factor is 'Rentable area over usable area; 1.15 adds 15 % for common areas.';
comment on column console.space.measurement_standard is 'The standard by which the areas were measured.';
comment on column console.space.available_date is 'The first day on which a new tenant can have the space.';
comment on column console.space.availability_type is 'How the space can be had: at once, from the available date, or by arrangement.';
comment on column console.space.condition is 'The state in which the space is handed over, from bare shell to ready to move in.';
comment on column console.space.currency is 'The ISO 4217 currency of the rents, as a rule that of the property.';
comment on column console.space.asking_rent_per_area is 'The rent asked, per area unit and year. Decimal string in the object''s currency.';
comment on column console.space.asking_rent_basis is 'Which operating costs the asking rent leaves to the tenant: nnn all, full_service none.';
comment on column console.space.market_rent_per_area is 'The rent the market would pay today, per area unit and year. Decimal string in the object''s currency.';
comment on column console.space.min_divisible_area is 'The smallest part of the space that can be let on its own. In the object''s area unit, with at most two decimals.';
comment on column console.space.max_contiguous_area is 'The largest area that can be had together with its neighbours. In the object''s area unit, with at most two decimals.';
comment on column console.space.is_listed is 'Whether the space is offered on the market now.';
comment on column console.space.tags is 'Labels of your own.';
comment on column console.space.version is 'Counts the writes to the object.';
comment on column console.space.created_at is 'When it was first written.';
comment on column console.space.updated_at is 'When it was last written.';
comment on column console.space.archived_at is 'When the last source stopped listing it.';
comment on column console.space.data is 'The whole object, lists and address included.';
comment on view console.lease is 'One contract between tenant and landlord, over all its terms, with premises, rent, rights and dates.';
comment on column console.lease.id is 'Id: its digits, for joins.';
comment on column console.lease.api_id is 'Id as every endpoint has it, le_1042.';
comment on column console.lease.lease_number is 'The number that the lease is filed under.';
comment on column console.lease.name is 'A name for the lease, usually tenant and suite.';
comment on column console.lease.property_id is 'The property that the lease is in. The digits of its id: id of property.';
comment on column console.lease.building_id is 'The building, where the lease is in one only. It is one of the property, and the spaces lie in it. The digits of its id: id of building.';
comment on column console.lease.tenant_party_id is 'The party that leases the space. The digits of its id: id of party.';
comment on column console.lease.landlord_party_id is 'The party that lets the space. The digits of its id: id of party.';
comment on column console.lease.lease_type is 'What kind of contract it is: from the owner directly, a sublease, a licence, ...';
comment on column console.lease.status is 'Where the lease stands between draft and end. It may be created in any status but superseded and void: active once its commencement_date has come, expired and holdover once its expiration_date has passed, terminated with terminated_date and status_reason. A void lease keeps its fields.';
comment on column console.lease.renewal_status is 'What is known about whether the tenant will stay after the term.';
comment on column console.lease.term_type is 'How the present term came about.';
comment on column console.lease.execution_date is 'The day on which the last party signed.';
comment on column console.lease.possession_date is 'The day on which the tenant got the keys.';
comment on column console.lease.commencement_date is 'The first day of the term; required unless month to month.';
comment on column console.lease.rent_commencement_date is 'The first day for which rent is due.';
comment on column console.lease.expiration_date is 'The last day of the term; required unless month to month.';
comment on column console.lease.move_in_date is 'The day on which the tenant moved in.';
comment on column console.lease.move_out_date is 'The day on which the tenant moved out.';
comment on column console.lease.notice_given_date is 'The day on which notice to end the lease was given.';
comment on column console.lease.terminated_date is 'The last day of a lease that was ended before its term.';
comment on column console.lease.is_month_to_month is 'Whether the lease runs from month to month without a fixed end.';
comment on column console.lease.holdover_rent_pct is 'The rent after the term in relation to the last rent. Percent on the 0-100 scale.';
comment on column console.lease.term_months is 'The full months from commencement to expiration.';
comment on column console.lease.rentable_area is 'The area that rent is charged on. In the object''s area unit, with at most two decimals.';
comment on column console.lease.pro_rata_share_pct is 'The share of the tenant in the costs of the building. Percent on the 0-100 scale.';
comment on column console.lease.pro_rata_denominator is 'What the area of the tenant is divided by to get its share.';
comment on column console.lease.recovery_type is 'Which operating costs the tenant pays besides rent: nnn all, full_service none.';
comment on column console.lease.currency is 'The ISO 4217 currency of the lease, as a rule that of the property.';
comment on column console.lease.area_unit is 'The unit of the areas of the lease, as a rule that of the property.';
comment on column console.lease.rent_frequency is 'How often rent is due.';
comment on column console.lease.rent_due_day is 'The day of the month on which rent is due.';
comment on column console.lease.payment_method is 'How the tenant pays as a rule.';
comment on column console.lease.security_deposit_amount is 'All security of the tenant together. Decimal string in the object''s currency.';
comment on column console.lease.ti_allowance is 'What the landlord pays for tenant improvements in all. Decimal string in the object''s currency.';
comment on column console.lease.commission_total is 'What brokers are paid for the lease in all. Decimal string in the object''s currency.';
comment on column console.lease.free_rent_months is 'The full months of free rent in all.';
comment on column console.lease.go_dark_right is 'Whether the tenant may close its business and keep the lease.';
comment on column console.lease.assignment_consent is 'Whether and how freely the landlord may refuse an assignment.';
comment on column console.lease.snda_status is 'How far the agreement between tenant and lender is (subordination, non-disturbance).';
comment on column console.lease.estoppel_due_date is 'The day by which the tenant has to return an estoppel certificate.';
comment on column console.lease.lease_abstract_status is 'How far the summary of the lease has been checked against the signed document.';
comment on column console.lease.tags is 'Labels of your own.';
comment on column console.lease.version is 'Counts the writes to the object.';
comment on column console.lease.created_at is 'When it was first written.';
comment on column console.lease.updated_at is 'When it was last written.';
comment on column console.lease.archived_at is 'When the last source stopped listing it.';
comment on column console.lease.data is 'The whole object, lists and address included.';
comment on view console.document is 'A file with its versions, its validity and the objects it belongs to.';
comment on column console.document.id is 'Id: its digits, for joins.';
comment on column console.document.api_id is 'Id as every endpoint has it, doc_1042.';
comment on column console.document.title is 'What the document is, in a few words.';
comment on column console.document.document_type is 'The kind of the document.';
comment on column console.document.status is 'Where the document stands between upload and use.';
comment on column console.document.filename is 'The name of the file as it was uploaded.';
comment on column console.document.content_type is 'The media type of the file.';
comment on column console.document.byte_size is 'The size of the file in bytes.';
comment on column console.document.sha256 is 'The SHA-256 checksum of the file, in hexadecimal, to prove it is unchanged.';
comment on column console.document.page_count is 'The number of pages, where the file has pages.';
comment on column console.document.version_number is 'The number of the file version that is current, counted from 1.';
comment on column console.document.current_version_id is 'The id of the file version that is current.';
comment on column console.document.content_url is 'The path at which the file can be read; null until one is stored.';
comment on column console.document.text_status is 'Whether the text of the file could be read out.';
comment on column console.document.ocr_language is 'The BCP 47 tag of the language in which a scan was read.';
comment on column console.document.linked_to is 'The ids of those objects; find their documents with linked_to[contains]=le_1042.';
comment on column console.document.effective_date is 'The day from which the document takes effect.';
comment on column console.document.expires_date is 'The last day on which the document is valid.';
comment on column console.document.signed_date is 'The day on which the last party signed.';
comment on column console.document.counterparty_party_id is 'The other side of the document. The digits of its id: id of party.';
comment on column console.document.confidentiality is 'Who may see the document, from everyone to counsel only.';
comment on column console.document.retention_until_date is 'The day up to which the document has to be kept.';
comment on column console.document.legal_hold is 'Whether the document must not be deleted because of a legal matter.';
comment on column console.document.redacted_of_document_id is 'The full document of which this one is a blacked-out copy. The digits of its id: id of document.';
comment on column console.document.tags is 'Labels of your own.';
comment on column console.document.version is 'Counts the writes to the object.';
comment on column console.document.created_at is 'When it was first written.';
comment on column console.document.updated_at is 'When it was last written.';
comment on column console.document.archived_at is 'When the last source stopped listing it.';
comment on column console.document.data is 'The whole object, lists and address included.';
comment on view console.work_order is 'A piece of work on a property: a repair, a request of a tenant, planned upkeep.';
comment on column console.work_order.id is 'Id: its digits, for joins.';
comment on column console.work_order.api_id is 'Id as every endpoint has it, wo_1042.';
comment on column console.work_order.number is 'The number that people call the work order by.';
comment on column console.work_order.title is 'What has to be done, in a few words.';
comment on column console.work_order.property_id is 'The property in which the work is to be done. The digits of its id: id of property.';
comment on column console.work_order.building_id is 'The building in which the work is to be done, one of the property. The digits of its id: id of building.';
comment on column console.work_order.floor_id is 'The floor on which the work is to be done, in the building or else the property. The digits of its id: id of floor.';
comment on column console.work_order.space_id is 'The space in which the work is to be done, in the building or else the property. The digits of its id: id of space.';
comment on column console.work_order.lease_id is 'The lease of the tenant that is concerned. The digits of its id: id of lease.';
comment on column console.work_order.tenant_party_id is 'The tenant that is concerned. The digits of its id: id of party.';
comment on column console.work_order.equipment_id is 'The id of the machine that the work is on.';
comment on column console.work_order.parent_work_order_id is 'The work order that this one continues or is part of. The digits of its id: id of work_order.';
comment on column console.work_order.type is 'Why the work is done: a repair, planned upkeep, a request of a tenant, ...';
comment on column console.work_order.category is 'The trade or kind of problem.';
comment on column console.work_order.subcategory is 'A finer kind within the category, such as too_hot, too_cold or noise.';
comment on column console.work_order.priority is 'How urgent the work is; it sets the times for response and resolution.';
comment on column console.work_order.source is 'The way in which the work was reported.';
comment on column console.work_order.status is 'How far the work is. Once it is closed or cancelled only comments, rating, feedback, tags and external_ids change.';
comment on column console.work_order.status_changed_at is 'The moment of the last change of status, in UTC.';
comment on column console.work_order.reported_at is 'The moment the work was reported, in UTC; the times count from it.';
comment on column console.work_order.acknowledged_at is 'The moment someone confirmed the report, in UTC.';
comment on column console.work_order.assigned_at is 'The moment the work was given to someone, in UTC.';
comment on column console.work_order.started_at is 'The moment the work began, in UTC.';
comment on column console.work_order.completed_at is 'The moment the work was done, in UTC.';
comment on column console.work_order.closed_at is 'The moment the work order was checked and closed, in UTC.';
comment on column console.work_order.assigned_to is 'The person who does the work.';
comment on column console.work_order.vendor_party_id is 'The vendor that does the work. The digits of its id: id of party.';
comment on column console.work_order.team is 'The team that does the work.';
comment on column console.work_order.scheduled_start_at is 'The moment the work is to begin, in UTC.';
comment on column console.work_order.scheduled_end_at is 'The moment the work is to end, in UTC.';
comment on column console.work_order.due_at is 'The moment by which the work was promised, in UTC.';
comment on column console.work_order.deferred_until_date is 'The day until which the work is put off.';
comment on column console.work_order.sla_paused_minutes is 'The minutes on hold so far, added to the time for resolution.';
comment on column console.work_order.reopened_count is 'How many times the work was taken up again after it was done.';
comment on column console.work_order.entry_allowed is 'Whether the space may be entered when no one is there.';
comment on column console.work_order.access_contact_id is 'The person to call for getting in. The digits of its id: id of contact.';
comment on column console.work_order.currency is 'The ISO 4217 currency of the costs, as a rule that of the property.';
comment on column console.work_order.estimated_cost is 'What the work is expected to cost. Decimal string in the object''s currency.';
comment on column console.work_order.not_to_exceed_amount is 'What the vendor may spend without asking again. Decimal string in the object''s currency.';
comment on column console.work_order.approved_cost is 'What was approved for the work. Decimal string in the object''s currency.';
comment on column console.work_order.actual_cost is 'What the work cost: the sum of the line items. Decimal string in the object''s currency.';
comment on column console.work_order.is_billable_to_tenant is 'Whether the tenant pays for the work.';
comment on column console.work_order.markup_pct is 'What is added to the cost on the bill to the tenant. Percent on the 0-100 scale.';
comment on column console.work_order.charge_id is 'The id of the charge by which the tenant was billed.';
comment on column console.work_order.invoice_number is 'The number of the invoice of the vendor.';
comment on column console.work_order.is_warranty is 'Whether a warranty covers the work.';
comment on column console.work_order.is_insurance_claim is 'Whether the cost is claimed from an insurer.';
comment on column console.work_order.is_emergency is 'Whether people or the building are in danger.';
comment on column console.work_order.rating is 'How satisfied the tenant was, from 1 to 5.';
comment on column console.work_order.tags is 'Labels of your own.';
comment on column console.work_order.version is 'Counts the writes to the object.';
comment on column console.work_order.created_at is 'When it was first written.';
comment on column console.work_order.updated_at is 'When it was last written.';
comment on column console.work_order.archived_at is 'When the last source stopped listing it.';
comment on column console.work_order.data is 'The whole object, lists and address included.';
comment on view console.objects is 'Every object of every type.';
comment on column console.objects.id is 'Id: its digits, unique over all types.';
comment on column console.objects.api_id is 'Id as every endpoint has it.';
comment on column console.objects.type is 'Type of the object, as the view of its own.';
comment on column console.objects.version is 'Counts the writes to the object.';
comment on column console.objects.created_at is 'When it was first written.';
comment on column console.objects.updated_at is 'When it was last written.';
comment on column console.objects.archived_at is 'When the last source stopped listing it.';
comment on view console.facts is 'Every claim of every source, whatever became of it; the fields of the types hold who won.';
comment on column console.facts.object_id is 'Object that it is about: id of objects.';
comment on column console.facts.field is 'Field that is claimed; one that begins with _ speaks of the object itself.';
comment on column console.facts.value is 'The value; null means empty from then on.';
comment on column console.facts.valid_from is 'From when it is true.';
comment on column console.facts.valid_to is 'Until when, if the source said so.';
comment on column console.facts.recorded_at is 'When it was written.';
comment on column console.facts.transaction_id is 'Transaction that wrote it.';
comment on column console.facts.source_id is 'Source that claims it.';
comment on column console.facts.source is 'Name of the source.';
comment on column console.facts.confidence_pct is 'How sure the source is, in percent.';
comment on column console.facts.job_id is 'Job that loaded it.';
comment on column console.facts.row is 'Row of the file.';
comment on view console.schema is 'What the columns of these views are.';
comment on column console.schema.view is 'The view.';
comment on column console.schema."column" is 'The column.';
comment on column console.schema.type is 'Type of its values in SQL.';
comment on column console.schema.description is 'What it means.';
