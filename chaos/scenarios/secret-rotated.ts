/** Secrets rotated again and again while deliveries go on. */
import { Webhook } from 'standardwebhooks'
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { Receiver } from '../receiver.ts'
import type { Receipt } from '../receiver.ts'
import { pause, until } from '../service.ts'
import { committed, hook, startService } from '../webhooks.ts'
import { Writers } from '../writers.ts'

const ROTATIONS = 10
const GRACE_S = 2

export const secretRotated: Scenario = {
  row: 11,
  fault: 'the secret is rotated under load',
  pass: 'through the grace every delivery verifies with the old and the new secret, after it none with the old',
  run: async (size) => {
    const service = await startService()
    const receiver = await Receiver.start()
    try {
      const { id, secret } = await hook(service, receiver)
      const writers = new Writers(service, 4)
      const rotations = Math.max(2, Math.round(ROTATIONS * size))
      const secrets = [{ secret, from: 0, to: Infinity }]
      for (let n = 0; n < rotations; n++) {
        await pause(800)
        const asked = Date.now()
        const rotated = await service.must('POST', `/webhooks/${id}/rotate-secret`, {
          grace_seconds: GRACE_S,
        })
        const last = secrets.at(-1)
        if (last) last.to = asked + GRACE_S * 1_000
        secrets.push({ secret: rotated.secret, from: Date.now(), to: Infinity })
        await pause(GRACE_S * 1_000)
      }
      await writers.stop()
      const events = await committed(service)
      await until('all have come', () =>
        Promise.resolve(events.difference(receiver.events).size === 0),
      )
      let unverified = 0
      let withOld = 0
      for (const receipt of receiver.receipts) {
        const live = secrets.filter(
          ({ from, to }) => receipt.at > from + 300 && receipt.at < to - 300,
        )
        const over = secrets.filter(({ to }) => receipt.at > to + 1_000)
        if (live.some((one) => !verifies(one.secret, receipt))) unverified++
        if (over.some((one) => verifies(one.secret, receipt))) withOld++
      }
      return counted(
        events.size,
        {},
        `${rotations} rotations; ${unverified} deliveries did not verify with a live secret, ${withOld} with one that had ended`,
        unverified + withOld === 0,
      )
    } finally {
      await receiver.end()
      await service.end()
    }
  },
}

/** Judged by a verifier that is not ours. */
function verifies(secret: string, { id, signature, body }: Receipt): boolean {
  const [stamp = '', ...hashes] = signature.split(',')
  const signatures = hashes.map(
    (hash) => `v1,${Buffer.from(hash.slice(3), 'hex').toString('base64')}`,
  )
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': stamp.slice(2),
    'webhook-signature': signatures.join(' '),
  }
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  }
}
