import { expect, it } from 'vitest'
import { newOrganization, grid } from './grid.ts'
import { faultsOf, operations } from './openapi.ts'
import { portfolio, samples } from './samples.ts'
it('x', async () => {
  const c = await newOrganization()
  const ids = await portfolio(c)
  const op = operations.find((o) => o.name === 'GET /leases')!
  const a = await c.get('/leases')
  console.log(a.status, faultsOf(op, a))
  a.body.data[0].rentable_area = 'x'
  delete a.body.data[0].version
  console.log(faultsOf(op, a))
  const tries: [string, string, unknown?][] = [
    ['POST', '/parties', { kind: 'company', legal_name: 'a\u0000b' }],
    ['POST', '/parties', { kind: 'company', legal_name: 'a\ud800b' }],
    [
      'POST',
      '/leases',
      { ...samples.lease(ids.property!, ids.party!), commencement_date: '0000-01-01' },
    ],
    [
      'POST',
      '/leases',
      { ...samples.lease(ids.property!, ids.party!), property_id: 'prop_99999999999999999' },
    ],
    [
      'POST',
      '/leases',
      {
        ...samples.lease(ids.property!, ids.party!),
        property_id: 'prop_000' + ids.property!.slice(5),
      },
    ],
    ['POST', '/leases', { ...samples.lease(ids.property!, ids.party!), ti_allowance: 1e21 }],
    ['POST', '/leases', { ...samples.lease(ids.property!, ids.party!), ti_allowance: '-0012.5' }],
    [
      'POST',
      '/work_orders',
      { ...samples.work_order(ids.property!), reported_at: '2026-06-30T23:59:60Z' },
    ],
    [
      'POST',
      '/work_orders',
      { ...samples.work_order(ids.property!), reported_at: '2026-06-30t23:59:50+02:00' },
    ],
    ['GET', '/floors?level_number=99999999999'],
    ['GET', '/floors?level_number=1.5'],
    ['GET', '/leases?q=%00'],
    ['GET', '/leases?external_id=a:%00'],
    ['GET', '/leases?tags[contains]=%00'],
    ['GET', '/leases?expiration_date=0000-01-01'],
    ['GET', '/leases?updated_at[gte]=2026-01-01T00:00:00'],
    ['GET', '/leases?as_of=0001-01-01'],
    ['GET', '/leases?as_of=9999-12-31'],
    ['GET', '/leases?known_at=9999-12-31T00:00:00Z'],
    ['GET', '/leases?known_at=0001-01-01T00:00:00Z'],
    ['GET', '/leases?q=%25%5C_'],
    ['GET', '/leases?property.name[contains]=Harbor'],
    ['GET', '/leases?tenant.legal_name=' + 'x'.repeat(2000)],
    ['GET', '/leases/le_%00'],
    ['GET', '/leases/le_1%2f'],
    ['GET', '/leases/%ff'],
    ['GET', '/leases?q=%ff'],
    ['GET', '/leases/le_0'],
    ['GET', '/leases/le_00012'],
    ['GET', '/leases/le_99999999999999999999999'],
    ['GET', '/leases?limit=0'],
    ['GET', '/leases?limit=201'],
    ['GET', '/leases?limit=1&limit=2'],
    ['GET', '/leases?fields='],
    ['GET', '/leases?sort='],
    ['GET', '/leases?expand=property.owner,tenant,spaces'],
    ['GET', '/leases?include=facts,total_count'],
    ['GET', '/leases?include=provenance&fields=id'],
    ['GET', '/leases?include=rollups'],
    ['GET', '/leases?pro_rata_share_pct[gte]=1e5'],
    ['GET', '/leases?id=' + ids.lease],
    ['GET', '/leases?id[in]=' + ids.lease + ',le_5'],
    ['GET', '/leases?__proto__=1'],
    ['GET', '/leases?constructor=1'],
    ['GET', '/leases?expand=constructor'],
    ['GET', '/leases?fields=constructor'],
    ['GET', '/leases?sort=constructor'],
    ['POST', '/parties', '{"kind":"company","legal_name":"x","__proto__":{"a":1}}'],
    ['POST', '/parties', '{"kind":"company","legal_name":"x","kind":"fund"}'],
    ['POST', '/parties', [1]],
    ['POST', '/parties', 'null'],
    ['PATCH', '/parties/' + ids.party, 'null'],
    ['PATCH', '/parties/' + ids.party, { legal_name: null }],
    ['PATCH', '/parties/' + ids.party, {}],
    [
      'POST',
      '/parties',
      {
        kind: 'company',
        legal_name: 'x',
        external_ids: [
          { system: 'a', id: '1' },
          { system: 'a', id: '1' },
        ],
      },
    ],
    ['POST', '/parties', { kind: 'company', legal_name: 'x', tags: ['a', 'a'] }],
    [
      'POST',
      '/parties',
      { kind: 'company', legal_name: 'x', external_ids: [{ system: 'a', id: '' }] },
    ],
    ['POST', '/spaces', { ...samples.space(ids.building!, ids.floor!), floor_ids: [] }],
    ['POST', '/properties', { ...samples.property(), address: { city: null } }],
    ['POST', '/properties', { ...samples.property(), address: {} }],
    ['PATCH', '/properties/' + ids.property, { address: { city: null } }],
    ['PATCH', '/properties/' + ids.property, { ownership: [{ party_id: 'pty_1', share_pct: 2 }] }],
    ['PATCH', '/leases/' + ids.lease, { percentage_rent: { rate_pct: 5 } }],
    ['PATCH', '/leases/' + ids.lease, { percentage_rent: { rate_pct: null } }],
    ['PATCH', '/leases/' + ids.lease, { percentage_rent: { nope: 1 } }],
    ['PATCH', '/leases/' + ids.lease, { status: 'active' }],
    ['PATCH', '/leases/' + ids.lease, { status: null }],
    ['DELETE', '/parties/' + ids.party],
    ['OPTIONS', '/parties'],
    ['HEAD', '/parties'],
    ['PUT', '/parties/' + ids.party, {}],
  ]
  const { base } = await grid()
  const lines: string[] = []
  for (const [m, p, b] of tries) {
    const r = await fetch(base + p, {
      method: m,
      headers: {
        'x-api-key': c.key,
        ...(b === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(b === undefined ? {} : { body: typeof b === 'string' ? b : JSON.stringify(b) }),
    })
    const t = await r.text()
    let why = ''
    try {
      const j = JSON.parse(t)
      why = r.status >= 400 ? JSON.stringify(j.errors ?? j.detail ?? j) : t
    } catch {
      why = 'RAW ' + t
    }
    lines.push(
      [
        r.status,
        m,
        p.slice(0, 80),
        JSON.stringify(b ?? '').slice(-90),
        why.slice(0, 240),
        r.headers.get('x-request-id') ? '' : 'NO REQUEST ID',
      ].join(' '),
    )
  }
  ;(await import('node:fs')).writeFileSync('/tmp/h/out.txt', lines.join('\n'))
})
