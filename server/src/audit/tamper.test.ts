/** Whoever has the database or an export in hand and changes it is found out, with the place. */
import { createHash, generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sealAll, tamper } from '../../test/audit.ts'
import { grid, newOrganization, owner } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { commands } from '../commands.ts'
import { record } from '../kit/record.ts'
import { canonical } from './canonical.ts'
import { entryHash, signed } from './chain.ts'
import { auditKey, keyId } from './key.ts'
import type { AuditKey } from './key.ts'
import { auditsDue, DIGEST_SQL } from './seal-queries.ts'
import { sealAudit } from './sealer.ts'
import { verifyFile } from './verify-file.ts'

const ACTOR = { type: 'system', id: null, name: 'Test', request_id: null } as const

/** An organization whose chain has the given length, with a checkpoint at every 1,000. */
async function chained(length: number): Promise<TestClient> {
  const client = await newOrganization()
  const { db } = await grid()
  const happenings = Array.from({ length: length - 2 }, (_, i) => ({
    type: 'key.seen',
    object_type: 'api_key',
    object_id: i + 1,
    object: null,
    details: { n: i + 1 },
  }))
  await db.transaction(client.org_id, async (tx) => {
    await record(tx, client.org_id, ACTOR, happenings)
  })
  await sealAll(client)
  return client
}

async function verification(client: TestClient, query = ''): Promise<object> {
  const { status, body } = await client.get(`/audit-logs/verify${query}`)
  expect(status).toBe(200)
  return body
}

/** Computes the chain of an organization anew from a position on, as a forger without the key would. */
async function rehash(org_id: number, from: number): Promise<void> {
  const client = await owner()
  const { rows } = await client.query<{ position: string; hash: Buffer; body: string }>(
    'select position, hash, body from audit_seal where org_id = $1 order by position',
    [org_id],
  )
  await client.end()
  let previous = Buffer.alloc(32)
  const hashes = rows.map(({ position, hash, body }) => {
    previous = Buffer.from(Number(position) < from ? hash : entryHash(previous, body))
    return previous.toString('hex')
  })
  await tamper([
    `update audit_seal s set hash = decode(h.hash, 'hex') from unnest($2::text[]) with ordinality h(hash, position)
     where s.org_id = $1 and s.position = h.position`,
    [org_id, hashes],
  ])
}

