/** The same request many times at once, and the process killed while they are under way. */
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { pause, send, Service } from '../service.ts'
import type { Answer } from '../service.ts'

const ROUNDS = 20
const PARALLEL = 100

export const idempotency: Scenario = {
  row: 14,
  fault: '100 identical requests at once, some with another body; kill -9 in between',
  pass: 'one effect per key; the others get its answer or 409',
  run: async (size) => {
    const service = await Service.start()
    try {
      const rounds = Math.max(2, Math.round(ROUNDS * size))
      const answers = new Map<number, number>()
      let wrong = 0
      for (let round = 0; round < rounds; round++) {
        const asked = Array.from({ length: PARALLEL }, async (_, n) => {
          const body = {
            kind: 'company',
            legal_name: `Round ${round}${n % 10 === 9 ? ' other' : ''}`,
          }
          return await attempt(service, round, body)
        })
        if (round % 5 === 4) {
          await pause(5)
          await service.kill()
          await service.launch()
        }
        const given = (await Promise.all(asked)).filter((answer) => answer !== null)
        for (const { status } of given) answers.set(status, (answers.get(status) ?? 0) + 1)
        wrong += given.filter(({ status }) => ![201, 409].includes(status)).length
        const ids = new Set(given.flatMap(({ status, body }) => (status === 201 ? [body.id] : [])))
        if (ids.size > 1) wrong++
        // Whoever asks again gets the one effect.
        const again = await attempt(service, round, {
          kind: 'company',
          legal_name: `Round ${round}`,
        })
        if (!again || ![201, 409].includes(again.status)) wrong++
      }
      const { total_count } = await service.must('GET', '/parties?limit=1&include=total_count')
      const seen = [...answers].map(([status, count]) => `${count} x ${status}`).join(', ')
      return counted(
        rounds,
        { lost: Math.max(0, rounds - total_count), duplicated: Math.max(0, total_count - rounds) },
        `answers ${seen}`,
        wrong === 0,
      )
    } finally {
      await service.end()
    }
  },
}

async function attempt(service: Service, round: number, body: object): Promise<Answer | null> {
  const headers = { 'idempotency-key': `round-${round}` }
  try {
    return await send(service.base, service.key, 'POST', '/parties', body, headers)
  } catch {
    return null
  }
}
