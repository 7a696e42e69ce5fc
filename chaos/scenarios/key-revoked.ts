/** A key that is revoked while it is in full use at two processes. */
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { pause, send, Service } from '../service.ts'

const ROUNDS = 10
const CLIENTS = 32

/** A revocation has to hold everywhere this long after it was answered. */
const EVERYWHERE_MS = 1_000

export const keyRevoked: Scenario = {
  row: 12,
  fault: 'a key is revoked under full load at two processes',
  pass: 'the process that revoked it accepts nothing sent later, the other nothing later than 1 s',
  run: async (size) => {
    const service = await Service.start()
    try {
      const other = await service.join('serve')
      const rounds = Math.max(2, Math.round(ROUNDS * size))
      let sent = 0
      let late = 0
      let latest = 0
      for (let round = 0; round < rounds; round++) {
        const made = await service.must('POST', '/api-keys', {
          name: `Round ${round}`,
          scopes: ['read:parties'],
        })
        const state = { going: true, revoked: Infinity }
        const client = async (_: unknown, n: number): Promise<void> => {
          const base = n % 2 ? service.base : other.base
          while (state.going) {
            const at = performance.now()
            const { status } = await send(base, made.key, 'GET', '/parties?limit=1')
            sent++
            if (status !== 200) continue
            const after = at - state.revoked
            if (after > 0) latest = Math.max(latest, after)
            if (after > (n % 2 ? 0 : EVERYWHERE_MS)) late++
          }
        }
        const clients = Array.from({ length: CLIENTS }, client)
        await pause(500)
        await service.must('DELETE', `/api-keys/${made.id}`)
        state.revoked = performance.now()
        await pause(EVERYWHERE_MS + 500)
        state.going = false
        await Promise.all(clients)
      }
      return counted(
        sent,
        {},
        `${late} accepted too late, the last one sent ${Math.round(latest)} ms after the revocation was answered`,
        late === 0,
      )
    } finally {
      await service.end()
    }
  },
}
