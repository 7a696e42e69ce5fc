/** Clients that write, and remember what was acknowledged. */
import { pause } from './service.ts'
import type { Service } from './service.ts'

export interface Acknowledged {
  id: string
  version: number
  name: string
}

/** Parties created and changed one after the other, each with an idempotency key, by some clients at once. */
export class Writers {
  readonly acknowledged = new Map<string, Acknowledged>()
  /** Requests that got no answer and were sent again with their key. */
  repeated = 0
  private going = true
  private readonly done: Promise<void>[]

  constructor(service: Service, count: number) {
    this.done = Array.from({ length: count }, async (_, n) => await this.write(service, n))
  }

  /** Lets what is under way end. */
  async stop(): Promise<void> {
    this.going = false
    await Promise.all(this.done)
  }

  private async write(service: Service, n: number): Promise<void> {
    for (let i = 0; this.going; i++) {
      const name = `Party ${n}-${i}`
      const id = await this.create(service, name)
      if (id === null) continue
      this.acknowledged.set(id, { id, version: 1, name })
      const changed = await service.call('PATCH', `/parties/${id}`, { legal_name: `${name} Ltd` })
      if (changed?.status === 200)
        this.acknowledged.set(id, { id, version: 2, name: `${name} Ltd` })
    }
  }

  /** Sends the same request until it is answered: whatever happened before, it makes one party. */
  private async create(service: Service, name: string): Promise<string | null> {
    const body = { kind: 'company', legal_name: name }
    while (this.going) {
      const headers = { 'idempotency-key': `create ${name}` }
      const made = await service.call('POST', '/parties', body, headers)
      if (made?.status === 201) return String(made.body.id)
      this.repeated++
      await pause(20)
    }
    return null
  }
}

/** What is missing of the acknowledged writes, and how many parties there are more than once. */
export async function missing(
  service: Service,
  { acknowledged }: Writers,
): Promise<{ lost: number; duplicated: number }> {
  const names = new Map<string, number>()
  const found = new Map<string, { version: number; legal_name: string }>()
  let cursor: string | null = null
  do {
    const query: string = cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''
    const page = await service.must('GET', `/parties?limit=200${query}`)
    for (const party of page.data) {
      found.set(party.id, party)
      const name = party.legal_name.replace(/ Ltd$/, '')
      names.set(name, (names.get(name) ?? 0) + 1)
    }
    cursor = page.next_cursor
  } while (cursor)
  const lost = [...acknowledged.values()].filter(({ id, version, name }) => {
    const party = found.get(id)
    return (
      !party || party.version < version || (party.version === version && party.legal_name !== name)
    )
  })
  return { lost: lost.length, duplicated: [...names.values()].filter((count) => count > 1).length }
}
