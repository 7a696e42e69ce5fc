/** Somebody with all rights on the database changes the sealed audit log. */
import { createHash } from 'node:crypto'
import type { Client } from 'pg'
import { DIGEST_SQL } from '../../server/src/audit/seal-queries.ts'
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { Service, until } from '../service.ts'
import { makeParties } from '../webhooks.ts'

const ENTRIES = 2_500

/** An entry in the middle, before the first signature. */
const PLACE = 42

/** What is done to the log, and the position the verification has to name. */
const tamperings: Record<
  string,
  { do: (owner: Client, org_id: number) => Promise<unknown>; found: number }
> = {
  'an entry edited': {
    do: async (owner, org_id) =>
      await owner.query(
        `update audit_seal set body = replace(body, 'Party', 'Petty') where org_id = $1 and position = ${PLACE}`,
        [org_id],
      ),
    found: PLACE,
  },
  'an entry deleted': {
    do: async (owner, org_id) =>
      await owner.query(`delete from audit_seal where org_id = $1 and position = ${PLACE}`, [
        org_id,
      ]),
    found: PLACE,
  },
  'the tail cut off': {
    do: async (owner, org_id) =>
      await owner.query(`delete from audit_seal where org_id = $1 and position > 1500`, [org_id]),
    found: 1_501,
  },
  'two entries changed over': {
    do: async (owner, org_id) =>
      await owner.query(
        `update audit_seal s set body = o.body, hash = o.hash from audit_seal o where s.org_id = $1 and o.org_id = $1
           and (s.position, o.position) in ((${PLACE}, ${PLACE + 1}), (${PLACE + 1}, ${PLACE}))`,
        [org_id],
      ),
    found: PLACE,
  },
  'an entry edited in log and chain, all hashes computed anew': { do: rewrite, found: 1_000 },
}

export const auditTampered: Scenario = {
  row: 16,
  fault: `in the sealed audit log: ${Object.keys(tamperings).join('; ')}`,
  pass: 'each is found at the right entry',
  run: async (size) => {
    const service = await Service.start()
    try {
      const entries = Math.max(1_600, Math.round(ENTRIES * size))
      await makeParties(service, entries)
      const verify = async (): Promise<{
        ok: boolean
        entries: number
        fault: { position: number; reason: string } | null
      }> => await service.must('GET', '/audit-logs/verify')
      await until('all are sealed', async () => (await verify()).entries >= entries, 60_000)
      const owner = await service.owner()
      await owner.query(`set session_replication_role = 'replica'`)
      const found: string[] = []
      let missed = 0
      for (const [what, { do: tamper, found: place }] of Object.entries(tamperings)) {
        await owner.query('create temp table kept_seal as select * from audit_seal')
        await owner.query('create temp table kept_entry as select * from audit_entry')
        await tamper(owner, service.org_id)
        const { ok, fault } = await verify()
        if (ok || fault?.position !== place) missed++
        found.push(`${what}: ${fault ? `${fault.reason} at ${fault.position}` : 'not found'}`)
        await owner.query(
          `delete from audit_seal; insert into audit_seal select * from kept_seal; drop table kept_seal;
           delete from audit_entry; insert into audit_entry select * from kept_entry; drop table kept_entry`,
        )
      }
      const restored = await verify()
      await owner.end()
      return counted(restored.entries, {}, found.join('; '), missed === 0 && restored.ok)
    } finally {
      await service.end()
    }
  },
}

/** What a forger without the signing key can do: everything agrees again but the signatures. */
async function rewrite(owner: Client, org_id: number): Promise<void> {
  const { rows } = await owner.query<{ position: string; hash: Buffer; body: string }>(
    'select position, hash, body from audit_seal where org_id = $1 order by position',
    [org_id],
  )
  await owner.query(
    `update audit_entry a set details = '{"forged": true}' from audit_seal s where a.org_id = $1 and s.org_id = $1
       and s.position = ${PLACE} and (a.tx_id, a.n) = (s.tx_id, s.n)`,
    [org_id],
  )
  await owner.query(
    `update audit_seal s set source_digest = ${DIGEST_SQL} from audit_entry a where a.org_id = $1 and s.org_id = $1
       and s.position = ${PLACE} and (a.tx_id, a.n) = (s.tx_id, s.n)`,
    [org_id],
  )
  let previous = Buffer.alloc(32)
  const forged = rows.map(({ position, body }) => {
    const text =
      Number(position) === PLACE
        ? body.replace('"details":null', '"details":{"forged":true}')
        : body
    previous = createHash('sha256').update(previous).update(text).digest()
    return { position, hash: previous.toString('hex'), body: text }
  })
  await owner.query(
    `update audit_seal s set hash = decode(f.hash, 'hex'), body = f.body
     from json_to_recordset($2::json) as f(position bigint, hash text, body text)
     where s.org_id = $1 and s.position = f.position`,
    [org_id, JSON.stringify(forged)],
  )
}
