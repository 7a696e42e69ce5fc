/** Many clients of one key at several processes, all asking as fast as they can. */
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { pause, send, Service } from '../service.ts'

const QUOTA = 100
const CLIENTS = 64
const PROCESSES = 4
const WINDOW_MS = 60_000
const SECONDS = 190

interface Admitted {
  sent: number
  answered: number
}

export const limits: Scenario = {
  row: 13,
  fault: '64 clients of one key at 4 processes, at 100 requests a minute',
  pass: 'never more than 100 in any 60 s, at least 85 usable',
  run: async (size) => {
    const service = await Service.start()
    try {
      const bases = [service.base]
      while (bases.length < PROCESSES) bases.push((await service.join('serve')).base)
      const seconds = Math.max(70, SECONDS * size)
      const admitted = await hammer(bases, service.sandboxKey, seconds)
      const most = Math.max(...admitted.map(({ sent }) => within(admitted, sent)))
      const minutes = (seconds * 1_000) / WINDOW_MS
      const share = admitted.length / (QUOTA * Math.ceil(minutes))
      return counted(
        admitted.length,
        {},
        `at most ${most} in any 60 s, ${(100 * share).toFixed(0)} % of the quota used in ${seconds} s`,
        most <= QUOTA && share >= 0.85,
      )
    } finally {
      await service.end()
    }
  },
}

/** @returns when the requests that were let in were sent and answered. */
async function hammer(bases: readonly string[], key: string, seconds: number): Promise<Admitted[]> {
  const admitted: Admitted[] = []
  const end = performance.now() + seconds * 1_000
  const client = async (_: unknown, n: number): Promise<void> => {
    while (performance.now() < end) {
      const sent = performance.now()
      const { status } = await send(
        bases[n % bases.length] as string,
        key,
        'GET',
        '/parties?limit=1',
      )
      if (status === 200) admitted.push({ sent, answered: performance.now() })
      else await pause(50 + Math.random() * 100)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return admitted
}

/** Requests that were certainly let in within the minute after a time. */
function within(admitted: readonly Admitted[], from: number): number {
  return admitted.filter(({ sent, answered }) => sent >= from && answered <= from + WINDOW_MS)
    .length
}
