/** Fields and adapters that are taken from a sandbox to the organization it belongs to. */
import { describe, expect, it } from 'vitest'
import { clientWith, newClient, newOrganization } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import type { Row } from '../kit/resource.ts'
import { ALL_SCOPES } from '../kit/scopes.ts'
import { deployOperations } from '../schema/schema-fixture.ts'
import { created, document, tested } from '../sdis/adapters/adapter-fixture.ts'

interface Pair {
  live: TestClient
  sandbox: TestClient
  body: Row
}

async function pair(kind: string): Promise<Pair> {
  const live = await newOrganization()
  const answer = await live.post('/sandboxes', { name: 'Trial' })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  const id = Number(String(answer.body.id).replace('org_', ''))
  const sandbox = clientWith(answer.body.api_key.key, id)
  return { live, sandbox, body: { sandbox: sandbox.organization_id, kinds: [kind] } }
}

/** Sees the difference and applies it. @returns what was seen. */
async function applied({ live, body }: Pair): Promise<Row> {
  const seen = await live.post('/sandbox/promote', body)
  expect(seen.status, JSON.stringify(seen.body)).toBe(200)
  const apply = { ...body, dry_run: false, hash: seen.body.hash }
  const answer = await live.post('/sandbox/promote', apply)
  expect(answer, JSON.stringify(answer.body)).toMatchObject({
    status: 200,
    body: { applied: true },
  })
  return seen.body
}

const actionsIn = ({ changes }: Row): unknown =>
  Object.fromEntries((changes as Row[]).map(({ key, action }) => [key, action]))

const field = (label: string, type: string, more: Row = {}): Row => ({
  op: 'add_attribute',
  object_type: 'party',
  label,
  type,
  ...more,
})

describe('taking fields live', () => {
  it('adds those that the organization lacks, as they are, and leaves the others', async () => {
    const two = await pair('fields')
    const { live, sandbox, body } = two
    const options = [{ label: 'Prime' }, { label: 'Second tier', api_name: 'second' }]
    await deployOperations(sandbox, [
      field('Tier', 'select', { options, required: true, default: 'prime' }),
      field('Budget', 'decimal', { min: 0, max: 100, scale: 2, filterable: true }),
      field('Advisor', 'relation', { target: 'party', description: 'Who advises.' }),
      field('Added', 'formula', { expression: 'ext.budget * 2.0' }),
      field('Code', 'text', { max_length: 10 }),
    ])
    await deployOperations(live, [field('Code', 'text', { max_length: 20 })])
    const seen = await applied(two)
    expect(actionsIn(seen)).toEqual({
      'party.added': 'create',
      'party.advisor': 'create',
      'party.budget': 'create',
      'party.code': 'skipped',
      'party.tier': 'create',
    })
    const code = (seen['changes'] as Row[]).find(({ key }) => key === 'party.code')
    expect(code).toMatchObject({
      changed: ['max_length'],
      reason: expect.stringContaining('another one of that name'),
    })
    const shown = async (client: TestClient): Promise<Row> => {
      const { data } = (await client.get('/schema-fields')).body
      const plain = (data as Row[]).map((row) => ({
        ...row,
        id: null,
        created_at: null,
        updated_at: null,
      }))
      return Object.fromEntries(plain.map((row) => [(row as Row)['api_name'], row]))
    }
    const { code: own, ...rest } = await shown(live)
    const { code: __, ...theirs } = await shown(sandbox)
    expect(rest).toEqual(theirs)
    expect(own).toMatchObject({ max_length: 20 })
    const made = await live.post('/parties', { ...samples.party(), ext: { budget: 4.5 } })
    expect(made.body.ext).toMatchObject({ tier: 'prime', budget: 4.5, added: 9 })
    const again = await live.post('/sandbox/promote', body)
    expect(again.body.counts).toEqual({ create: 0, update: 0, unchanged: 4, skipped: 1 })
  })
})

describe('taking adapters live', () => {
  it('keeps what was tested as a tested version; going live is left to the organization', async () => {
    const two = await pair('adapters')
    const { live, sandbox, body } = two
    const [fresh] = [await created(sandbox, 'fresh'), await created(sandbox, 'draft')]
    await tested(sandbox, fresh)
    const known = await created(sandbox, 'known')
    await tested(sandbox, known)
    const other = document('known')
    const there = await created(live, 'known', {
      document: { ...other, description: 'As it was before.' },
    })
    await tested(live, there)
    const seen = await applied(two)
    expect(actionsIn(seen)).toEqual({ draft: 'skipped', fresh: 'create', known: 'update' })
    const { data } = (await live.get('/sdis/adapters')).body
    expect(data).toMatchObject([
      { name: 'fresh', latest_version: 1, live_version: null },
      { name: 'known', latest_version: 2, live_version: null },
    ])
    const theirs = (await sandbox.get(`/sdis/adapters/${fresh}/versions/1`)).body
    const ours = (await live.get(`/sdis/adapters/${data[0].id}/versions/1`)).body
    expect(ours).toMatchObject({
      state: 'tested',
      hash: theirs.hash,
      document: theirs.document,
      tested: theirs.tested,
    })
    expect((await live.get(`/sdis/adapters/${there}/versions/2`)).body.state).toBe('tested')
    expect((await live.post('/sandbox/promote', body)).body.counts).toEqual({
      create: 0,
      update: 0,
      unchanged: 2,
      skipped: 1,
    })
  })
})

it('a field goes live together with the adapter that fills it, or neither does', async () => {
  const two = await pair('adapters')
  const { live, sandbox } = two
  const operation = field('Rating', 'integer', { object_type: 'building' })
  await deployOperations(sandbox, [operation])
  const text = document('rated') as { streams: { map: Row }[] }
  ;(text.streams[0] as { map: Row }).map['ext.rating'] = 'row.Area'
  await tested(sandbox, await created(sandbox, 'rated', { document: text }))
  const alone = await live.post('/sandbox/promote', two.body)
  const apply = { ...two.body, dry_run: false, hash: alone.body.hash }
  expect(await live.post('/sandbox/promote', apply)).toMatchObject({ status: 422 })
  expect((await live.get('/sdis/adapters')).body.data).toEqual([])
  const both = { ...two, body: { ...two.body, kinds: ['adapters', 'fields'] } }
  expect(actionsIn(await applied(both))).toEqual({ 'building.rating': 'create', rated: 'create' })
  expect((await live.get('/sdis/adapters')).body.data).toMatchObject([{ name: 'rated' }])
})

it.each([
  ['fields', 'deploy:schema'],
  ['adapters', 'promote:adapters'],
])('%s need the scope %s', async (kind, scope) => {
  const { live, body } = await pair(kind)
  const some = await newClient(
    live.org_id,
    ALL_SCOPES.filter((one) => one !== scope),
  )
  expect(await some.post('/sandbox/promote', body)).toMatchObject({
    status: 403,
    body: { required_scope: scope },
  })
})
