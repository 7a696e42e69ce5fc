-- One table per resource: the current winners of its facts. Columns mirror the declared fields that can be filtered or
-- sorted; body is the row's JSON, rendered when it was written and sent to clients as it is. Bodies are read far more often
-- than written, so they are neither compressed nor moved out of the row while it fits a page.

create table organization (
  org_id bigint not null,
  id bigint not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz,
  deleted_at timestamptz,
  contested boolean not null,
  search text not null,
  body text not null,
  name text,
  slug text,
  kind text,
  plan text,
  environment text,
  default_currency text,
  default_area_unit text,
  time_zone text,
  locale text,
  fiscal_year_start_month integer,
  parent_organization_id bigint,
  data_region text,
  retention_days integer,
  tags text[],
  constraint organization_pkey primary key (org_id, id)
) with (fillfactor = 85, toast_tuple_target = 8160);
alter table organization alter column body set storage external;
create index organization_updated_idx on organization (org_id, updated_at, id);
create index organization_search_idx on organization using gin (org_id, search gin_trgm_ops);

create table party (
  org_id bigint not null,
  id bigint not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz,
  deleted_at timestamptz,
  contested boolean not null,
  search text not null,
  body text not null,
  kind text,
  legal_name text,
  display_name text,
  dba_name text,
  roles text[],
  parent_party_id bigint,
  global_party_id bigint,
  industry_code text,
  industry_label text,
  credit_rating text,
  credit_rating_agency text,
  credit_rated_on_date date,
  is_investment_grade boolean,
  is_public boolean,
  ticker text,
  lei text,
  registration_number text,
  tax_id_last4 text,
  website text,
  emails text[],
  phones text[],
  status text,
  tags text[],
  constraint party_pkey primary key (org_id, id)
) with (fillfactor = 85, toast_tuple_target = 8160);
alter table party alter column body set storage external;
create index party_updated_idx on party (org_id, updated_at, id);
create index party_search_idx on party using gin (org_id, search gin_trgm_ops);

create table contact (
  org_id bigint not null,
  id bigint not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz,
  deleted_at timestamptz,
  contested boolean not null,
  search text not null,
  body text not null,
  party_id bigint,
  first_name text,
  last_name text,
  title text,
  email text,
  phone text,
  phone_type text,
  role text,
  is_primary boolean,
  is_decision_maker boolean,
  preferred_channel text,
  tags text[],
  constraint contact_pkey primary key (org_id, id)
) with (fillfactor = 85, toast_tuple_target = 8160);
alter table contact alter column body set storage external;
create index contact_updated_idx on contact (org_id, updated_at, id);
create index contact_search_idx on contact using gin (org_id, search gin_trgm_ops);
create index contact_party_id_idx on contact (org_id, party_id, id);

create table property (
  org_id bigint not null,
  id bigint not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz,
  deleted_at timestamptz,
  contested boolean not null,
  search text not null,
  body text not null,
  name text,
  code text,
  property_type text,
  property_subtype text,
  status text,
  latitude numeric,
  longitude numeric,
  time_zone text,
  market text,
  submarket text,
  region_group text,
  owner_party_id bigint,
  legal_entity_name text,
  fund_name text,
  ownership_type text,
  property_manager_party_id bigint,
  asset_manager_party_id bigint,
  leasing_broker_party_id bigint,
  acquisition_date date,
  acquisition_price numeric,
  disposition_date date,
  disposition_price numeric,
  parcel_numbers text[],
  land_area numeric,
  land_area_unit text,
  zoning text,
  flood_zone text,
  currency text,
  area_unit text,
  tags text[],
  constraint property_pkey primary key (org_id, id)
) with (fillfactor = 85, toast_tuple_target = 8160);
alter table property alter column body set storage external;
create index property_updated_idx on property (org_id, updated_at, id);
create index property_search_idx on property using gin (org_id, search gin_trgm_ops);

