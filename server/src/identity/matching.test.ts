/** Matching after loads: identifiers decide, likeness is weighed, what is in doubt waits for a person. */
import { describe, expect, it } from 'vitest'
import { grid, newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { adapterOf, load } from '../sdis/load-fixture.ts'
import { party } from '../parties/resource.ts'
import { MATCHED_TYPES } from './identifiers.ts'
import { queueMatching } from './run-queries.ts'
import { findByIdentifier } from './service.ts'
import { tendOrganization } from './work.ts'

/** Matches what was loaded, as the background does. */
async function tend(client: TestClient): Promise<void> {
  const { db } = await grid()
  const unmatched = async (): Promise<unknown[]> =>
    await db.query(
      client.org_id,
      'select id from job where org_id = $1 and matched_at is null and finished_at is not null',
      [client.org_id],
    )
  // One call takes a hundred loads, those of other tests before these.
  while ((await unmatched()).length > 0) await queueMatching(db, MATCHED_TYPES)
  await tendOrganization(db, client.org_id, new AbortController().signal)
}

const parties = (source: string, more: object = {}): string =>
  adapterOf(
    {
      name: 'tenants',
      type: 'party',
      key: 'row.Key',
      map: {
        legal_name: 'row.Name',
        kind: `'company'`,
        registration_number: 'row.Reg',
        website: 'row.Web',
      },
      ...more,
    },
    { adapter: source.toLowerCase(), source: { name: source } },
  )

const HEAD = 'Key,Name,Reg,Web\n'

async function candidates(client: TestClient, query = ''): Promise<Answer['body'][]> {
  const { body } = await client.get(`/grid/v2/match-candidates?limit=200${query}`)
  return body.data
}

async function names(client: TestClient): Promise<string[]> {
  const { body } = await client.get('/parties?limit=200&sort=legal_name')
  return body.data.map(({ legal_name }: { legal_name: string }) => legal_name)
}

describe('what two sources load', () => {
  it('is one where an identifier says so, however it is written', async () => {
    const client = await newOrganization()
    await load(client, parties('Yardi'), `${HEAD}t1,Harrow & Pine LLP,IL-004821,\nt2,Other,,\n`)
    await load(client, parties('MRI'), `${HEAD}900,HARROW PINE,il 004821,https://h.example\n`)
    await tend(client)
    expect(await names(client)).toEqual(['HARROW PINE', 'Other'].toSorted())
    const { body } = await client.get('/grid/v2/merges')
    expect(body.data).toMatchObject([
      {
        rule: 'identifier',
        score: 1,
        actor: { type: 'system' },
        evidence: [
          {
            comparison: 'registration_number',
            level: 'identifier',
            left: 'il 004821',
            right: 'IL-004821',
          },
        ],
      },
    ])
    const { winner } = body.data[0]
    expect((await client.get(`/parties/${winner}`)).body).toMatchObject({
      website: 'https://h.example',
    })
  })

  it('goes on to be one thing when both load again, and is two again after an unmerge', async () => {
    const client = await newOrganization()
    await load(client, parties('Yardi'), `${HEAD}t1,Harrow,R-100,\n`, '2026-01-01')
    await load(
      client,
      parties('MRI'),
      `${HEAD}900,Harrow P,R-100,https://a.example\n`,
      '2026-01-01',
    )
    await tend(client)
    const { body: log } = await client.get('/grid/v2/merges')
    const { id, winner, loser } = log.data[0]
    const again = await load(
      client,
      parties('MRI'),
      `${HEAD}900,Harrow P,R-100,https://b.example\n`,
      '2026-02-01',
    )
    expect(again.counts).toMatchObject({ created: 0, changed: 1, facts: 1 })
    expect((await client.get(`/parties/${winner}`)).body.website).toBe('https://b.example')
    const facts = await client.get(`/grid/v2/objects/${winner}/facts?field=website`)
    expect(facts.body.data).toMatchObject([
      { status: 'superseded', member_id: loser },
      { status: 'current', member_id: loser },
    ])
    await load(client, parties('Yardi'), `${HEAD}t1,Harrow Ltd,R-100,\n`, '2026-02-01')
    expect((await client.get(`/parties/${winner}`)).body.legal_name).toBe('Harrow Ltd')
    const same = await load(
      client,
      parties('MRI'),
      `${HEAD}900,Harrow P,R-100,https://b.example\n`,
      '2026-03-01',
    )
    expect(same.counts).toMatchObject({ unchanged: 1 })

    await client.delete(`/grid/v2/merges/${id}`)
    expect((await client.get(`/parties/${winner}`)).body).toMatchObject({
      legal_name: 'Harrow Ltd',
      website: null,
    })
    expect((await client.get(`/parties/${loser}`)).body).toMatchObject({
      legal_name: 'Harrow P',
      website: 'https://b.example',
    })
    await tend(client)
    expect(await names(client)).toHaveLength(2)
  })

  it('loses only what its source no longer lists', async () => {
    const client = await newOrganization()
    const snapshot = (source: string): string =>
      JSON.stringify({
        ...JSON.parse(parties(source)),
        mode: 'full_snapshot',
        guards: { max_retract_pct: 100, min_rows: 0, max_error_pct: 100 },
      })
    await load(client, snapshot('Yardi'), `${HEAD}t1,Harrow,R-1,\nt2,Else,R-2,\n`, '2026-01-01')
    await load(
      client,
      snapshot('MRI'),
      `${HEAD}900,Harrow P,R-1,https://a.example\n901,More,R-3,\n`,
      '2026-01-01',
    )
    await tend(client)
    const { winner, loser } = (await client.get('/grid/v2/merges')).body.data[0]
    await load(client, snapshot('MRI'), `${HEAD}901,More,R-3,\n`, '2026-02-01')
    expect((await client.get(`/parties/${winner}`)).body).toMatchObject({
      legal_name: 'Harrow',
      website: null,
      archived_at: null,
    })
    await load(client, snapshot('Yardi'), `${HEAD}t2,Else,R-2,\n`, '2026-02-01')
    const { archived_at } = (await client.get(`/parties/${loser}`)).body
    expect(archived_at).not.toBeNull()
  })

  it('is put to a person where several have the identifier', async () => {
    const client = await newOrganization()
    for (const name of ['First', 'Second'])
      await client.post('/parties', {
        kind: 'company',
        legal_name: name,
        registration_number: 'R-7',
      })
    await load(client, parties('Yardi'), `${HEAD}t1,Third,R 7,\n`)
    await tend(client)
    const open = await candidates(client)
    expect(open).toMatchObject([
      { state: 'open', rule: 'identifier', score: 0.95 },
      { state: 'open', rule: 'identifier', score: 0.95 },
    ])
    expect(await names(client)).toEqual(['First', 'Second', 'Third'])
  })

  it('stays two where one source lists both', async () => {
    const client = await newOrganization()
    await load(
      client,
      parties('Yardi'),
      `${HEAD}t1,Harrow & Pine,R-5,\nt2,Harrow & Pine,R-5,\n`,
      '2026-01-01',
    )
    await tend(client)
    expect(await names(client)).toHaveLength(2)
    expect(await candidates(client)).toEqual([])
    const [a, b] = (await client.get('/parties')).body.data.map(({ id }: { id: string }) => id)
    const refused = await client.post('/grid/v2/merges', { winner: a, loser: b })
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'same_source', source: 'Yardi', stream: 'tenants' },
    })
    const forced = await client.post('/grid/v2/merges', { winner: a, loser: b, force: true })
    expect(forced.status).toBe(201)
    // Two rows of one file that are one object change it once.
    const job = await load(
      client,
      parties('Yardi'),
      `${HEAD}t1,Harrow,R-5,\nt2,Pine,R-5,https://p.example\n`,
      '2026-02-01',
    )
    expect(job).toMatchObject({ state: 'completed' })
    const later = await client.get(`/parties/${b}`)
    expect(later.body).toMatchObject({ legal_name: 'Harrow', website: 'https://p.example' })
  })

  it('refers to what is one by now, whoever loads it', async () => {
    const client = await newOrganization()
    const property = await client.post('/properties', { ...samples.property(), code: 'HP-1' })
    const places = (source: string): string =>
      adapterOf(
        {
          name: 'properties',
          type: 'property',
          key: 'row.Code',
          map: {
            name: 'row.Name',
            code: 'row.Code',
            property_type: `'office'`,
            status: `'owned'`,
          },
        },
        { adapter: source.toLowerCase(), source: { name: source } },
      )
    await load(client, places('Yardi'), 'Code,Name\nhp 1,Harbor Point\n')
    const buildings = adapterOf(
      {
        map: { name: 'row.Name', code: 'row.Code', rentable_area: 'row.Area' },
        resolve: { property_id: { type: 'property', stream: 'properties', value: 'row.Property' } },
      },
      { adapter: 'yardi', source: { name: 'Yardi' } },
    )
    await load(client, buildings, 'Code,Name,Area,Property\nA,Tower A,1000,hp 1\n')
    await tend(client)
    const { body } = await client.get(`/buildings?property_id=${property.body.id}`)
    expect(body.data).toMatchObject([{ name: 'Tower A', property_id: property.body.id }])
    await load(
      client,
      buildings,
      'Code,Name,Area,Property\nA,Tower A,1000,hp 1\nB,Tower B,500,hp 1\n',
    )
    const after = await client.get(`/buildings?property_id=${property.body.id}&sort=name`)
    expect(after.body.data.map(({ name }: { name: string }) => name)).toEqual([
      'Tower A',
      'Tower B',
    ])
  })
})

