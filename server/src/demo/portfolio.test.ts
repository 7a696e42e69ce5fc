import { beforeAll, describe, expect, test } from 'vitest'
import type { Row } from '../kit/resource.ts'
import { validate } from '../kit/validate.ts'
import { createSchema } from '../kit/body-schema.ts'
import { lease as leaseResource } from '../leases/resource.ts'
import { registry } from '../resources.ts'
import { addDays } from './calendar.ts'
import { sum } from './figures.ts'
import type { Draft } from './model.ts'
import { demoPortfolio } from './portfolio.ts'
import type { Portfolio } from './portfolio.ts'
import { DEMO_SEED } from './seed.ts'

const START = '2026-11-21'
const TYPES = [
  'party',
  'document',
  'contact',
  'property',
  'building',
  'floor',
  'space',
  'lease',
  'work_order',
] as const

// Tests look into bodies of every shape.
// oxlint-disable-next-line typescript/no-explicit-any
type Item = Record<string, any>

/** An object as it is on the start day. */
function present({ body, later = [] }: Draft): Item {
  return Object.assign({}, body, ...later.map(({ values }) => values)) as Item
}

function presentAll(drafts: Iterable<Draft>): Map<string, Item> {
  return new Map([...drafts].map((draft) => [`@${draft.key}`, present(draft)]))
}

/** The body with ids in the place of local keys, as the write will see it. */
function withIds(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value).replaceAll(/"@([a-z]+):[^"]*"/g, (key, prefix: string) => {
      const digits = Buffer.from(key).reduce((n, byte) => (n * 31 + byte) % 1e9, 7)
      return `"${prefix}_${digits}"`
    }),
  )
}

/** Codes of the rules that a lease breaks. */
function brokenRules(lease: Item): string[] {
  const blank = Object.fromEntries(Object.keys(leaseResource.fields).map((name) => [name, null]))
  const row = { ...blank, ...(withIds(lease) as Row) }
  // It came to its status on the way: that it could be created in it is not asked.
  const issues = leaseResource.check(row, row)
  return issues.map(({ code }) => code)
}

/** A portfolio whose work orders can be read more than once. */
function made(size: 's' | 'm', seed = DEMO_SEED, start = START): Portfolio {
  const portfolio = demoPortfolio({ size, seed, start })
  return { ...portfolio, work_order: [...portfolio.work_order] }
}

describe('the demo portfolio', () => {
  test('is the same for the same seed and day, and another for another', () => {
    const first = JSON.stringify(made('s'))
    expect(JSON.stringify(made('s'))).toBe(first)
    expect(JSON.stringify(made('s', 2))).not.toBe(first)
    expect(JSON.stringify(made('s', DEMO_SEED, '2026-11-22'))).not.toBe(first)
  })

  test.each(['2026-01-01', '2026-02-28', '2028-02-29', '2026-12-31'])(
    'can be made for %s and holds nothing that has not happened yet',
    (start) => {
      const portfolio = made('s', 3, start)
      for (const type of TYPES) {
        for (const { key, valid_from, later = [] } of portfolio[type]) {
          const times = [valid_from, ...later.map((stage) => stage.valid_from)]
          expect(times.at(-1), key).toBeLessThanOrEqual(Date.parse(start))
          expect(times, key).toEqual([...new Set(times)].toSorted((a, b) => a - b))
        }
      }
      const gaps = portfolio.lease.filter((draft) => brokenRules(present(draft)).length > 0)
      expect(gaps.map(({ key }) => key).toSorted()).toEqual(portfolio.planted.rent_gaps.toSorted())
    },
  )
})

