/** The properties of the demo portfolio: 26 in the US, and one in the EU whose figures are in euros and square metres. */
import { MARKETS } from './places.ts'
import type { Market, MarketName } from './places.ts'
import { SITE_WORDS } from './names.ts'
import { addMonths } from './calendar.ts'
import type { Calendar } from './model.ts'
import { Random } from './random.ts'
import type { Segment } from './segments.ts'

const SIZES = ['s', 'm', 'l'] as const
export type Size = (typeof SIZES)[number]

export function isSize(text: unknown): text is Size {
  return (SIZES as readonly unknown[]).includes(text)
}

export interface SiteBuilding {
  name: string
  /** Rentable area in the unit of the site. */
  area: number
  floors: number
  /** Stores of about 45,000 sqft that the others live on. */
  anchors?: number
}

export interface Site {
  code: string
  name: string
  segment: Segment
  subtype: string
  market: Market
  submarket: string
  /** Middle of the start rents, per area unit and year. */
  rent: number
  building_class: 'trophy' | 'a' | 'b' | 'c'
  year_built: number
  buildings: readonly SiteBuilding[]
  area_unit: 'sqft' | 'sqm'
  currency: 'USD' | 'EUR'
  status: 'owned' | 'development' | 'held_for_sale'
}

type Place = readonly [market: MarketName, submarket: number]
type Standing = readonly [rent: number, building_class: Site['building_class'], year_built: number]

function site(
  code: string,
  name: string,
  kind: readonly [segment: Segment, subtype: string],
  place: Place,
  standing: Standing,
  buildings: readonly SiteBuilding[],
  other: Partial<Site> = {},
): Site {
  const market: Market = MARKETS[place[0]]
  return {
    code,
    name,
    segment: kind[0],
    subtype: kind[1],
    market,
    submarket: market.submarkets[place[1]] as string,
    rent: standing[0],
    building_class: standing[1],
    year_built: standing[2],
    buildings,
    area_unit: 'sqft',
    currency: 'USD',
    status: 'owned',
    ...other,
  }
}

/** How long ago the first site was bought. */
export const OLDEST_MONTHS = 150

/** The day on which a site was bought, which is when its record begins. */
export function acquiredOn({ code }: Site, { start }: Calendar): string {
  return addMonths(start, -new Random(`${code}/acquired`).int(30, OLDEST_MONTHS))
}

function one(name: string, area: number, floors: number, anchors = 0): SiteBuilding {
  return { name, area, floors, anchors }
}

const CBD = ['cbd_office', 'cbd_office'] as const
const SUBURBAN = ['suburban_office', 'suburban_office'] as const
const BULK = ['industrial', 'bulk_distribution'] as const
const NEIGHBORHOOD = ['retail', 'neighborhood_center'] as const

/** Where the 140,000 sqft lease and the chiller that keeps failing are. */
export const CLIFF_SITE = 'LFX'

