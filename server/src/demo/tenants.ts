/** Who the tenants are: industries by their share of the rent, a few large tenants with several leases, many small ones. */
import { sum } from './figures.ts'
import { areaOf, isRunning } from './model.ts'
import type { LeasePlan, TenantPlan } from './model.ts'
import type { Industry, Names } from './names.ts'
import type { Random } from './random.ts'
import { rateOn } from './rents.ts'
import { INDUSTRY_SHARES, SEGMENTS } from './segments.ts'

/** Shares of the rent that the ten largest tenants come to together, in percent; the largest has about 6. */
const MAJOR_SHARES = [6, 4.9, 4.1, 3.6, 3.2, 2.9, 2.7, 2.4, 2.2, 2] as const
/** Leases by rank for which only such tenants come into question as take that much space. */
const LARGE = 30
const RARELY_LARGE: readonly Industry[] = ['education', 'retail', 'engineering', 'food']
/** Leases that a large tenant has besides its main one, at most. */
const BRANCHES_MAX = 5
/** Share of the other leases whose tenant has another one already. */
const SECOND_LEASE = 0.05

/** Annual rent that counts for rankings: what is due today, or on the first day after the free months. */
export function annualRent({ terms, premises, site }: LeasePlan, today: string): number {
  const area = sum(premises.map((p) => p.area))
  const perArea = rateOn(terms, today) ?? terms[0]?.rate ?? 0
  // Square metres at euros are near enough to dollars for a ranking.
  return perArea * area * (site.currency === 'EUR' ? 1.1 : 1)
}

export class Tenants {
  readonly plans: TenantPlan[] = []
  private readonly names: Names
  private readonly random: Random
  private readonly today: string
  /** Running leases that a tenant has. */
  private readonly counts = new Map<TenantPlan, number>()

  constructor(names: Names, random: Random, today: string) {
    this.names = names
    this.random = random
    this.today = today
  }

  /** Gives every running lease a tenant. */
  settle(leases: readonly LeasePlan[]): void {
    const rents = new Map(leases.map((lease) => [lease, annualRent(lease, this.today)]))
    const total = sum(rents.values())
    const ranked = leases.toSorted((a, b) => (rents.get(b) ?? 0) - (rents.get(a) ?? 0))
    const industries = this.industries(ranked, rents, total)
    const open = new Set(ranked)
    for (const [i, share] of MAJOR_SHARES.entries()) {
      const lease = ranked[i]
      if (!lease) break
      const tenant = this.found(lease, industries.get(lease) ?? 'professional')
      open.delete(lease)
      let left = (share / 100) * total - (rents.get(lease) ?? 0)
      for (const branch of ranked.slice(MAJOR_SHARES.length)) {
        const rent = rents.get(branch) ?? 0
        const isFull = (this.counts.get(tenant) ?? 0) > BRANCHES_MAX
        if (isFull || rent > left || rent < total * 0.001 || !open.has(branch)) continue
        if (!suits(branch, tenant.industry) || branch.isCliff) continue
        this.give(branch, tenant)
        open.delete(branch)
        left -= rent
      }
    }
    for (const lease of open) this.place(lease, industries.get(lease) ?? 'professional')
  }

  private place(lease: LeasePlan, industry: Industry): void {
    const again = lease.site.currency === 'USD' && this.random.chance(SECOND_LEASE)
    const known = again
      ? [...this.counts].filter(([tenant, held]) => tenant.industry === industry && held < 3)
      : []
    if (known.length > 0) this.give(lease, this.random.pick(known)[0])
    else this.found(lease, industry)
  }

  private give(lease: LeasePlan, tenant: TenantPlan): void {
    lease.tenant = tenant
    // A company of another country is not asked again.
    if (!isRunning(lease) || lease.site.currency !== 'USD') return
    this.counts.set(tenant, (this.counts.get(tenant) ?? 0) + 1)
  }

