/** What systems call the fields of the model, by type and field; the name of the field itself is always one of them. */
import { learn } from './words.ts'

type Names = Readonly<Record<string, readonly string[]>>

/** Fields that mean the same wherever they stand. */
const EVERYWHERE: Names = {
  'address.line1': [
    'address',
    'street',
    'street address',
    'property address',
    'address line 1',
    'address 1',
    'site address',
  ],
  'address.line2': ['address line 2', 'address 2'],
  'address.city': ['city', 'property city'],
  'address.region': ['state', 'state code', 'region', 'province', 'state province'],
  'address.postal_code': ['postal code', 'zip code', 'property zip'],
  'address.country': ['country', 'country code'],
  latitude: ['latitude', 'geo lat'],
  longitude: ['longitude', 'geo long'],
  currency: ['currency', 'currency code', 'ccy', 'währung'],
  area_unit: ['area unit', 'unit of measure', 'uom'],
  gross_area: [
    'gross area',
    'gross floor area',
    'gross building area',
    'gross square feet',
    'gross internal area',
    'property gross area total',
    'building area',
    'total area',
  ],
  rentable_area: [
    'rentable area',
    'rentable square feet',
    'net rentable area',
    'building rentable square feet',
    'square feet',
    'area',
    'unit area',
    'area leased',
    'leased area',
  ],
  usable_area: ['usable area', 'usable square feet', 'net usable area', 'net internal area'],
  status: ['status'],
}

const building: Names = {
  name: [
    'name',
    'building name',
    'property name',
    'asset name',
    'real property asset name',
    'site name',
  ],
  code: [
    'code',
    'building code',
    'building number',
    'location code',
    'property code',
    'asset code',
    'site code',
    'property number',
    'asset number',
  ],
  building_class: ['class', 'building class', 'quality class'],
  primary_use: [
    'primary use',
    'property type',
    'primary property type',
    'building use',
    'largest property use type',
    'use type',
    'asset class',
  ],
  year_built: ['year built', 'construction year', 'construction date', 'built', 'date built'],
  year_renovated: [
    'year renovated',
    'renovation year',
    'last renovation',
    'year modernised',
    'year refurbished',
  ],
  floors_above_ground: [
    'floors',
    'number of floors',
    'stories',
    'number of stories',
    'floors above grade',
    'floors above ground',
  ],
  floors_below_ground: ['floors below grade', 'basement floors', 'basements'],
  parking_spaces: ['parking spaces', 'parking stalls', 'parking', 'number of parking spaces'],
  elevators_passenger: ['elevators', 'passenger elevators', 'lifts', 'number of elevators'],
  energy_star_score: ['energy star score', 'energy star rating', 'energy star'],
  site_eui: ['site eui', 'site energy use intensity', 'eui', 'energy intensity'],
  source_eui: ['source eui', 'source energy use intensity'],
  ghg_intensity: [
    'ghg intensity',
    'ghg emissions intensity',
    'emissions intensity',
    'carbon intensity',
  ],
  site_energy_use: ['site energy use', 'site energy', 'energy use', 'energy consumption'],
  ghg_emissions: ['total ghg emissions', 'ghg emissions', 'emissions', 'carbon emissions'],
  electricity_use: ['electricity', 'electricity use', 'grid electricity'],
  natural_gas_use: ['natural gas', 'natural gas use'],
  steam_use: ['steam', 'steam use', 'district steam'],
  sprinklered: ['sprinklered', 'sprinklers'],
  property_id: ['property', 'property number', 'property code', 'site'],
}

const property: Names = {
  name: ['name', 'property name', 'asset name', 'site name', 'center name'],
  code: [
    'code',
    'property code',
    'property number',
    'asset number',
    'site code',
    'entity',
    'entity number',
  ],
  property_type: ['property type', 'asset type', 'asset class', 'type', 'use'],
  status: ['status', 'property status', 'asset status'],
  owner_party_id: ['owner', 'owner name'],
  legal_entity_name: ['legal entity', 'entity name', 'owning entity', 'title holder', 'spe'],
  fund_name: ['fund', 'fund name', 'account', 'portfolio'],
  market: ['market', 'msa', 'metro'],
  submarket: ['submarket', 'neighborhood', 'district'],
  acquisition_date: ['acquisition date', 'purchase date', 'date acquired', 'closing date'],
  acquisition_price: ['acquisition price', 'purchase price', 'price', 'cost'],
  disposition_date: ['disposition date', 'sale date', 'date sold'],
  disposition_price: ['disposition price', 'sale price'],
  parcel_numbers: [
    'parcel number',
    'tax parcel',
    'apn',
    'tax parcel identification number',
    'parcel',
  ],
  land_area: ['land area', 'acres', 'acreage', 'lot size'],
  zoning: ['zoning', 'zone'],
}

