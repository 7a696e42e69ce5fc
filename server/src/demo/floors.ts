/** Buildings and their floors: how the rentable area of a site is stacked. */
import { sum } from './figures.ts'
import type { BuildingPlan, FloorPlan } from './model.ts'
import type { Segment } from './segments.ts'
import type { Site, SiteBuilding } from './sites.ts'

type Extra = readonly [label: string, level: number, type: FloorPlan['type']]

/** Floors on which nothing is let; levels above 0 count from the top floor. */
const EXTRA_FLOORS: Record<Segment, readonly Extra[]> = {
  cbd_office: [
    ['B2', -2, 'parking'],
    ['B1', -1, 'parking'],
    ['PH', 1, 'mechanical'],
    ['R', 2, 'roof'],
  ],
  suburban_office: [
    ['PH', 1, 'mechanical'],
    ['R', 2, 'roof'],
  ],
  industrial: [['M', 1, 'mezzanine']],
  retail: [],
  medical: [
    ['B1', -1, 'parking'],
    ['R', 1, 'roof'],
  ],
  mixed: [
    ['B1', -1, 'parking'],
    ['R', 1, 'roof'],
  ],
}

export function buildingsOf(site: Site): BuildingPlan[] {
  return site.buildings.map((building, i) => {
    const code = site.buildings.length > 1 ? `${site.code}-${i + 1}` : site.code
    const plan = { key: `bld:${code}`, site, name: building.name, code, area: building.area }
    const floors: FloorPlan[] = []
    const whole: BuildingPlan = { ...plan, floors }
    floors.push(...floorsOf(whole, building))
    return whole
  })
}

function floorsOf(building: BuildingPlan, { area, floors: count }: SiteBuilding): FloorPlan[] {
  const { site } = building
  const floor = (
    label: string,
    level: number,
    type: FloorPlan['type'],
    size: number,
  ): FloorPlan => {
    return { key: `flr:${building.code}/${label}`, building, label, level, type, area: size }
  }
  // The lobby takes a part of the ground floor of a tall building; floors are measured to ten units.
  const ground = count >= 5 ? 0.6 : 1
  const step = site.area_unit === 'sqm' ? 1 : 10
  const plate = Math.round(area / (count - 1 + ground) / step) * step
  const upper = Array.from({ length: count - 1 }, (_, i) =>
    floor(String(i + 2), i + 2, 'standard', plate),
  )
  const first = floor('1', 1, 'ground', area - sum(upper.map((f) => f.area)))
  const extra = EXTRA_FLOORS[site.segment].map(([label, level, type]) =>
    floor(label, level > 0 ? count + level : level, type, 0),
  )
  return [first, ...upper, ...extra]
}

/** Floors that can be let, from the ground up. */
export function leasable(building: BuildingPlan): FloorPlan[] {
  return building.floors.filter(({ area }) => area > 0)
}
