/** Names that resolve to private addresses, at once or on second thoughts. */
import { Duplex } from 'node:stream'
import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { Egress } from '../../server/src/egress.ts'
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'

const TRIES = 10_000
const PUBLIC = '93.184.215.14'
const PRIVATE = [
  '127.0.0.1',
  '10.0.0.7',
  '169.254.169.254',
  '::1',
  'fd00:ec2::254',
  '::ffff:127.0.0.1',
]

export const rebinding: Scenario = {
  row: 10,
  fault:
    'names that change between public and private addresses, have only private ones, or lead to metadata services',
  pass: 'no connection to a private address in 10,000 tries',
  run: async (size) => {
    const tries = Math.round(TRIES * size)
    const connected = new Map<string, number>()
    let turn = 0
    const resolve = async (): Promise<LookupAddress[]> => {
      const bad = PRIVATE[turn % PRIVATE.length] as string
      const answers = [[PUBLIC], [bad], [bad, PUBLIC], [PUBLIC, bad]][turn++ % 4] as string[]
      return await Promise.resolve(answers.map(entry))
    }
    // Nothing leaves this process: the connector looks the name up, notes the address and refuses.
    const connect = (lookup: LookupFunction) => (options: { hostname: string }, done: Done) => {
      lookup(options.hostname, { all: true }, (error, found) => {
        const addresses = error ? [] : (found as unknown as LookupAddress[])
        for (const { address } of addresses)
          connected.set(address, (connected.get(address) ?? 0) + 1)
        done(error ?? new Error('not connected'), null)
      })
    }
    const egress = new Egress({ resolve, connect: connect as never })
    let refused = 0
    for (let i = 0; i < tries; i++) {
      const url = `http://host-${i}.example/`
      const failed = await egress.request(url, { method: 'POST' }).then(
        () => false,
        () => true,
      )
      if (failed) refused++
    }
    await egress.close()
    const reached = [...connected].filter(([address]) => address !== PUBLIC)
    return counted(
      tries,
      {},
      `${refused} refused, ${connected.get(PUBLIC) ?? 0} would have gone to the public address, ${reached.length} private ones reached`,
      reached.length === 0 && refused === tries,
    )
  },
}

type Done = (error: Error | null, socket: Duplex | null) => void

function entry(address: string): LookupAddress {
  return { address, family: address.includes(':') ? 6 : 4 }
}