describe('a chain in the database', () => {
  const SEAL = `update audit_seal set body = replace(body, '"n":40', '"n":41') where org_id = $1 and position = 42`
  const swap = `update audit_seal s set body = o.body, hash = o.hash from audit_seal o
    where s.org_id = $1 and o.org_id = $1 and (s.position, o.position) in ((42, 43), (43, 42))`
  const entry = (change: string): string =>
    `${change} where org_id = $1 and (tx_id, n) in (select tx_id, n from audit_seal where org_id = $1 and position = 42)`

  test.each([
    ['an edited entry', SEAL, 42, 'changed'],
    [
      'an edited column',
      `update audit_seal set action = 'x' where org_id = $1 and position = 42`,
      42,
      'changed',
    ],
    [
      'a body that is no JSON any more',
      `update audit_seal set body = 'x' where org_id = $1 and position = 42`,
      42,
      'changed',
    ],
    [
      'a deleted entry',
      'delete from audit_seal where org_id = $1 and position = 42',
      42,
      'missing',
    ],
    [
      'several deleted entries',
      'delete from audit_seal where org_id = $1 and position between 42 and 44',
      42,
      'missing',
    ],
    ['two entries changed over', swap, 42, 'moved'],
    ['a cut tail', 'delete from audit_seal where org_id = $1 and position >= 42', 42, 'truncated'],
    ['a cut head', 'delete from audit_seal where org_id = $1 and position <= 42', 1, 'missing'],
    ['a deleted row', entry('delete from audit_entry'), 42, 'entry_missing'],
    ['an edited row', entry(`update audit_entry set details = '{}'`), 42, 'entry_changed'],
  ])('shows %s', async (_, sql, position, reason) => {
    const client = await chained(60)
    expect(await verification(client)).toMatchObject({ ok: true, entries: 60, fault: null })
    await tamper([sql, [client.org_id]])
    expect(await verification(client)).toMatchObject({ ok: false, fault: { position, reason } })
  })

  test('that is long is verified in ranges too, and a fault stays in its range', async () => {
    const client = await chained(2_500)
    expect(await verification(client)).toMatchObject({ ok: true, entries: 2_500, checkpoints: 2 })
    await tamper([SEAL, [client.org_id]])
    expect(await verification(client)).toMatchObject({ fault: { position: 42 } })
    const range = '?from=1500&to=2200'
    expect(await verification(client, range)).toMatchObject({
      ok: true,
      entries: 701,
      checkpoints: 1,
      first_position: 1500,
      last_position: 2200,
    })
  })

  test('that was computed anew as a whole is told by its signatures', async () => {
    const client = await chained(1_200)
    await tamper([SEAL, [client.org_id]])
    await tamper([
      `update audit_entry a set details = '{"n": 41}' from audit_seal s where a.org_id = $1 and s.org_id = $1
         and s.position = 42 and (a.tx_id, a.n) = (s.tx_id, s.n)`,
      [client.org_id],
    ])
    await tamper([
      `update audit_seal s set source_digest = ${DIGEST_SQL} from audit_entry a where a.org_id = $1 and s.org_id = $1
         and (a.tx_id, a.n) = (s.tx_id, s.n)`,
      [client.org_id],
    ])
    await rehash(client.org_id, 42)
    expect(await verification(client)).toMatchObject({
      ok: false,
      entries: 1_200,
      fault: { position: 1_000, reason: 'rewritten' },
    })
  })

  test('whose head was cut at a checkpoint is not taken for one that was dropped by age', async () => {
    const client = await chained(1_200)
    const sql = 'delete from audit_seal where org_id = $1 and position <= 1000'
    await tamper([sql, [client.org_id]])
    expect(await verification(client)).toMatchObject({ fault: { position: 1, reason: 'missing' } })
  })

  test('that is quiet is signed within an hour, to its end', async () => {
    const client = await chained(5)
    const checkpoints = async (): Promise<{ position: number }[]> =>
      (await client.get('/audit-logs/checkpoints')).body.data
    expect(await checkpoints()).toEqual([])
    await tamper([
      `update audit_head set unsigned_since = now() - interval '61 minutes' where org_id = $1`,
      [client.org_id],
    ])
    const { app, db } = await grid()
    expect(await auditsDue(db, 1_000_000)).toContain(client.org_id)
    await sealAudit(db, await auditKey(app.config), client.org_id)
    expect(await auditsDue(db, 1_000_000)).not.toContain(client.org_id)
    expect(await checkpoints()).toMatchObject([{ position: 5, object: 'audit_checkpoint' }])
    await sealAll(client)
    expect(await checkpoints()).toHaveLength(1)
    expect(await verification(client)).toMatchObject({ ok: true, checkpoints: 1 })
  })

  test('whose tail was cut behind the head is told by a checkpoint', async () => {
    const client = await chained(1_000)
    await tamper(
      ['delete from audit_seal where org_id = $1 and position > 900', [client.org_id]],
      ['update audit_head set position = 900 where org_id = $1', [client.org_id]],
    )
    expect(await verification(client)).toMatchObject({
      fault: { position: 901, reason: 'truncated' },
    })
  })

  test('whose checkpoints were forged is told by their signatures and keys', async () => {
    const client = await chained(1_000)
    const forger = generateKeyPairSync('ed25519')
    const { x = '' } = forger.publicKey.export({ format: 'jwk' })
    const key = {
      private: forger.privateKey,
      public: Buffer.from(x, 'base64url').toString('base64'),
    }
    const [checkpoint] = (await client.get('/audit-logs/checkpoints')).body.data
    const { key_id: _, public_key: __, signature: ___, ...statement } = checkpoint
    const forged = signed(key, statement)
    const update = `update audit_checkpoint set signature = decode($2, 'base64') where org_id = $1`
    await tamper([update, [client.org_id, forged.signature]])
    expect(await verification(client)).toMatchObject({
      fault: { position: 1_000, reason: 'bad_signature' },
    })
    const replace = `update audit_checkpoint set public_key = decode($2, 'base64') where org_id = $1`
    await tamper([replace, [client.org_id, key.public]])
    expect(await verification(client)).toMatchObject({
      fault: { position: 1_000, reason: 'unknown_key' },
    })
  })
})

