/** Markets in which the demo portfolio owns property. The cities are real, everything built in them is invented. */

export interface Market {
  name: string
  city: string
  region: string
  country: string
  postal: string
  latitude: number
  longitude: number
  time_zone: string
  /** Hours behind (-) or ahead of UTC in winter: office hours of the place are counted from it. */
  utc_offset: number
  region_group: string
  submarkets: readonly string[]
}

function market(
  name: string,
  place: readonly [city: string, region: string, postal: string],
  position: readonly [latitude: number, longitude: number],
  zone: readonly [time_zone: string, utc_offset: number],
  region_group: string,
  submarkets: readonly string[],
): Market {
  const [city, region, postal] = place
  const [latitude, longitude] = position
  const [time_zone, utc_offset] = zone
  const country = region.slice(0, 2)
  return {
    name,
    city,
    region,
    country,
    postal,
    latitude,
    longitude,
    time_zone,
    utc_offset,
    region_group,
    submarkets,
  }
}

const EASTERN = ['America/New_York', -5] as const
const CENTRAL = ['America/Chicago', -6] as const
const PACIFIC = ['America/Los_Angeles', -8] as const

/** By the short name that the table of sites uses. */
export const MARKETS = {
  boston: market(
    'Boston',
    ['Boston', 'US-MA', '02210'],
    [42.3519, -71.0447],
    EASTERN,
    'Northeast',
    ['Seaport', 'Financial District', 'Back Bay'],
  ),
  new_york: market(
    'Manhattan',
    ['New York', 'US-NY', '10010'],
    [40.7411, -73.9897],
    EASTERN,
    'Northeast',
    ['Midtown South', 'Downtown', 'Midtown'],
  ),
  chicago: market(
    'Chicago',
    ['Chicago', 'US-IL', '60601'],
    [41.8868, -87.6233],
    CENTRAL,
    'Midwest',
    ['East Loop', 'West Loop', 'River North'],
  ),
  oak_brook: market(
    'Chicago',
    ['Oak Brook', 'US-IL', '60523'],
    [41.8328, -87.9289],
    CENTRAL,
    'Midwest',
    ['East-West Corridor', 'I-55 Corridor', 'Northwest Suburbs'],
  ),
  seattle: market('Seattle', ['Seattle', 'US-WA', '98101'], [47.6105, -122.3348], PACIFIC, 'West', [
    'Central Business District',
    'Denny Triangle',
    'Pioneer Square',
  ]),
  austin: market(
    'Austin',
    ['Austin', 'US-TX', '78701'],
    [30.2669, -97.7428],
    CENTRAL,
    'Southwest',
    ['Central Business District', 'East', 'Northwest'],
  ),
  minneapolis: market(
    'Twin Cities',
    ['Minnetonka', 'US-MN', '55305'],
    [44.9521, -93.4392],
    CENTRAL,
    'Midwest',
    ['West', 'Southwest', 'Northwest'],
  ),
  phoenix: market(
    'Phoenix',
    ['Tempe', 'US-AZ', '85281'],
    [33.4283, -111.9255],
    ['America/Phoenix', -7],
    'Southwest',
    ['Tempe', 'Scottsdale', 'Southeast Valley'],
  ),
  charlotte: market(
    'Charlotte',
    ['Charlotte', 'US-NC', '28277'],
    [35.0547, -80.8483],
    EASTERN,
    'Southeast',
    ['Ballantyne', 'South End', 'Southwest'],
  ),
  detroit: market(
    'Detroit',
    ['Troy', 'US-MI', '48084'],
    [42.5599, -83.1779],
    ['America/Detroit', -5],
    'Midwest',
    ['Troy', 'Southfield', 'Airport District'],
  ),
  inland_empire: market(
    'Inland Empire',
    ['Ontario', 'US-CA', '91761'],
    [34.0361, -117.5931],
    PACIFIC,
    'West',
    ['Ontario Airport', 'Rialto', 'Moreno Valley'],
  ),
  orange_county: market(
    'Orange County',
    ['Santa Ana', 'US-CA', '92705'],
    [33.7173, -117.8519],
    PACIFIC,
    'West',
    ['Airport Area', 'North County', 'West County'],
  ),
  atlanta: market(
    'Atlanta',
    ['McDonough', 'US-GA', '30253'],
    [33.4264, -84.1607],
    EASTERN,
    'Southeast',
    ['South Atlanta', 'Northeast', 'Airport'],
  ),
  dallas: market(
    'Dallas-Fort Worth',
    ['Grand Prairie', 'US-TX', '75050'],
    [32.7816, -97.0228],
    CENTRAL,
    'Southwest',
    ['Great Southwest', 'Alliance', 'South Dallas'],
  ),
  philadelphia: market(
    'Philadelphia',
    ['Philadelphia', 'US-PA', '19104'],
    [39.9556, -75.1942],
    EASTERN,
    'Northeast',
    ['University City', 'Lehigh Valley', 'King of Prussia'],
  ),
  columbus: market(
    'Columbus',
    ['Groveport', 'US-OH', '43125'],
    [39.8784, -82.8838],
    EASTERN,
    'Midwest',
    ['Southeast', 'West', 'Rickenbacker'],
  ),
  cambridge: market(
    'Boston',
    ['Cambridge', 'US-MA', '02139'],
    [42.3626, -71.0843],
    EASTERN,
    'Northeast',
    ['East Cambridge', 'Alewife', 'Mid Cambridge'],
  ),
  denver: market(
    'Denver',
    ['Denver', 'US-CO', '80205'],
    [39.7589, -104.9847],
    ['America/Denver', -7],
    'West',
    ['River North', 'LoDo', 'Platte Street'],
  ),
  nashville: market(
    'Nashville',
    ['Nashville', 'US-TN', '37206'],
    [36.1776, -86.7531],
    CENTRAL,
    'Southeast',
    ['East Nashville', 'Gulch', 'Midtown'],
  ),
  hamburg: market(
    'Hamburg',
    ['Hamburg', 'DE-HH', '20457'],
    [53.5439, 9.9985],
    ['Europe/Berlin', 1],
    'Europe',
    ['HafenCity', 'City', 'City Süd'],
  ),
} satisfies Record<string, Market>

export type MarketName = keyof typeof MARKETS