describe('the review queue', () => {
  /** Two parties that may be one, found by a run over all. */
  async function doubtful(): Promise<{ client: TestClient; id: string; objects: string[] }> {
    const client = await newOrganization()
    const objects: string[] = []
    for (const legal_name of ['Northwind Logistics LLC', 'Northwind Logistic'])
      objects.push((await client.post('/parties', { kind: 'company', legal_name })).body.id)
    const run = await client.post('/grid/v2/match-runs', { type: 'party' })
    expect(run).toMatchObject({
      status: 202,
      body: { type: 'party', state: 'queued', job_id: null },
    })
    await tend(client)
    const done = await client.get(`/grid/v2/match-runs/${run.body.id}`)
    expect(done.body).toMatchObject({ state: 'completed', counts: { compared: 2, merged: 0 } })
    const [candidate] = await candidates(client, '&type=party')
    return { client, id: candidate.id, objects }
  }

  it('says why both may be one, comparison by comparison', async () => {
    const { client, id, objects } = await doubtful()
    const { body } = await client.get(`/grid/v2/match-candidates/${id}`)
    expect(body).toMatchObject({ objects, rule: 'fuzzy', state: 'open', merge_id: null })
    expect(body.score).toBeGreaterThanOrEqual(0.8)
    expect(body.score).toBeLessThan(0.98)
    const [name] = body.evidence
    expect(name).toMatchObject({ comparison: 'name', level: 'close' })
    expect(name.weight).toBeGreaterThan(0)
  })

  it('merges what is accepted, into the one chosen', async () => {
    const { client, id, objects } = await doubtful()
    const [first, second] = objects as [string, string]
    const wrong = await client.post(`/grid/v2/match-candidates/${id}/accept`, { winner: 'pty_1' })
    expect(wrong).toMatchObject({ status: 422, body: { errors: [{ field: 'winner' }] } })
    const body = { winner: second, reason: 'Same tax number' }
    const accepted = await client.post(`/grid/v2/match-candidates/${id}/accept`, body)
    expect(accepted).toMatchObject({
      status: 200,
      body: { state: 'accepted', decided_by: { type: 'api_key' } },
    })
    const merge = await client.get(`/grid/v2/merges/${accepted.body.merge_id}`)
    expect(merge.body).toMatchObject({
      winner: second,
      loser: first,
      rule: 'review',
      reason: 'Same tax number',
    })
    expect(merge.body.evidence).toEqual(accepted.body.evidence)
    for (const verb of ['accept', 'reject'])
      expect(await client.post(`/grid/v2/match-candidates/${id}/${verb}`, {})).toMatchObject({
        status: 409,
        body: { code: 'conflict' },
      })
  })

  it('keeps apart what is rejected, and does not ask again', async () => {
    const { client, id, objects } = await doubtful()
    const [winner, loser] = objects
    const rejected = await client.post(`/grid/v2/match-candidates/${id}/reject`, {
      reason: 'Sisters',
    })
    expect(rejected).toMatchObject({ status: 200, body: { state: 'rejected', merge_id: null } })
    expect((await client.get('/grid/v2/do-not-link')).body.data).toMatchObject([
      { objects, reason: 'Sisters' },
    ])
    expect(await client.post('/grid/v2/merges', { winner, loser })).toMatchObject({ status: 409 })
    await client.post('/grid/v2/match-runs', { type: 'party' })
    await tend(client)
    expect(await candidates(client)).toEqual([])
    expect(await candidates(client, '&state=rejected')).toHaveLength(1)
  })

  it('closes what was merged by other ways, and is not seen by others', async () => {
    const { client, id, objects } = await doubtful()
    const other = await newOrganization()
    for (const [method, path] of [
      ['get', `/grid/v2/match-candidates/${id}`],
      ['post', `/grid/v2/match-candidates/${id}/accept`],
      ['post', `/grid/v2/match-candidates/${id}/reject`],
    ] as const)
      expect((await other[method](path, {})).status).toBe(404)
    expect(await candidates(other)).toEqual([])
    const [winner, loser] = objects
    await client.post('/grid/v2/merges', { winner, loser })
    expect((await client.get(`/grid/v2/match-candidates/${id}`)).body.state).toBe('accepted')
  })
})

describe('findByIdentifier', () => {
  it('finds the objects that have a value, by its plain form', async () => {
    const client = await newOrganization()
    const make = async (body: object): Promise<number> =>
      Number(
        (
          await client.post('/parties', { kind: 'company', legal_name: 'A', ...body })
        ).body.id.slice(4),
      )
    const a = await make({ registration_number: 'HRB 1-2' })
    const b = await make({
      registration_number: 'hrb12',
      external_ids: [{ system: 'mri', id: 'a:b' }],
    })
    await make({})
    const { db } = await grid()
    const find = (field: string, values: string[]): Promise<Map<string, number[]>> =>
      findByIdentifier(db, client.org_id, party, field, values)
    expect(await find('registration_number', ['HRB.12', 'HRB 13'])).toEqual(
      new Map([['HRB.12', [a, b]]]),
    )
    expect(await find('external_ids', ['mri:a:b', 'mri:x'])).toEqual(new Map([['mri:a:b', [b]]]))
    await expect(find('no_such_field', ['x'])).rejects.toThrow('no text field')
  })
})