create table building (
  org_id bigint not null,
  id bigint not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz,
  deleted_at timestamptz,
  contested boolean not null,
  search text not null,
  body text not null,
  property_id bigint,
  name text,
  code text,
  area_unit text,
  building_class text,
  primary_use text,
  secondary_uses text[],
  year_built integer,
  year_renovated integer,
  floors_above_ground integer,
  floors_below_ground integer,
  gross_area numeric,
  rentable_area numeric,
  usable_area numeric,
  load_factor numeric,
  measurement_standard text,
  remeasured_date date,
  parking_spaces integer,
  parking_ratio numeric,
  elevators_passenger integer,
  elevators_freight integer,
  clear_height numeric,
  column_spacing text,
  dock_doors integer,
  drive_in_doors integer,
  trailer_stalls integer,
  power_amps numeric,
  construction_type text,
  hvac_type text,
  sprinklered boolean,
  ada_compliant boolean,
  energy_star_score numeric,
  site_eui numeric,
  source_eui numeric,
  ghg_intensity numeric,
  tags text[],
  constraint building_pkey primary key (org_id, id)
) with (fillfactor = 85, toast_tuple_target = 8160);
alter table building alter column body set storage external;
create index building_updated_idx on building (org_id, updated_at, id);
create index building_search_idx on building using gin (org_id, search gin_trgm_ops);
create index building_property_id_idx on building (org_id, property_id, id);

create table floor (
  org_id bigint not null,
  id bigint not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz,
  deleted_at timestamptz,
  contested boolean not null,
  search text not null,
  body text not null,
  building_id bigint,
  label text,
  level_number integer,
  floor_type text,
  area_unit text,
  gross_area numeric,
  rentable_area numeric,
  usable_area numeric,
  common_area numeric,
  slab_to_slab_height numeric,
  floor_plan_document_id bigint,
  is_leasable boolean,
  tags text[],
  constraint floor_pkey primary key (org_id, id)
) with (fillfactor = 85, toast_tuple_target = 8160);
alter table floor alter column body set storage external;
create index floor_updated_idx on floor (org_id, updated_at, id);
create index floor_search_idx on floor using gin (org_id, search gin_trgm_ops);
create index floor_building_id_idx on floor (org_id, building_id, id);

create table space (
  org_id bigint not null,
  id bigint not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz,
  deleted_at timestamptz,
  contested boolean not null,
  search text not null,
  body text not null,
  building_id bigint,
  suite text,
  space_type text,
  area_unit text,
  rentable_area numeric,
  usable_area numeric,
  load_factor numeric,
  measurement_standard text,
  available_date date,
  availability_type text,
  condition text,
  currency text,
  asking_rent_per_area numeric,
  asking_rent_basis text,
  market_rent_per_area numeric,
  min_divisible_area numeric,
  max_contiguous_area numeric,
  is_listed boolean,
  tags text[],
  constraint space_pkey primary key (org_id, id)
) with (fillfactor = 85, toast_tuple_target = 8160);
alter table space alter column body set storage external;
create index space_updated_idx on space (org_id, updated_at, id);
create index space_search_idx on space using gin (org_id, search gin_trgm_ops);
create index space_building_id_idx on space (org_id, building_id, id);

create table lease (
  org_id bigint not null,
  id bigint not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz,
  deleted_at timestamptz,
  contested boolean not null,
  search text not null,
  body text not null,
  lease_number text,
  name text,
  property_id bigint,
  building_id bigint,
  tenant_party_id bigint,
  landlord_party_id bigint,
  lease_type text,
  status text,
  renewal_status text,
  term_type text,
  execution_date date,
  possession_date date,
  commencement_date date,
  rent_commencement_date date,
  expiration_date date,
  move_in_date date,
  move_out_date date,
  notice_given_date date,
  terminated_date date,
  is_month_to_month boolean,
  holdover_rent_pct numeric,
  term_months integer,
  rentable_area numeric,
  pro_rata_share_pct numeric,
  pro_rata_denominator text,
  recovery_type text,
  currency text,
  area_unit text,
  rent_frequency text,
  rent_due_day integer,
  payment_method text,
  security_deposit_amount numeric,
  ti_allowance numeric,
  commission_total numeric,
  free_rent_months integer,
  go_dark_right boolean,
  assignment_consent text,
  snda_status text,
  estoppel_due_date date,
  lease_abstract_status text,
  tags text[],
  constraint lease_pkey primary key (org_id, id)
) with (fillfactor = 85, toast_tuple_target = 8160);
alter table lease alter column body set storage external;
create index lease_updated_idx on lease (org_id, updated_at, id);
create index lease_search_idx on lease using gin (org_id, search gin_trgm_ops);
create index lease_property_id_idx on lease (org_id, property_id, id);
create index lease_building_id_idx on lease (org_id, building_id, id);
create index lease_tenant_party_id_idx on lease (org_id, tenant_party_id, id);
create index lease_expiration_date_idx on lease (org_id, expiration_date, id);

