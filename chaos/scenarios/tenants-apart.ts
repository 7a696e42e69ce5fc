/** Two organizations on the same few connections, each asking for the other's objects. */
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { send, Service } from '../service.ts'

const REQUESTS = 10_000
const PARALLEL = 64
const LISTS = [
  'parties',
  'properties',
  'buildings',
  'leases',
  'work_orders',
  'documents',
  'changes',
]

interface Tenant {
  key: string
  organization: string
  ids: string[]
}

export const tenantsApart: Scenario = {
  row: 17,
  fault: 'two organizations at once on shared connections, each with ids of the other',
  pass: 'foreign ids are 404, lists and filters show own rows only, also without any context',
  run: async (size) => {
    const service = await Service.start({ GRID_LIMIT_SANDBOX: '10000000' })
    try {
      const tenants = await Promise.all(
        [service.key, service.sandboxKey].map(async (key) => await tenant(service, key)),
      )
      const requests = Math.round(REQUESTS * size)
      let strange = 0
      let sent = 0
      const client = async (): Promise<void> => {
        while (sent++ < requests) {
          const [own, foreign] = Math.random() < 0.5 ? tenants : tenants.toReversed()
          const found = await ask(service, own as Tenant, foreign as Tenant)
          strange += found
        }
      }
      await Promise.all(Array.from({ length: PARALLEL }, client))
      const bare = await withoutContext(service)
      return counted(
        requests,
        {},
        `${strange} foreign rows, ${bare} rows without context`,
        strange + bare === 0,
      )
    } finally {
      await service.end()
    }
  },
}

async function tenant(service: Service, key: string): Promise<Tenant> {
  const made = async (name: string): Promise<string[]> => {
    const body = { kind: 'company', legal_name: name }
    const answer = await send(service.base, key, 'POST', '/parties', body)
    return [answer.body.id, answer.body.organization_id]
  }
  const parties = await Promise.all(['A', 'B', 'C', 'D'].map(made))
  return {
    key,
    organization: parties[0]?.[1] as string,
    ids: parties.map(([id]) => id as string),
  }
}

/** @returns how many rows came that should not have. */
async function ask(service: Service, own: Tenant, foreign: Tenant): Promise<number> {
  const id = foreign.ids[Math.floor(Math.random() * foreign.ids.length)] as string
  const dice = Math.random()
  if (dice < 0.3) {
    const { status } = await send(service.base, own.key, 'GET', `/parties/${id}`)
    return status === 404 ? 0 : 1
  }
  if (dice < 0.5) {
    const body = { legal_name: 'Mine now' }
    const { status } = await send(service.base, own.key, 'PATCH', `/parties/${id}`, body)
    return status === 404 ? 0 : 1
  }
  if (dice < 0.6) {
    const { status } = await send(service.base, own.key, 'GET', `/grid/v2/objects/${id}/facts`)
    return status === 404 ? 0 : 1
  }
  const list = LISTS[Math.floor(Math.random() * LISTS.length)] as string
  const { status, body } = await send(service.base, own.key, 'GET', `/${list}?limit=200`)
  if (status !== 200) return 1
  return body.data.filter(
    (row: { organization_id?: string; object_id?: string }) =>
      (row.organization_id !== undefined && row.organization_id !== own.organization) ||
      (row.object_id !== undefined && foreign.ids.includes(row.object_id)),
  ).length
}

/** Rows that the app role sees on a connection where no organization was set. */
async function withoutContext(service: Service): Promise<number> {
  const owner = await service.owner()
  const { rows } = await owner.query<{ table_name: string }>(
    `select c.table_name from information_schema.columns c join pg_class p on p.relname = c.table_name
     where c.table_schema = 'public' and c.column_name = 'org_id' and p.relkind in ('r', 'p') and p.relispartition = false`,
  )
  let seen = 0
  await owner.query('set role grid')
  for (const { table_name } of rows) {
    const found = await owner
      .query<{ count: string }>(`select count(*) from public.${table_name}`)
      .catch(() => null)
    seen += Number(found?.rows[0]?.count ?? 0)
  }
  await owner.end()
  return seen
}
