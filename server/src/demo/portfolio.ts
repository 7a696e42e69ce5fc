/** The demo portfolio as a whole: the same seed, start day and size always give the same objects. */
import { addMonths } from './calendar.ts'
import { counterpartyDrafts } from './counterparties.ts'
import { documentDrafts } from './documents.ts'
import { buildingsOf } from './floors.ts'
import { leaseDraft, numberLeases } from './leases.ts'
import { isRunning } from './model.ts'
import type { BuildingPlan, Calendar, Draft, LeasePlan, SpacePlan } from './model.ts'
import { Names } from './names.ts'
import { tenantDrafts } from './parties.ts'
import { draftLeases, endedLeases, signedLeases } from './past-and-future.ts'
import { plant, misspelt } from './planted.ts'
import type { Planted } from './planted.ts'
import { buildingDraft, floorDraft, propertyDraft } from './properties.ts'
import { Random } from './random.ts'
import { sitesOf } from './sites.ts'
import type { Site, Size } from './sites.ts'
import { spaceDraft } from './space-bodies.ts'
import { spacesOf } from './spaces.ts'
import { runningLeases, splitByOccupancy } from './tenancies.ts'
import { Tenants } from './tenants.ts'
import { workOrderDrafts } from './work-orders.ts'

/** Months of history before the start day. */
const HISTORY_MONTHS = 24

export interface PortfolioOptions {
  seed: number
  /** The day that stands for today, `YYYY-MM-DD`. */
  start: string
  size: Size
}

/** Everything that is written, in the order in which it can be: what is referred to comes first. */
export interface Portfolio {
  party: Draft[]
  document: Draft[]
  contact: Draft[]
  property: Draft[]
  building: Draft[]
  floor: Draft[]
  space: Draft[]
  lease: Draft[]
  /** Made as it is read: there are many. */
  work_order: Iterable<Draft>
  planted: Planted
}

export function demoPortfolio({ seed, start, size }: PortfolioOptions): Portfolio {
  const random = new Random(seed)
  const calendar: Calendar = { start, base: addMonths(start, -HISTORY_MONTHS) }
  const sites = sitesOf(size, random.fork('sites'))
  const buildings = sites.flatMap(buildingsOf)
  const names = new Names(random.fork('names'))
  const { spaces, leases, tenants } = planLeases(buildings, calendar, names, random)
  numberLeases(leases)
  const planted = plant(leases, tenants.plans, calendar, random.fork('planted'))
  const others = counterpartyDrafts(calendar, names, random.fork('counterparties'))
  const people = tenantDrafts(tenants.plans, leases, calendar, names, random.fork('tenants'))
  const bySpace = leasesBySpace(leases)
  const own = (key: string): Random => random.fork(key)
  return {
    party: [...others.parties, ...people.parties, ...misspelt(people.parties, planted)],
    document: documentDrafts(leases, sites, planted, calendar, random.fork('documents')),
    contact: [...others.contacts, ...people.contacts],
    property: sites.map((site: Site) => propertyDraft(site, calendar, own(site.code))),
    building: buildings.map((building) => buildingDraft(building, calendar, own(building.key))),
    floor: buildings.flatMap(({ floors }) => floors.map((floor) => floorDraft(floor, calendar))),
    space: spaces.map((space) =>
      spaceDraft(space, bySpace.get(space) ?? [], calendar, own(space.key)),
    ),
    lease: leases.map((lease, i) => leaseDraft(lease, i + 1, calendar)),
    work_order: workOrderDrafts(buildings, leases, calendar, random.fork('work')),
    planted,
  }
}

function planLeases(
  buildings: readonly BuildingPlan[],
  calendar: Calendar,
  names: Names,
  random: Random,
): { spaces: SpacePlan[]; leases: LeasePlan[]; tenants: Tenants } {
  const spaces: SpacePlan[] = []
  const running: LeasePlan[] = []
  const others: LeasePlan[] = []
  // Sizes, vacancy and rents come out right per segment, not per building.
  const groups = Map.groupBy(buildings, ({ site }) => `${site.segment} ${site.currency}`)
  for (const [group, members] of groups) {
    const own = random.fork(group)
    const all = spacesOf(members, own.fork('spaces'))
    const split = splitByOccupancy(all, own.fork('vacancy'))
    const held = runningLeases(split, calendar, own.fork('leases'))
    const signed = signedLeases(held, split.vacant, calendar, own.fork('signed'))
    const taken = new Set(signed.flatMap(({ premises }) => premises.map(({ space }) => space)))
    const free = split.vacant.filter((space) => !taken.has(space))
    spaces.push(...all)
    running.push(...held)
    others.push(
      ...signed,
      ...endedLeases(held, split.vacant, calendar, own.fork('ended')),
      ...draftLeases(held.length, free, calendar, own.fork('drafts')),
    )
  }
  const tenants = new Tenants(names, random.fork('tenancies'), calendar.start)
  tenants.settle(running)
  tenants.settleOthers(others, running)
  return { spaces, leases: [...running, ...others], tenants }
}

function leasesBySpace(leases: readonly LeasePlan[]): Map<SpacePlan, LeasePlan[]> {
  const map = new Map<SpacePlan, LeasePlan[]>()
  for (const lease of leases) {
    if (!isRunning(lease) && lease.status === 'void') continue
    for (const { space } of lease.premises) map.set(space, [...(map.get(space) ?? []), lease])
  }
  return map
}