create table document (
  org_id bigint not null,
  id bigint not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz,
  deleted_at timestamptz,
  contested boolean not null,
  search text not null,
  body text not null,
  title text,
  document_type text,
  status text,
  filename text,
  content_type text,
  byte_size integer,
  sha256 text,
  page_count integer,
  version_number integer,
  current_version_id text,
  content_url text,
  text_status text,
  ocr_language text,
  effective_date date,
  expires_date date,
  signed_date date,
  counterparty_party_id bigint,
  confidentiality text,
  retention_until_date date,
  legal_hold boolean,
  redacted_of_document_id bigint,
  tags text[],
  constraint document_pkey primary key (org_id, id)
) with (fillfactor = 85, toast_tuple_target = 8160);
alter table document alter column body set storage external;
create index document_updated_idx on document (org_id, updated_at, id);
create index document_search_idx on document using gin (org_id, search gin_trgm_ops);

create table work_order (
  org_id bigint not null,
  id bigint not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz,
  deleted_at timestamptz,
  contested boolean not null,
  search text not null,
  body text not null,
  number text,
  title text,
  property_id bigint,
  building_id bigint,
  floor_id bigint,
  space_id bigint,
  lease_id bigint,
  tenant_party_id bigint,
  equipment_id text,
  parent_work_order_id bigint,
  type text,
  category text,
  subcategory text,
  priority text,
  source text,
  status text,
  status_changed_at timestamptz,
  reported_at timestamptz,
  acknowledged_at timestamptz,
  assigned_at timestamptz,
  started_at timestamptz,
  completed_at timestamptz,
  closed_at timestamptz,
  assigned_to text,
  vendor_party_id bigint,
  team text,
  scheduled_start_at timestamptz,
  scheduled_end_at timestamptz,
  due_at timestamptz,
  deferred_until_date date,
  sla_paused_minutes integer,
  reopened_count integer,
  entry_allowed text,
  access_contact_id bigint,
  currency text,
  estimated_cost numeric,
  not_to_exceed_amount numeric,
  approved_cost numeric,
  actual_cost numeric,
  is_billable_to_tenant boolean,
  markup_pct numeric,
  charge_id text,
  invoice_number text,
  is_warranty boolean,
  is_insurance_claim boolean,
  is_emergency boolean,
  rating integer,
  tags text[],
  constraint work_order_pkey primary key (org_id, id)
) with (fillfactor = 85, toast_tuple_target = 8160);
alter table work_order alter column body set storage external;
create index work_order_updated_idx on work_order (org_id, updated_at, id);
create index work_order_search_idx on work_order using gin (org_id, search gin_trgm_ops);
create index work_order_property_id_idx on work_order (org_id, property_id, id);
create index work_order_building_id_idx on work_order (org_id, building_id, id);

do $$
declare name text;
begin
  foreach name in array array['party', 'contact', 'property', 'building', 'floor', 'space', 'lease', 'document', 'work_order'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
    execute format('grant select, insert, update on %I to grid_app', name);
  end loop;
end $$;

-- An organization is its own owner (org_id = id); its parent sees it too.
alter table organization add constraint organization_owns_itself check (org_id = id);
alter table organization enable row level security;
alter table organization force row level security;
create policy organization_own on organization to grid_app
  using (id = app.org() or parent_organization_id = app.org()) with check (id = app.org());
create policy organization_system on organization to grid_system using (true);
create index organization_parent_idx on organization (parent_organization_id);
grant select, insert, update on organization to grid_app;
grant select on organization to grid_system;

create function app.find_key(key_hash bytea)
  returns table (key_id bigint, org_id bigint, key_name text, scopes text[], expires_at timestamptz, revoked_at timestamptz,
    plan text, environment text, currency text, area_unit text, time_zone text)
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select k.id, k.org_id, k.name, k.scopes, k.expires_at, k.revoked_at,
      o.plan, o.environment, o.default_currency, o.default_area_unit, o.time_zone
    from api_key k join organization o on o.id = k.org_id
    where k.hash = key_hash and o.deleted_at is null
  $$;
revoke execute on function app.find_key(bytea) from public;
grant execute on function app.find_key(bytea) to grid_app;
alter function app.find_key(bytea) owner to grid_system;