const SITES: readonly Site[] = [
  site(
    'LFX',
    'Lakefront Exchange',
    CBD,
    ['chicago', 0],
    [43, 'a', 1986],
    [one('Lakefront Exchange', 440_000, 25)],
  ),
  site(
    'HPC',
    'Harbor Point Center',
    CBD,
    ['boston', 0],
    [55, 'trophy', 2009],
    [one('Harbor Point North Tower', 400_000, 22), one('Harbor Point South Tower', 220_000, 12)],
  ),
  site(
    'MSQ',
    'Madigan Square',
    CBD,
    ['new_york', 0],
    [65, 'a', 1931],
    [one('Madigan Square', 380_000, 22)],
  ),
  site(
    'CSC',
    'Cascadia Place',
    CBD,
    ['seattle', 0],
    [47, 'a', 2001],
    [one('Cascadia Place', 330_000, 19)],
  ),
  site(
    'FDR',
    'Foundry Row',
    CBD,
    ['austin', 0],
    [50, 'a', 2016],
    [one('Foundry Row', 280_000, 16)],
  ),
  site(
    'WBP',
    'Westbrook Office Park',
    SUBURBAN,
    ['minneapolis', 0],
    [25, 'b', 1988],
    [one('Westbrook One', 130_000, 5), one('Westbrook Two', 120_000, 5)],
  ),
  site(
    'NFC',
    'Northfield Corporate Center',
    SUBURBAN,
    ['oak_brook', 0],
    [26.5, 'b', 1991],
    [one('Northfield Corporate Center', 220_000, 8)],
  ),
  site(
    'CPR',
    'Copper Ridge Commons',
    SUBURBAN,
    ['phoenix', 0],
    [28.5, 'b', 1999],
    [one('Copper Ridge East', 115_000, 5), one('Copper Ridge West', 115_000, 5)],
  ),
  site(
    'BHC',
    'Brookhaven Commons',
    SUBURBAN,
    ['charlotte', 0],
    [29, 'b', 2004],
    [one('Brookhaven Commons', 180_000, 7)],
  ),
  site(
    'CHP',
    'Cedar Hills Pavilion',
    SUBURBAN,
    ['detroit', 0],
    [23.5, 'c', 1984],
    [one('Cedar Hills Pavilion', 170_000, 6)],
    { status: 'held_for_sale' },
  ),
  site(
    'GLP',
    'Gateway Logistics Park',
    BULK,
    ['inland_empire', 0],
    [11.5, 'a', 2018],
    [one('Gateway Building 1', 520_000, 1), one('Gateway Building 2', 340_000, 1)],
  ),
  site(
    'PDC',
    'Prairie Distribution Center',
    BULK,
    ['oak_brook', 1],
    [7.2, 'b', 2006],
    [one('Prairie Distribution Center', 410_000, 1)],
  ),
  site(
    'STC',
    'Southgate Trade Center',
    BULK,
    ['atlanta', 0],
    [7.2, 'b', 2012],
    [one('Southgate Building A', 250_000, 1), one('Southgate Building B', 170_000, 1)],
  ),
  site(
    'LSC',
    'Lone Mesa Commerce Park',
    ['industrial', 'light_manufacturing'],
    ['dallas', 0],
    [7.8, 'b', 2008],
    [one('Lone Mesa 100', 230_000, 1), one('Lone Mesa 200', 160_000, 1)],
  ),
  site(
    'DVC',
    'Delmar Valley Cold Storage',
    ['industrial', 'cold_storage'],
    ['philadelphia', 1],
    [12.5, 'a', 2019],
    [one('Delmar Valley Cold Storage', 280_000, 1)],
  ),
  site(
    'SAF',
    'Santa Linda Flex Center',
    ['industrial', 'last_mile'],
    ['orange_county', 0],
    [16, 'b', 1997],
    [one('Santa Linda Flex Center', 160_000, 1)],
  ),
  site(
    'RBI',
    'Riverbend Industrial',
    BULK,
    ['columbus', 0],
    [6.6, 'c', 1989],
    [one('Riverbend Industrial', 180_000, 1)],
  ),
  site(
    'SYC',
    'Sycamore Square',
    ['retail', 'community_center'],
    ['charlotte', 1],
    [26, 'a', 2003],
    [one('Sycamore Square East', 98_000, 1, 1), one('Sycamore Square West', 67_000, 1, 1)],
  ),
  site(
    'MGM',
    'Maple Grove Marketplace',
    NEIGHBORHOOD,
    ['minneapolis', 1],
    [25, 'b', 1996],
    [one('Maple Grove Marketplace', 150_000, 1, 2)],
  ),
  site(
    'PVS',
    'Palm Vista Shops',
    NEIGHBORHOOD,
    ['phoenix', 1],
    [27, 'b', 2001],
    [one('Palm Vista Shops', 130_000, 1, 1)],
  ),
  site(
    'ORC',
    'Orchard Crossing',
    ['retail', 'power_center'],
    ['dallas', 1],
    [23, 'b', 2005],
    [one('Orchard Crossing', 140_000, 1, 2)],
  ),
  site(
    'LSR',
    'Linden Street Row',
    ['retail', 'high_street'],
    ['boston', 2],
    [34, 'a', 1912],
    [one('Linden Street Row', 35_000, 3)],
  ),
  site(
    'MMP',
    'Mercer Medical Pavilion',
    ['medical', 'medical_office'],
    ['philadelphia', 0],
    [37, 'a', 2011],
    [one('Mercer Medical Pavilion', 110_000, 5)],
  ),
  site(
    'CRL',
    'Charter Row Laboratories',
    ['medical', 'life_science'],
    ['cambridge', 0],
    [54, 'a', 2014],
    [one('Charter Row Laboratories', 150_000, 7)],
  ),
  site(
    'UNY',
    'Union Yards',
    ['mixed', 'mid_rise'],
    ['denver', 0],
    [28, 'b', 1924],
    [one('Union Yards Foundry', 110_000, 6), one('Union Yards Depot', 70_000, 5)],
  ),
  site(
    'EGL',
    'Eastgate Landing',
    ['mixed', 'mid_rise'],
    ['nashville', 0],
    [32, 'a', 2026],
    [one('Eastgate Landing Phase I', 40_000, 3)],
    { status: 'development' },
  ),
]

const ABROAD = site(
  'SPK',
  'Speicherkontor',
  CBD,
  ['hamburg', 0],
  [318, 'a', 2008],
  [one('Speicherkontor Haus 1', 9_800, 6), one('Speicherkontor Haus 2', 6_400, 5)],
  { area_unit: 'sqm', currency: 'EUR' },
)

/** The company that holds the title. */
export function entityOf({ name, currency }: Site): string {
  return currency === 'EUR' ? `${name} Grundbesitz GmbH` : `${name} Holdings LLC`
}

/** A fifth of the portfolio with a property of every kind. */
const SMALL = ['LFX', 'CHP', 'RBI', 'SAF', 'SYC', 'MMP', 'UNY', 'EGL']

/** Copies of the table, under other names and in other places, that come to 5,000 leases. */
const LARGE_COPIES = 6.8

export function sitesOf(size: Size, random: Random): Site[] {
  if (size === 's') return [...SITES.filter(({ code }) => SMALL.includes(code)), ABROAD]
  if (size === 'm') return [...SITES, ABROAD]
  const copies = Array.from({ length: Math.round(SITES.length * LARGE_COPIES) }, (_, i) =>
    copyOf(SITES[i % SITES.length] as Site, i, random),
  )
  return [...SITES, ABROAD, ...copies]
}

/** A property like one of the table, somewhere else. */
function copyOf(original: Site, n: number, random: Random): Site {
  const first = SITE_WORDS.first[n % SITE_WORDS.first.length] as string
  const second = random.pick(SITE_WORDS.second[original.segment])
  const round = Math.floor(n / SITE_WORDS.first.length)
  const name = `${first} ${second}${round > 0 ? ` ${'II III IV V VI'.split(' ')[round - 1]}` : ''}`
  const abroad = MARKETS.hamburg.name
  const market = random.pick(Object.values(MARKETS).filter((m: Market) => m.name !== abroad))
  const code = `${original.code.slice(0, 2)}${String(n + 1).padStart(3, '0')}`
  const buildings = original.buildings.map((building, i) => ({
    ...building,
    name: original.buildings.length > 1 ? `${name} ${i + 1}` : name,
  }))
  return {
    ...original,
    code,
    name,
    market,
    submarket: random.pick(market.submarkets),
    year_built: original.year_built - random.int(0, 6),
    buildings,
    status: 'owned',
  }
}