describe('size m', () => {
  let portfolio: Portfolio
  let leases: Map<string, Item>
  let spaces: Map<string, Item>
  let running: Item[]
  const steps = (lease: Item, kind = 'base'): Item[] =>
    lease['rent_schedule'].filter((step: Item) => step['kind'] === kind)

  beforeAll(() => {
    portfolio = made('m')
    leases = presentAll(portfolio.lease)
    spaces = presentAll(portfolio.space)
    running = [...leases.values()].filter((l) => ['active', 'holdover'].includes(l['status']))
  })

  test('every body is valid, and every key it names exists', () => {
    const keys = new Set(TYPES.flatMap((type) => [...portfolio[type]].map(({ key }) => `@${key}`)))
    for (const type of TYPES) {
      const resource = registry.get(type)!
      const schema = createSchema(resource)
      for (const draft of portfolio[type]) {
        // What was read from a file comes with the file, not from a client.
        // Moves of the past are told beside those that are made.
        const { text_status: _, extractions: __, status_history: ___, ...body } = present(draft)
        expect(validate(schema, withIds(body)), draft.key).toEqual([])
        for (const [key] of JSON.stringify(draft).matchAll(/(?<=")@[^"]+/g)) {
          expect(keys.has(key), `${draft.key} names ${key}`).toBe(true)
        }
      }
    }
  })

  test('floors add up to buildings and spaces to floors', () => {
    const floors = presentAll(portfolio.floor)
    for (const [key, building] of presentAll(portfolio.building)) {
      const own = [...floors.values()].filter((floor) => floor['building_id'] === key)
      expect(sum(own.map((floor) => floor['rentable_area']))).toBe(building['rentable_area'])
      const let_ = [...spaces.values()].filter((space) => space['building_id'] === key)
      expect(sum(let_.map((space) => space['rentable_area']))).toBe(building['rentable_area'])
    }
    const suites = [...spaces.values()].map((s) => `${s['building_id']} ${s['suite']}`)
    expect(new Set(suites).size).toBe(suites.length)
  })

  test('no space is let twice at a time', () => {
    const held = new Map<string, [from: string, to: string, lease: string][]>()
    for (const [key, lease] of leases) {
      if (['draft', 'in_review', 'out_for_signature', 'void'].includes(lease['status'])) continue
      for (const { space_id, from_date, to_date } of lease['premises']) {
        const isOpen = lease['status'] === 'holdover' || lease['is_month_to_month']
        const to = to_date ?? (isOpen ? '9999-12-31' : lease['expiration_date'])
        held.set(space_id, [...(held.get(space_id) ?? []), [from_date, to, key]])
      }
    }
    for (const [space, periods] of held) {
      const sorted = periods.toSorted((a, b) => (a[0] < b[0] ? -1 : 1))
      sorted.slice(1).forEach(([from], i) => {
        expect(from > sorted[i]![1], `${space}: ${JSON.stringify(sorted)}`).toBe(true)
      })
    }
  })

  test('statuses fit the dates', () => {
    for (const [key, lease] of leases) {
      const { status, commencement_date: from, expiration_date: to } = lease
      const fits: Record<string, boolean> = {
        active: from <= START && (lease['is_month_to_month'] ? to === null : to >= START),
        holdover: to < START,
        expired: to < START && lease['move_out_date'] <= to,
        terminated: lease['terminated_date'] < START && lease['terminated_date'] < to,
        executed: from > START && lease['execution_date'] <= START,
        draft: from > START,
        in_review: from > START,
        out_for_signature: from > START,
        void: from > START,
      }
      expect(fits[status], `${key} ${status} ${from} ${to}`).toBe(true)
    }
  })

  test('rent is due without a break to the end of the term, rises, and follows from the area', () => {
    const gaps = new Set(portfolio.planted.rent_gaps.map((key) => `@${key}`))
    for (const [key, lease] of leases) {
      const all = [...steps(lease), ...steps(lease, 'free')]
      const days = all
        .toSorted((a, b) => (a['start_date'] < b['start_date'] ? -1 : 1))
        .map((step) => [step['start_date'], step['end_date']])
      expect(days[0]![0], key).toBe(lease['commencement_date'])
      if (!gaps.has(key)) {
        days.slice(1).forEach(([from], i) => expect(from, key).toBe(addDays(days[i]![1], 1)))
      }
      const isRunOn = lease['is_month_to_month'] || lease['status'] === 'holdover'
      expect(days.at(-1)![1], key).toBe(isRunOn ? null : lease['expiration_date'])
      for (const step of steps(lease)) {
        expect(Number(step['amount_monthly']) * 12).toBeCloseTo(Number(step['amount_annual']), 0)
      }
      const last = steps(lease).at(-1)!
      const perArea = Number(last['amount_annual']) / Number(last['per_area_annual'])
      expect(perArea, key).toBeCloseTo(lease['rentable_area'], 0)
    }
  })

  test('options, deposits and dates lie where they can', () => {
    for (const [key, lease] of leases) {
      for (const option of lease['options']) {
        if (!option['notice_end_date']) continue
        expect(option['notice_start_date'] < option['notice_end_date'], key).toBe(true)
        expect(option['notice_end_date'] < option['effective_date'], key).toBe(true)
        const open = ['available', 'exercised']
        const isRunning = ['active', 'executed'].includes(lease['status'])
        if (option['notice_end_date'] < START) expect(option['status']).not.toBe('available')
        else if (isRunning) expect(open, key).toContain(option['status'])
      }
      expect(lease['amendments'].every((a: Item) => a['effective_date'] <= START)).toBe(true)
      const numbers = lease['amendments'].map((a: Item) => a['effective_date'])
      expect(numbers).toEqual(numbers.toSorted())
    }
  })

  test('the rules of a lease hold, but for the three gaps', () => {
    const all = [...leases].map(([key, lease]) => [key, brokenRules(lease)] as const)
    const broken = new Map(all.filter(([, codes]) => codes.length > 0))
    const gaps = portfolio.planted.rent_gaps.map((key) => [`@${key}`, ['gap']] as const)
    expect(broken).toEqual(new Map(gaps))
  })

  test('the planted faults are there, and nothing else looks like them', () => {
    const { planted } = portfolio
    expect([planted.duplicates.length, planted.rent_gaps.length]).toEqual([6, 3])
    const wrong = [...leases].filter(([, lease]) =>
      lease['premises'].some(
        (p: Item) => p['rentable_area'] !== spaces.get(p['space_id'])!['rentable_area'],
      ),
    )
    expect(wrong.map(([key]) => key).toSorted()).toEqual(
      planted.wrong_areas.map((key) => `@${key}`).toSorted(),
    )
    for (const lease of leases.values()) {
      const let_ = lease['premises'].map((p: Item) => p['rentable_area'])
      expect(sum(let_)).toBe(lease['rentable_area'])
    }
    const parties = presentAll(portfolio.party)
    const names = [...parties.values()].map((party) => party['legal_name'])
    expect(new Set(names).size).toBe(names.length)
    for (const { of, legal_name } of planted.duplicates) {
      const original = parties.get(`@${of}`)!['legal_name']
      expect(plain(legal_name)).not.toBe(original)
      expect(similar(plain(legal_name), plain(original)), `${legal_name} ${original}`).toBe(true)
    }
    for (const { lease, expiration_date } of planted.conflicts) {
      expect(leases.get(`@${lease}`)!['expiration_date']).not.toBe(expiration_date)
    }
  })

  test('one large tenant leaves next year and can still renew', () => {
    const cliff = running.find(
      (l) => l['property_id'] === '@prop:LFX' && l['rentable_area'] > 130_000,
    )
    expect(cliff).toMatchObject({ expiration_date: '2028-01-31', renewal_status: 'negotiating' })
    const open = cliff!['options'].find((o: Item) => o['status'] === 'available')
    expect(open['notice_start_date'] < START && open['notice_end_date'] > START).toBe(true)
  })

  test('distributions come near the table', () => {
    const share = (list: Item[], is: (item: Item) => boolean): number =>
      (100 * list.filter(is).length) / list.length
    const documents = [...presentAll(portfolio.document).values()]
    const certificates = documents.filter((d) => d['document_type'] === 'coi')
    const work = [...presentAll(portfolio.work_order).values()]
    const method = (name: string): number =>
      share(running, (l) => l['escalations'][0]?.method === name)
    const option = (...types: string[]): number =>
      share(running, (l) => l['options'].some((o: Item) => types.includes(o['option_type'])))
    const category = (...names: string[]): number =>
      share(work, (w) => names.includes(w['category']))
    const priority = (name: string): number => share(work, (w) => w['priority'] === name)
    const planned = ['preventive', 'inspection', 'compliance']
    const rows: [what: string, value: number, wanted: number, within: number][] = [
      ['fixed rises', method('fixed_pct'), 70, 8],
      ['index', method('cpi'), 15, 5],
      ['renewal options', option('renewal'), 62, 8],
      ['termination options', option('termination'), 14, 5],
      ['growth options', option('expansion', 'rofo', 'rofr'), 18, 5],
      ['amended leases', share(running, (l) => l['amendments'].length > 0), 38, 6],
      ['month to month', share(running, (l) => l['is_month_to_month']), 4, 1],
      ['holdover', share(running, (l) => l['status'] === 'holdover'), 2, 1],
      ['documents', documents.length, 900, 100],
      ['lapsed certificates', share(certificates, (d) => d['expires_date'] < START), 5, 3],
      ['work orders', work.length, 9_500, 300],
      ['hvac', category('hvac'), 31, 2],
      ['lighting and electrical', category('lighting', 'electrical'), 15, 2],
      ['plumbing', category('plumbing'), 14, 2],
      ['planned', share(work, (w) => planned.includes(w['type'])), 32, 2],
      ['emergency', priority('emergency'), 6, 1.5],
      ['urgent', priority('urgent'), 18, 2],
      ['normal', priority('normal'), 56, 3],
      ['billable', share(work, (w) => w['is_billable_to_tenant'] === true), 12, 2],
      ['times kept', share(work.filter(isDone), isInTime), 91, 2],
    ]
    for (const [what, value, wanted, within] of rows) {
      expect(Math.abs(value - wanted), `${what}: ${value}, not ${wanted}`).toBeLessThan(within)
    }
  })

  test('no space is let to two tenants at once, and none is let twice from a day on', () => {
    const holders = new Map<string, Item>()
    for (const lease of [
      ...running,
      ...[...leases.values()].filter((l) => l['status'] === 'executed'),
    ]) {
      for (const { space_id, from_date } of lease['premises']) {
        const other = holders.get(space_id)
        const end = other?.['expiration_date'] ?? START
        expect(!other || end < (from_date ?? lease['commencement_date']), space_id).toBe(true)
        holders.set(space_id, lease)
      }
    }
  })

  test('work orders have their costs and their steps, and only what is on hold stays open long', () => {
    const work = [...portfolio.work_order]
    const all = work.map((draft) => present(draft))
    for (const { line_items = [] } of all)
      for (const { quantity, unit_price, amount } of line_items)
        expect(Number(amount)).toBeCloseTo(quantity * Number(unit_price), 2)
    const over = ['completed', 'closed', 'cancelled']
    const old = new Date(Date.parse(START) - 120 * 86_400_000).toISOString()
    const waiting = all.filter(
      (w) => !over.includes(w['status'] ?? 'new') && w['reported_at'] < old,
    )
    expect(waiting.map((w) => w['status'])).toEqual(waiting.map(() => 'on_hold'))
    expect(waiting.length).toBeGreaterThan(0)
    expect(waiting.length).toBeLessThan(15)
    for (const { later = [], body } of work) {
      const closed = later.at(-1)?.values
      if (closed?.['status'] !== 'closed') continue
      const told = ((closed['status_history'] ?? []) as Item[]).map((move) => move['to'])
      const steps = later.slice(0, -1).map((stage) => stage.values['status'])
      const path = told.length > 0 ? told : ['new', ...steps]
      expect(path, String(body['number'])).toEqual(['new', 'assigned', 'in_progress', 'completed'])
    }
  })

  test('cooling is asked for in summer, and one chiller fails again and again', () => {
    const work = [...presentAll(portfolio.work_order).values()]
    const hvac = work.filter((w) => w['category'] === 'hvac')
    const summer = hvac.filter((w) =>
      ['06', '07', '08', '09'].includes(w['reported_at'].slice(5, 7)),
    )
    // Eight of the eighteen months are summer months.
    expect(summer.length / 8).toBeGreaterThan((1.5 * (hvac.length - summer.length)) / 10)
    const chiller = work.filter((w) => w['subcategory'] === 'chiller')
    expect(chiller).toHaveLength(10)
    expect(chiller.filter((w) => 'parent_work_order_id' in w)).toHaveLength(9)
  })
})

const HOURS: Record<string, number> = { emergency: 4, urgent: 24, normal: 72, low: 168 }

function isDone(work: Item): boolean {
  return (
    ['corrective', 'emergency', 'tenant_request'].includes(work['type']) && work['completed_at']
  )
}

function isInTime(work: Item): boolean {
  const hours = (Date.parse(work['completed_at']) - Date.parse(work['reported_at'])) / 3_600_000
  return hours <= HOURS[work['priority']]!
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '')
}

/** One name begins like the other, whatever the legal form at its end. */
function similar(a: string, b: string): boolean {
  return a.slice(0, 6) === b.slice(0, 6)
}
