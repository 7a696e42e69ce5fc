/** Merging and unmerging through the API: what it changes, what it refuses, and that taking it back leaves no trace. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { grid, newOrganization } from '../../test/grid.ts'
import type { Answer } from '../../test/grid.ts'
import { checkOrganization } from '../../test/consistency.ts'
import { leaseParents, samples } from '../../test/samples.ts'
import { headsNamed } from '../kit/cluster-queries.ts'
import { deployed, newLease } from '../schema/schema-fixture.ts'
import { merged, newParty, standing, tend } from './merge-fixture.ts'

describe('a merge', () => {
  it('gives the winner the claims of both, and the old id leads to it', async () => {
    const client = await newOrganization()
    const a = await newParty(client, 'Harrow & Pine LLP', { website: 'https://harrow.example' })
    const b = await newParty(client, 'Harrow and Pine', {
      ticker: 'HPLG',
      external_ids: [{ system: 'mri', id: 'T-9' }],
    })
    const body = { winner: a, loser: b, reason: 'Two spellings' }
    const answer = await client.post('/grid/v2/merges', body)
    expect(answer).toMatchObject({
      status: 201,
      body: {
        object: 'merge',
        type: 'party',
        winner: a,
        loser: b,
        state: 'merged',
        rule: 'manual',
        score: null,
        reason: 'Two spellings',
        unmerged_at: null,
        actor: { type: 'api_key' },
      },
    })
    const { id } = answer.body
    expect(answer.headers.get('location')).toBe(`/api/v1/grid/v2/merges/${id}`)

    const winner = await client.get(`/parties/${a}`)
    expect(winner.body).toMatchObject({
      id: a,
      legal_name: 'Harrow & Pine LLP',
      website: 'https://harrow.example',
      ticker: 'HPLG',
      external_ids: [{ system: 'mri', id: 'T-9' }],
    })
    const old = await client.get(`/parties/${b}`)
    expect(old).toMatchObject({ status: 200, body: winner.body })
    expect(old.headers.get('content-location')).toBe(`/api/v1/parties/${a}`)
    expect(old.headers.get('etag')).toBe(winner.headers.get('etag'))
    expect((await client.get(`/grid/v2/objects/${b}`)).body).toMatchObject({
      id: a,
      merged_into: a,
      members: [a, b],
    })
    expect((await client.get('/parties')).body.data.map((p: { id: string }) => p.id)).toEqual([a])
    expect((await client.get('/parties?external_id=mri:T-9')).body.data).toMatchObject([{ id: a }])
    expect((await client.get(`/grid/v2/merges/${id}`)).body).toEqual(answer.body)
  })

  it("is followed by fields of the organization's own, and by nothing that has the same digits", async () => {
    const client = await newOrganization()
    await deployed(client, 'add a filterable link to a party called broker on leases')
    const [winner, loser] = [await newParty(client, 'A'), await newParty(client, 'B')]
    const first = await newLease(client, { ext: { broker: loser } })
    const path = `/leases/${first.body.id}`
    const brokerOf = async (): Promise<string> => (await client.get(path)).body.ext.broker
    const merge = await merged(client, winner, loser)
    await tend(client)
    expect(await brokerOf()).toBe(winner)
    expect((await client.get(`/leases?ext.broker=${winner}`)).body.data).toHaveLength(1)
    await client.patch(path, { name: 'Kept' })
    expect(await brokerOf()).toBe(winner)
    const second = await newLease(client, { ext: { broker: loser } })
    expect(second).toMatchObject({ status: 201, body: { ext: { broker: winner } } })
    expect(await checkOrganization(client.org_id)).toEqual([])

    const { db } = await grid()
    const other = loser.replace('pty', 'chg')
    expect(await headsNamed(db, client.org_id, new Set([other]))).toEqual(new Map())
    const both = await headsNamed(db, client.org_id, new Set([loser, other]))
    expect(both).toEqual(new Map([[loser, winner]]))

    await client.delete(`/grid/v2/merges/${merge}`)
    await tend(client)
    expect(await brokerOf()).toBe(loser)
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('shows whose claim each is, to whichever id is asked', async () => {
    const client = await newOrganization()
    const a = await newParty(client, 'Harrow & Pine LLP')
    const b = await newParty(client, 'Harrow and Pine', { ticker: 'HPLG' })
    await merged(client, a, b)
    for (const id of [a, b]) {
      const provenance = await client.get(`/grid/v2/objects/${id}/provenance`)
      expect(provenance.body.fields.ticker).toMatchObject({ value: 'HPLG', member_id: b })
      expect(provenance.body.fields.legal_name.member_id).toBeUndefined()
      const conflicts = await client.get(`/grid/v2/objects/${id}/conflicts?field=legal_name`)
      expect(conflicts.body.data).toMatchObject([
        {
          winner: { value: 'Harrow & Pine LLP' },
          others: [{ value: 'Harrow and Pine', member_id: b }],
        },
      ])
      const facts = await client.get(`/grid/v2/objects/${id}/facts?field=ticker`)
      expect(facts.body.data).toMatchObject([{ status: 'current', member_id: b }])
      const timeline = await client.get(`/grid/v2/objects/${id}/timeline?field=ticker`)
      expect(timeline.body.data).toMatchObject([{ value: 'HPLG', to: null, member_id: b }])
    }
    const today = new Date().toISOString().slice(0, 10)
    const then = await client.get(`/parties?as_of=${today}`)
    expect(then.body.data).toMatchObject([{ id: a, ticker: 'HPLG' }])
  })

  it('moves references, those inside of lists in the background, and takes them back', async () => {
    const client = await newOrganization()
    const { property_id, tenant_party_id: a } = await leaseParents(client)
    const b = await newParty(client, 'Acme Legal')
    const parties = [{ party_id: b, role: 'guarantor' }]
    const lease = { ...samples.lease(property_id, b), parties }
    const { body: before } = await client.post('/leases', lease)
    const { body: contact } = await client.post('/contacts', samples.contact(b))
    const path = `/leases/${before.id}`
    const first = await standing(client, path)
    const id = await merged(client, a, b)
    expect((await client.get(`/leases?tenant_party_id=${a}`)).body.data).toHaveLength(1)
    expect((await client.get(`/contacts/${contact.id}`)).body.party_id).toBe(a)
    await tend(client)
    expect((await client.get(`${path}?expand=tenant`)).body).toMatchObject({
      tenant_party_id: a,
      tenant: { id: a },
      parties: [{ party_id: a }],
    })
    const facts = await client.get(`/grid/v2/objects/${before.id}/relations?field=tenant_party_id`)
    expect(facts.body.data).toMatchObject([{ direction: 'outgoing', object_id: a }])

    expect((await client.delete(`/grid/v2/merges/${id}`)).status).toBe(204)
    expect((await client.get(path)).body.tenant_party_id).toBe(b)
    await tend(client)
    expect(await standing(client, path)).toEqual(first)
    expect((await client.get(`/contacts/${contact.id}`)).body.party_id).toBe(b)
  })

  it('takes bodies that still name the loser as naming the winner', async () => {
    const client = await newOrganization()
    const { property_id, tenant_party_id: a } = await leaseParents(client)
    const b = await newParty(client, 'Acme Legal')
    await merged(client, a, b)
    const made = await client.post('/leases', samples.lease(property_id, b))
    expect(made).toMatchObject({ status: 201, body: { tenant_party_id: a } })
    const landlord = { landlord_party_id: b }
    const patched = await client.patch(`/leases/${made.body.id}`, landlord)
    expect(patched).toMatchObject({ status: 200, body: { landlord_party_id: a } })
    const renamed = await client.patch(`/parties/${b}`, { dba_name: 'Acme' })
    expect(renamed).toMatchObject({ status: 200, body: { id: a, dba_name: 'Acme' } })
    expect((await client.delete(`/parties/${b}`)).status).toBe(404)
  })

  it('is told as events, in the audit log and in the change feed', async () => {
    const client = await newOrganization()
    const a = await newParty(client, 'A')
    const b = await newParty(client, 'B')
    const id = await merged(client, a, b)
    await client.delete(`/grid/v2/merges/${id}`)
    const { db } = await grid()
    const types = await db.query<{ type: string; object_id: string }>(
      client.org_id,
      `select type, object_id from event where org_id = $1 and tx_id > (select max(tx_id) from event where org_id = $1 and type = 'party.created')
       order by tx_id, n`,
      [client.org_id],
    )
    expect(types.map(({ type }) => type)).toEqual([
      'party.deleted',
      'party.updated',
      'object.merged',
      'party.updated',
      'party.updated',
      'object.unmerged',
    ])
    const audited = await db.query<{ action: string }>(
      client.org_id,
      `select action from audit_entry where org_id = $1 and object_type in ('merge', 'do_not_link') order by tx_id, n`,
      [client.org_id],
    )
    expect(audited.map(({ action }) => action)).toEqual([
      'object.merged',
      'object.unmerged',
      'do_not_link.created',
    ])
  })

  it('is done once per idempotency key', async () => {
    const client = await newOrganization()
    const [winner, loser] = [await newParty(client, 'A'), await newParty(client, 'B')]
    const send = async (): Promise<Answer> =>
      await client.post('/grid/v2/merges', { winner, loser }, { 'idempotency-key': 'm1' })
    const first = await send()
    const second = await send()
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body).toEqual(first.body)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
  })
})

describe('a chain of merges', () => {
  it('stands at its end, and each is taken back by itself', async () => {
    const client = await newOrganization()
    const names = ['A', 'B', 'C', 'D']
    const [a, b, c, d] = (await Promise.all(
      names.map(async (name, i) => await newParty(client, name, { phones: [`+1 ${i}`] })),
    )) as [string, string, string, string]
    const before = await Promise.all([a, b, c, d].map((id) => standing(client, `/parties/${id}`)))
    const first = await merged(client, b, c)
    const second = await merged(client, a, b)
    // Into one that was merged itself: into the one that stands for it.
    const third = await client.post('/grid/v2/merges', { winner: c, loser: d })
    expect(third).toMatchObject({ status: 201, body: { winner: a, loser: d } })
    for (const id of [b, c, d]) expect((await client.get(`/parties/${id}`)).body.id).toBe(a)
    await client.delete(`/grid/v2/merges/${second}`)
    expect((await client.get(`/parties/${c}`)).body.id).toBe(b)
    expect((await client.get(`/parties/${d}`)).body.id).toBe(a)
    await client.delete(`/grid/v2/merges/${first}`)
    await client.delete(`/grid/v2/merges/${third.body.id}`)
    const after = await Promise.all([a, b, c, d].map((id) => standing(client, `/parties/${id}`)))
    expect(after).toEqual(before)
  })
})

describe('an unmerge', () => {
  it('keeps both apart until the pair is deleted', async () => {
    const client = await newOrganization()
    const [winner, loser] = [await newParty(client, 'A'), await newParty(client, 'B')]
    const id = await merged(client, winner, loser)
    expect((await client.delete(`/grid/v2/merges/${id}`)).status).toBe(204)
    expect((await client.get(`/grid/v2/merges/${id}`)).body).toMatchObject({ state: 'unmerged' })
    expect(await client.delete(`/grid/v2/merges/${id}`)).toMatchObject({ status: 409 })
    const again = await client.post('/grid/v2/merges', { winner, loser })
    expect(again).toMatchObject({ status: 409, body: { code: 'do_not_link' } })
    const { body } = await client.get('/grid/v2/do-not-link')
    expect(body.data).toMatchObject([{ objects: [winner, loser], reason: 'unmerged' }])
    expect((await client.delete(`/grid/v2/do-not-link/${body.data[0].id}`)).status).toBe(204)
    expect((await client.delete(`/grid/v2/do-not-link/${body.data[0].id}`)).status).toBe(404)
    await merged(client, winner, loser)
  })

  it('is possible after the winner was deleted', async () => {
    const client = await newOrganization()
    const [a, b] = [await newParty(client, 'A'), await newParty(client, 'B')]
    const id = await merged(client, a, b)
    expect((await client.delete(`/parties/${a}`)).status).toBe(204)
    expect((await client.get(`/parties/${b}`)).status).toBe(404)
    expect((await client.delete(`/grid/v2/merges/${id}`)).status).toBe(204)
    expect((await client.get(`/parties/${b}`)).body).toMatchObject({ id: b, deleted_at: null })
    expect((await client.get(`/parties/${a}`)).status).toBe(404)
  })

  it('leaves what was written to the winner with the winner', async () => {
    const client = await newOrganization()
    const [a, b] = [await newParty(client, 'A'), await newParty(client, 'B', { ticker: 'B' })]
    const id = await merged(client, a, b)
    const patched = await client.patch(`/parties/${a}`, {
      ticker: 'AB',
      website: 'https://a.example',
    })
    expect(patched.body).toMatchObject({ ticker: 'AB' })
    await client.delete(`/grid/v2/merges/${id}`)
    expect((await client.get(`/parties/${a}`)).body).toMatchObject({ ticker: 'AB' })
    expect((await client.get(`/parties/${b}`)).body).toMatchObject({ ticker: 'B', website: null })
  })

  it(
    'after a merge is as if nothing had been, whatever the two are',
    { timeout: 60_000 },
    async () => {
      const client = await newOrganization()
      const word = fc.constantFrom('Harrow', 'Pine', 'Acme', 'Nordström', 'A&B')
      const body = fc.record(
        {
          kind: fc.constantFrom('company', 'person', 'fund'),
          legal_name: word,
          display_name: word,
          roles: fc.uniqueArray(fc.constantFrom('tenant', 'vendor', 'owner'), { maxLength: 3 }),
          addresses: fc.array(
            fc.record({
              type: fc.constantFrom('notice', 'legal'),
              line1: word,
              country: fc.constant('US'),
            }),
            { maxLength: 2 },
          ),
          vendor: fc.record({ trades: fc.uniqueArray(word, { maxLength: 2 }) }),
          is_public: fc.boolean(),
          tags: fc.uniqueArray(word, { maxLength: 2 }),
          tax_id: fc.constantFrom('36-4019274', '12-3456789'),
        },
        { requiredKeys: ['kind', 'legal_name'] },
      )
      const patch = fc.record(
        { display_name: fc.option(word), is_public: fc.option(fc.boolean()), credit_rating: word },
        { requiredKeys: [] },
      )
      const step = fc.record({ body, patches: fc.array(patch, { maxLength: 2 }) })
      let serial = 0
      await fc.assert(
        fc.asyncProperty(step, step, async (x, y) => {
          const ids: string[] = []
          for (const { body: input, patches } of [x, y]) {
            const external_ids = [{ system: 's', id: String(serial++) }]
            const made = await client.post('/parties', { ...input, external_ids })
            expect(made.status, JSON.stringify(made.body)).toBe(201)
            for (const change of patches) await client.patch(`/parties/${made.body.id}`, change)
            ids.push(made.body.id)
          }
          const [a, b] = ids as [string, string]
          const before = await Promise.all(ids.map((id) => standing(client, `/parties/${id}`)))
          const id = await merged(client, a, b)
          expect((await client.get(`/parties/${a}`)).body.external_ids).toHaveLength(2)
          await client.delete(`/grid/v2/merges/${id}`)
          const after = await Promise.all(ids.map((id) => standing(client, `/parties/${id}`)))
          expect(after).toEqual(before)
          const found = await client.get(`/parties?external_id=s:${serial - 1}`)
          expect(found.body.data).toMatchObject([{ id: b }])
        }),
        { numRuns: 12 },
      )
    },
  )
})