const lease: Names = {
  lease_number: [
    'lease number',
    'lease code',
    'lease',
    'contract number',
    'agreement number',
    'master lease number',
  ],
  name: ['lease name', 'lease description'],
  tenant_party_id: [
    'tenant',
    'tenant name',
    'lessee name',
    'occupant name',
    'customer',
    'customer name',
    'company',
    'resident name',
  ],
  'tenant.key': [
    'tenant code',
    'tenant number',
    'customer number',
    'resident code',
    'tenant account',
  ],
  landlord_party_id: ['landlord', 'landlord name', 'lessor name'],
  property_id: ['property', 'property code', 'property number', 'property name', 'site', 'entity'],
  building_id: ['building', 'building code', 'building number', 'location code', 'building name'],
  'premises.label': ['unit', 'unit number', 'suite', 'unit code', 'bay', 'premises'],
  commencement_date: [
    'commencement date',
    'lease start',
    'start date',
    'lease from',
    'effective date',
    'lease begin',
    'from date',
    'lease effective date',
    'from',
    'lease commencement',
  ],
  expiration_date: [
    'expiration date',
    'lease end',
    'end date',
    'lease to',
    'expiry date',
    'to date',
    'lease expiration',
    'to',
    'lease termination date',
  ],
  rent_commencement_date: ['rent commencement', 'rent start', 'rent start date', 'rcd'],
  possession_date: ['possession date', 'delivery date', 'handover date'],
  execution_date: ['execution date', 'signed', 'date signed', 'signing date', 'executed'],
  move_in_date: ['move in', 'move in date', 'moved in'],
  move_out_date: ['move out', 'move out date', 'moved out'],
  notice_given_date: ['notice date', 'notice given'],
  status: ['status', 'lease status', 'occupancy status', 'tenant status'],
  lease_type: ['lease type', 'contract type', 'type of lease'],
  recovery_type: [
    'recovery type',
    'expense type',
    'lease structure',
    'rent type',
    'reimbursement method',
  ],
  pro_rata_share_pct: ['pro rata share', 'prorata share', 'pro rata', 'share'],
  is_month_to_month: ['month to month', 'mtm'],
  renewal_status: ['renewal status', 'renewal'],
  'rent.monthly': [
    'monthly rent',
    'base rent',
    'rent',
    'monthly base rent',
    'current rent',
    'contract rent',
    'rent amount',
    'scheduled rent',
    'monthly charge',
  ],
  'rent.annual': ['annual rent', 'annual base rent', 'rent per year', 'base rent annual'],
  'rent.per_area': [
    'rent psf',
    'annual rent psf',
    'rent per square foot',
    'base rent psf',
    'rate psf',
  ],
}

const space: Names = {
  suite: ['suite', 'unit', 'unit number', 'unit code', 'bay'],
  space_type: ['space type', 'unit type', 'type', 'use'],
  building_id: ['building', 'building code', 'building number', 'building name'],
  condition: ['condition', 'delivery condition'],
  available_date: ['available date', 'available', 'availability date', 'date available'],
  asking_rent_per_area: ['asking rent', 'asking rent psf', 'market rent', 'market rent psf'],
}

const party: Names = {
  legal_name: [
    'name',
    'legal name',
    'company',
    'company name',
    'tenant',
    'tenant name',
    'vendor',
    'vendor name',
    'supplier name',
    'business name',
    'customer name',
    'account name',
    'owner name',
  ],
  display_name: ['display name', 'short name', 'known as'],
  dba_name: ['dba', 'doing business as', 'trade name', 'store name'],
  industry_code: ['naics', 'naics code', 'industry code'],
  industry_label: ['industry', 'sector'],
  credit_rating: ['credit rating', 'rating'],
  registration_number: ['registration number', 'company number', 'register number', 'house number'],
  tax_id: ['tax number', 'ein', 'fein', 'tin', 'vat number'],
  website: ['website', 'web', 'url', 'homepage'],
  emails: ['email', 'e mail', 'email address'],
  phones: ['phone', 'phone number', 'telephone'],
  ticker: ['ticker', 'symbol'],
  lei: ['lei', 'legal entity identifier'],
  status: ['status', 'vendor status'],
  kind: ['kind', 'entity type', 'party type'],
}

const contact: Names = {
  first_name: ['first name', 'given name', 'vorname'],
  last_name: ['last name', 'surname', 'family name', 'nachname'],
  title: ['title', 'job title', 'position'],
  email: ['email', 'e mail', 'email address'],
  phone: ['phone', 'phone number', 'direct', 'telephone'],
  party_id: ['company', 'company name', 'account', 'tenant', 'vendor', 'organisation'],
}

const floor: Names = {
  label: ['floor', 'floor label', 'floor name', 'level'],
  level_number: ['floor number', 'level number'],
  building_id: ['building', 'building code', 'building number', 'building name'],
}

const workOrder: Names = {
  title: ['title', 'subject', 'summary', 'work order', 'problem'],
  description: ['description', 'details', 'problem description', 'notes'],
  priority: ['priority', 'urgency'],
  category: ['category', 'trade', 'craft', 'problem type'],
  type: ['type', 'work type', 'order type'],
  status: ['status', 'work order status'],
  property_id: ['property', 'property code', 'property name', 'site'],
  building_id: ['building', 'building code', 'building name'],
}

const BY_TYPE: Readonly<Record<string, Names>> = {
  building,
  property,
  lease,
  space,
  party,
  contact,
  floor,
  work_order: workOrder,
}

/** What a field of a type is called. @param field whether the path is that of a field, whose own name counts too. */
export function namesOf(type: string, path: string, field: boolean): readonly string[] {
  const names = BY_TYPE[type]?.[path] ?? EVERYWHERE[path] ?? []
  return field ? [path.slice(path.lastIndexOf('.') + 1).replaceAll('_', ' '), ...names] : names
}

/** What the key of a type is called, the likeliest first. */
export const KEYS: Names = {
  building: [
    'building number',
    'building code',
    'location code',
    'property number',
    'code',
    'number',
  ],
  property: ['property number', 'property code', 'code', 'number', 'site code'],
  lease: ['lease number', 'lease code', 'contract number', 'code', 'number'],
  space: ['unit number', 'unit code', 'suite', 'number'],
  party: ['vendor number', 'tenant code', 'customer number', 'account number', 'code', 'number'],
  contact: ['contact number', 'email', 'number'],
  floor: ['floor number', 'number'],
  work_order: ['work order number', 'order number', 'ticket number', 'request number', 'number'],
}

for (const names of [EVERYWHERE, KEYS, ...Object.values(BY_TYPE)])
  for (const [path, own] of Object.entries(names)) learn([path, ...own])
