/** Floors divided into suites whose sizes have the distribution of their segment; every floor comes out exactly full. */
import { SQM_PER_SQFT } from '../kit/vocabulary.ts'
import { round, sum } from './figures.ts'
import { leasable } from './floors.ts'
import type { BuildingPlan, FloorPlan, SpacePlan } from './model.ts'
import { logNormalMean } from './random.ts'
import type { Random } from './random.ts'
import { SEGMENTS } from './segments.ts'
import type { SegmentTable } from './segments.ts'
import { CLIFF_SITE } from './sites.ts'

/** A tenant with this area moves out next year, unless it uses its option. */
const CLIFF_AREA = 140_000

/** From this part of a floor on, a suite takes the floor as a whole. */
const WHOLE_FLOOR = 0.75
/** Part of a building that tenants of whole floors have at most, so that every building has small tenants too. */
const WHOLE_FLOORS_MAX = 0.66
/** Smallest suite in relation to the median. */
const SMALLEST = 0.25

/** The smallest suites are left out and the largest cut, which takes and gives about as many. */
const COUNT_FACTOR = 1.04

/** What one floor, or several floors together, are divided into. */
interface Piece {
  floors: FloorPlan[]
  area: number
  isAnchor: boolean
}

/** The spaces of buildings of one segment and one currency. */
export function spacesOf(buildings: readonly BuildingPlan[], random: Random): SpacePlan[] {
  const { segment, area_unit } = (buildings[0] as BuildingPlan).site
  const table = SEGMENTS[segment]
  const unit = area_unit === 'sqm' ? SQM_PER_SQFT : 1
  const anchors = buildings.flatMap((building) => anchorsOf(building, random))
  const room = new Map<FloorPlan, number>()
  for (const floor of buildings.flatMap(leasable)) {
    const taken = sum(anchors.filter((a) => a.floors[0] === floor).map((a) => a.area))
    room.set(floor, floor.area - taken)
  }
  const sizes = sizesFor(buildings, sum(room.values()), table, unit, random)
  const whole = takeFloors(buildings, room, sizes, random)
  const pieces = [...anchors, ...whole, ...divide(room, sizes)]
  const byBuilding = Map.groupBy(pieces, (piece) => (piece.floors[0] as FloorPlan).building)
  return buildings.flatMap((building) => numbered(building, byBuilding.get(building) ?? [], random))
}

function anchorsOf(building: BuildingPlan, random: Random): Piece[] {
  const index = building.site.buildings.findIndex(({ name }) => name === building.name)
  const count = building.site.buildings[index]?.anchors ?? 0
  const floors = leasable(building).slice(0, 1)
  return Array.from({ length: count }, () => {
    return { floors, area: random.int(405, 495) * 100, isAnchor: true }
  })
}

/** Suite sizes, largest first, that together fill the area. */
function sizesFor(
  buildings: readonly BuildingPlan[],
  area: number,
  { suite }: SegmentTable,
  unit: number,
  random: Random,
): number[] {
  const median = suite.median * unit
  const p90 = suite.p90 * unit
  const count = Math.max(1, Math.round((area / logNormalMean(median, p90)) * COUNT_FACTOR))
  const biggest = Math.max(...buildings.map((building) => building.area))
  // Warehouses are let as a whole, other buildings to two fifths at most.
  const largest = buildings[0]?.site.segment === 'industrial' ? biggest : biggest * 0.4
  const drawn = random.logNormals(count, median, p90)
  const sizes = drawn
    .map((size) => Math.min(Math.max(size, median * SMALLEST), largest))
    .toSorted(descending)
  // The lease that ends next year is the second largest of its kind.
  const fixed = buildings.some(({ site }) => site.code === CLIFF_SITE) ? CLIFF_AREA : 0
  if (fixed > 0) sizes.splice(Math.min(1, sizes.length - 1), 1)
  const scale = (area - fixed) / sum(sizes)
  const scaled = sizes.map((size) => Math.min(size * scale, largest))
  return (fixed > 0 ? [fixed, ...scaled] : scaled).toSorted(descending)
}

const descending = (a: number, b: number): number => b - a

/** Gives large sizes whole floors, several in a row where one is too small. Takes them out of `room` and `sizes`. */
function takeFloors(
  buildings: readonly BuildingPlan[],
  room: Map<FloorPlan, number>,
  sizes: number[],
  random: Random,
): Piece[] {
  const pieces: Piece[] = []
  for (const size of sizes.toSorted((a, b) => rankOf(b) - rankOf(a))) {
    const home = size === CLIFF_AREA ? CLIFF_SITE : null
    const runs = buildings
      .filter(({ site }) => home === null || site.code === home)
      .flatMap((building) => bestRun(building, room, size))
      .map((run) => ({ ...run, misfit: run.misfit + random.between(0, 0.1) }))
    const best = runs.toSorted((a, b) => a.misfit - b.misfit)[0]
    if (!best) continue
    sizes.splice(sizes.indexOf(size), 1)
    for (const floor of best.floors) room.delete(floor)
    pieces.push({
      floors: best.floors,
      area: sum(best.floors.map((f) => f.area)),
      isAnchor: false,
    })
  }
  return pieces
}