  /** Industry by industry up to its share of the rent, the largest leases first. */
  private industries(
    ranked: readonly LeasePlan[],
    rents: ReadonlyMap<LeasePlan, number>,
    total: number,
  ): Map<LeasePlan, Industry> {
    const left = new Map(
      Object.entries(INDUSTRY_SHARES).map(([name, pct]) => [name, (pct / 100) * total]),
    )
    const chosen = new Map<LeasePlan, Industry>()
    // Warehouses and shops have little choice; offices make up for what is missing then.
    const isOffice = ({ site }: LeasePlan): boolean => site.segment.endsWith('office')
    const order = [...ranked.filter((l) => !isOffice(l)), ...ranked.filter(isOffice)]
    const large = new Set(ranked.slice(0, LARGE))
    for (const lease of order) {
      const own = industriesOf(lease)
      const usual = large.has(lease)
        ? own.filter((industry) => !RARELY_LARGE.includes(industry))
        : own
      const possible = (usual.length > 0 ? usual : own).map((industry) => {
        const missing = Math.max((left.get(industry) ?? 0) / total, 0.000_5)
        return [industry, missing * missing] as const
      })
      const industry = this.random.weighted(possible)
      chosen.set(lease, industry)
      left.set(industry, (left.get(industry) ?? 0) - (rents.get(lease) ?? 0))
    }
    return chosen
  }

  /** Tenants of leases that do not run: some have other leases today, some are gone, some are yet to come. */
  settleOthers(others: readonly LeasePlan[], running: readonly LeasePlan[]): void {
    const SAME = { expired: 0.3, terminated: 0.1, executed: 0.35 }
    for (const lease of others) {
      const share = SAME[lease.status as keyof typeof SAME] ?? 0.4
      const own = new Set(lease.premises.map(({ space }) => space))
      const possible = running.filter(
        ({ site, premises }) =>
          site.segment === lease.site.segment &&
          site.currency === lease.site.currency &&
          !premises.some(({ space }) => own.has(space)),
      )
      const draw = this.random.chance(share)
      if (draw && possible.length > 0) {
        this.give(lease, this.random.pick(possible).tenant)
      } else {
        const industry = this.random.pick(industriesOf(lease))
        const status =
          lease.status === 'expired' || lease.status === 'terminated' ? 'former' : 'prospect'
        this.found(lease, industry, lease.status === 'executed' ? 'active' : status)
      }
    }
  }

  private found(
    lease: LeasePlan,
    industry: Industry,
    status: TenantPlan['status'] = 'active',
  ): TenantPlan {
    const abroad = lease.site.currency === 'EUR'
    const legal_name = this.names.company(industry, abroad)
    const key = `pty:t${this.plans.length + 1}`
    const tenant: TenantPlan = { key, legal_name, industry, status }
    this.plans.push(tenant)
    this.give(lease, tenant)
    return tenant
  }
}

function suits(lease: LeasePlan, industry: Industry): boolean {
  return lease.site.currency === 'USD' && isRunning(lease) && industriesOf(lease).includes(industry)
}

/** Industries that take such a space. */
function industriesOf(lease: LeasePlan): Industry[] {
  const space = lease.premises[0]?.space
  const { segment, subtype } = lease.site
  if (space?.isAnchor) return [lease.random.fork('anchor').chance(0.7) ? 'grocery' : 'retail']
  if (segment === 'medical') return [subtype === 'life_science' ? 'life_science' : 'health']
  if (space?.type === 'retail' && segment !== 'retail') return ['food', 'retail', 'finance']
  if (space?.type === 'manufacturing') return ['manufacturing']
  // Government offices and insurers take whole floors rather than small suites.
  const isSmall = areaOf(lease) < 2_500 && segment === 'cbd_office'
  return SEGMENTS[segment].industries
    .map(([industry]) => industry)
    .filter((industry) => !isSmall || (industry !== 'government' && industry !== 'insurance'))
}