describe('an exported file', () => {
  let folder: string
  let key: AuditKey
  let lines: string[]

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grid-audit-'))
    const { app } = await grid()
    key = await auditKey(app.config)
    const client = await chained(2_100)
    lines = (await client.get('/audit-logs/export')).body.trimEnd().split('\n')
  })
  afterAll(async () => await rm(folder, { recursive: true }))

  async function verified(
    changed: readonly string[],
    trusted: readonly string[] | null = null,
  ): ReturnType<typeof verifyFile> {
    const path = join(folder, 'export.ndjson')
    await writeFile(path, changed.map((line) => `${line}\n`).join(''))
    return await verifyFile(path, trusted)
  }

  /** The file with line `at` (the entry of that position) replaced. */
  const edited = (at: number): string[] =>
    lines.with(at, (lines[at] as string).replace(`"n":${at - 2}`, '"n":0'))

  /** Entries with new hashes from a position on; what is signed stays. */
  function rehashed(from: number): string[] {
    let previous = Buffer.alloc(32)
    return edited(from).map((line) => {
      if (line.startsWith('{"object":"audit_')) return line
      const { hash, ...entry } = JSON.parse(line)
      previous = Buffer.from(
        entry.position < from ? Buffer.from(hash, 'hex') : entryHash(previous, canonical(entry)),
      )
      return JSON.stringify({ ...entry, hash: previous.toString('hex') })
    })
  }

  test('that nobody changed is fine, with and without a key to trust', async () => {
    const fine = { ok: true, entries: 2_100, checkpoints: 2, keys: [key.public], fault: null }
    expect(await verified(lines)).toMatchObject(fine)
    expect(await verified(lines, [key.public])).toMatchObject(fine)
    expect(await verified(lines, ['AAAA'])).toMatchObject({
      ok: false,
      fault: { line: 1, reason: 'unknown_key' },
    })
  })

  const cases: [
    string,
    () => string[],
    { line: number; position: number | null; reason: string },
  ][] = [
    ['an edited entry', () => edited(42), { line: 43, position: 42, reason: 'changed' }],
    [
      'a deleted entry',
      () => lines.toSpliced(42, 1),
      { line: 43, position: 42, reason: 'missing' },
    ],
    [
      'two entries changed over',
      () => lines.with(42, lines[43] as string).with(43, lines[42] as string),
      { line: 43, position: 42, reason: 'moved' },
    ],
    [
      'an entry shown twice',
      () => lines.toSpliced(42, 0, lines[42] as string),
      { line: 44, position: 42, reason: 'moved' },
    ],
    [
      'a cut tail',
      () => [...lines.slice(0, 2_051), ...lines.slice(-2)],
      { line: 2_051, position: 2_051, reason: 'truncated' },
    ],
    [
      'a tail cut with its checkpoints, at a checkpoint',
      () => [...lines.slice(0, 1_001), lines.at(-2) as string],
      { line: 1_001, position: 1_001, reason: 'truncated' },
    ],
    [
      'a chain computed anew',
      () => rehashed(1_500),
      { line: 2_001, position: 2_000, reason: 'rewritten' },
    ],
    [
      'a chain computed anew behind the last checkpoint',
      () => rehashed(2_050),
      { line: 2_101, position: 2_100, reason: 'rewritten' },
    ],
    [
      'an edited checkpoint',
      () => lines.with(2_102, (lines[2_102] as string).replace('"hash":"', '"hash":"0')),
      { line: 2_103, position: 2_000, reason: 'bad_signature' },
    ],
    [
      'an edited head',
      () => lines.with(0, (lines[0] as string).replace('2100', '2099')),
      { line: 1, position: null, reason: 'bad_signature' },
    ],
    ['no head', () => lines.slice(1), { line: 1, position: null, reason: 'no_head' }],
    [
      'a broken line',
      () => lines.with(42, (lines[42] as string).slice(0, 50)),
      { line: 43, position: 42, reason: 'unreadable' },
    ],
  ]
  test.each(cases)('shows %s', async (_, change, fault) => {
    expect(await verified(change())).toMatchObject({ ok: false, fault })
  })

  test('is verified by the command, which needs no database', async () => {
    const path = join(folder, 'given.ndjson')
    const command = commands['audit verify']
    await writeFile(path, lines.join('\n'))
    expect(await command?.run({ key: key.public }, [path])).toBe(0)
    await writeFile(path, edited(42).join('\n'))
    expect(await command?.run({}, [path])).toBe(1)
  })
})

describe('the key', () => {
  test('is made once, for its owner alone, and named by its hash', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'grid-key-'))
    const settings = { GRID_AUDIT_KEY: null, GRID_DATA_DIR: join(folder, 'data') }
    const made = await Promise.all(Array.from({ length: 5 }, async () => await auditKey(settings)))
    expect(new Set(made.map((one) => one.public)).size).toBe(1)
    const path = join(folder, 'data', 'audit.key')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const given = { ...settings, GRID_AUDIT_KEY: await readFile(path, 'utf8') }
    expect((await auditKey(given)).public).toBe(made[0]?.public)
    const bytes = Buffer.from(made[0]?.public ?? '', 'base64')
    expect(bytes.length).toBe(32)
    expect(keyId(made[0]?.public ?? '')).toBe(
      createHash('sha256').update(bytes).digest('hex').slice(0, 16),
    )
    await rm(folder, { recursive: true })
  })

  test('that cannot be read is refused with the setting’s name', async () => {
    const settings = { GRID_AUDIT_KEY: 'no key', GRID_DATA_DIR: '/nowhere' }
    await expect(auditKey(settings)).rejects.toThrow(/GRID_AUDIT_KEY must hold an ed25519 key/)
  })
})