/** The lease that ends next year is placed before the larger ones: it has to be in its building. */
function rankOf(size: number): number {
  return size === CLIFF_AREA ? Infinity : size
}

/** The highest free floors in a row that come nearest to the size; none when the size is less than a floor. */
function bestRun(
  building: BuildingPlan,
  room: ReadonlyMap<FloorPlan, number>,
  size: number,
): { floors: FloorPlan[]; misfit: number }[] {
  const { segment, subtype } = building.site
  const isUndivided = subtype === 'bulk_distribution' || subtype === 'cold_storage'
  if (segment === 'retail' || (segment === 'industrial' && !isUndivided)) return []
  const free = leasable(building).filter((floor) => room.get(floor) === floor.area)
  const plate = free.at(-1)?.area ?? 0
  if (plate === 0 || size < plate * WHOLE_FLOOR) return []
  const count = Math.max(1, Math.round(size / plate))
  const taken = 1 - sum(free.map(({ area }) => area)) / building.area
  for (let top = free.length; top >= count; top--) {
    const floors = free.slice(top - count, top)
    const isUnbroken = (floors.at(-1) as FloorPlan).level - (floors[0] as FloorPlan).level < count
    const area = sum(floors.map((f) => f.area))
    const isTooMuch = taken + area / building.area > WHOLE_FLOORS_MAX && !isUndivided
    // Buildings with few whole floors let come first.
    if (isUnbroken && !isTooMuch)
      return [{ floors, misfit: Math.abs(area - size) / size + taken / 2 }]
  }
  return []
}

/** Spreads the smaller sizes over the floors left, the next largest always to the emptiest floor, and fills each up. */
function divide(room: ReadonlyMap<FloorPlan, number>, sizes: readonly number[]): Piece[] {
  const floors = [...room].filter(([, area]) => area > 0)
  const scale = sum(floors.map(([, area]) => area)) / Math.max(sum(sizes), 1)
  const loads = floors.map(([floor, area]) => ({ floor, area, left: area, parts: [] as number[] }))
  for (const size of sizes) {
    const emptiest = loads.reduce((best, next) => (next.left > best.left ? next : best))
    emptiest.parts.push(size * scale)
    emptiest.left -= size * scale
  }
  return loads.flatMap(({ floor, area, parts }) => {
    const fill = area / sum(parts.length > 0 ? parts : [area])
    const rest = parts.slice(1).map((part) => Math.round(part * fill))
    return [area - sum(rest), ...rest].map((size) => {
      return { floors: [floor], area: size, isAnchor: false }
    })
  })
}

function numbered(building: BuildingPlan, pieces: readonly Piece[], random: Random): SpacePlan[] {
  const byFloor = Map.groupBy(pieces, (piece) => piece.floors[0] as FloorPlan)
  return leasable(building).flatMap((floor) => {
    const here = byFloor.get(floor) ?? []
    // Plans are drawn clockwise from the core, not by size.
    return random.shuffled(here).map((piece, i) => {
      const suite = suiteNumber(building, piece, i, here.length)
      const type = spaceType(building, floor, piece)
      const market = marketRent(building, floor, piece, type, random)
      const { floors, area, isAnchor } = piece
      return {
        key: `spc:${building.code}/${suite}`,
        building,
        floors,
        suite,
        type,
        area,
        isAnchor,
        market,
      }
    })
  })
}

function suiteNumber(building: BuildingPlan, piece: Piece, index: number, count: number): string {
  const { level } = piece.floors.at(-1) as FloorPlan
  if (building.site.segment === 'industrial') return String((index + 1) * 100)
  if (building.site.segment === 'retail' && level === 1) return String(101 + index)
  return String(level * 100 + (count === 1 ? 0 : (index + 1) * (count > 9 ? 5 : 10)))
}

function spaceType({ site }: BuildingPlan, floor: FloorPlan, piece: Piece): string {
  switch (site.segment) {
    case 'cbd_office':
      return floor.level === 1 && piece.area < floor.area ? 'retail' : 'office'
    case 'suburban_office':
      return 'office'
    case 'industrial':
      if (site.subtype === 'light_manufacturing') return 'manufacturing'
      return site.subtype === 'last_mile' ? 'flex' : 'warehouse'
    case 'retail':
      return 'retail'
    case 'medical':
      return site.subtype === 'life_science' && floor.level > 1 ? 'lab' : 'medical_office'
    case 'mixed':
      return floor.level === 1 ? 'retail' : 'office'
  }
}

/** Higher floors and small suites are dearer, anchor stores and whole floors cheaper. */
function marketRent(
  { site }: BuildingPlan,
  floor: FloorPlan,
  piece: Piece,
  type: string,
  random: Random,
): number {
  if (piece.isAnchor) return round(12.4 * random.between(0.94, 1.06), 2)
  const { median } = SEGMENTS[site.segment].suite
  const unit = site.area_unit === 'sqm' ? SQM_PER_SQFT : 1
  const size = Math.min(1.1, Math.max(0.86, (median * unit * 1.5) / piece.area)) ** 0.5
  const height = site.segment === 'cbd_office' ? 0.96 + floor.level * 0.004 : 1
  const shop = type === 'retail' && site.segment !== 'retail' ? 1.12 : 1
  return round(site.rent * size * height * shop * random.between(0.95, 1.05), 4)
}
