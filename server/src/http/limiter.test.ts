/** The window of a quota over several processes: their limiters, on the real ledger, in a time that the test moves. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { grid } from '../../test/grid.ts'
import { ledgerOf } from './ledger.ts'
import { Limiter, REFUSED, WINDOW_MS } from './limiter.ts'

const { db } = await grid()
let subjects = 0

/** Processes that share one quota and one clock. */
class Cluster {
  now = 1_000_000
  readonly admitted: number[] = []
  readonly quota: number
  private readonly subject = `test:${process.pid}:${subjects++}`
  private processes: Limiter[] = []

  constructor(processes: number, quota: number) {
    this.quota = quota
    for (let i = 0; i < processes; i++) this.processes.push(this.started())
  }

  private started(): Limiter {
    const clock = (): number => this.now
    return new Limiter(ledgerOf(db, clock), clock)
  }

  /** A process is killed and started anew: what it held is lost. */
  kill(process: number): void {
    this.processes[process % this.processes.length] = this.started()
  }

  /** @returns how many of the requests were admitted. */
  async send(process: number, count: number): Promise<number> {
    const limiter = this.processes[process % this.processes.length] as Limiter
    const answers = await Promise.all(
      Array.from({ length: count }, async () => await limiter.take(this.subject, this.quota)),
    )
    const admitted = answers.filter((left) => left !== REFUSED).length
    for (let i = 0; i < admitted; i++) this.admitted.push(this.now)
    return admitted
  }

  /** The most requests that were admitted within any window. */
  fullest(): number {
    return Math.max(
      0,
      ...this.admitted.map(
        (from) => this.admitted.filter((at) => at >= from && at < from + WINDOW_MS).length,
      ),
    )
  }
}

describe('one process', () => {
  it.each([1, 7, 100, 600, 3_000])('admits exactly %i within a minute', async (quota) => {
    const cluster = new Cluster(1, quota)
    expect(await cluster.send(0, quota)).toBe(quota)
    expect(await cluster.send(0, 1)).toBe(0)
    cluster.now += WINDOW_MS - 1
    expect(await cluster.send(0, 1)).toBe(0)
    cluster.now += 1
    expect(await cluster.send(0, quota + 1)).toBe(quota)
  })

  it('gives places back one by one, and those of a chunk that it did not use', async () => {
    const cluster = new Cluster(1, 100)
    expect(await cluster.send(0, 60)).toBe(60)
    cluster.now += 30_000
    expect(await cluster.send(0, 39)).toBe(39)
    cluster.now += 6_000
    expect(await cluster.send(0, 2)).toBe(1)
    cluster.now += 24_000
    expect(await cluster.send(0, 61)).toBe(60)
    cluster.now += 30_000
    expect(await cluster.send(0, 61)).toBe(39)
    cluster.now += 6_000
    expect(await cluster.send(0, 2)).toBe(1)
  })
})

describe('four processes', () => {
  it.each([100, 600])('admit exactly %i within a minute, whoever is asked', async (quota) => {
    const cluster = new Cluster(4, quota)
    let admitted = 0
    for (let i = 0; i < quota; i += 5) admitted += await cluster.send(i / 5, 5)
    expect(admitted).toBe(quota)
    for (let i = 0; i < 4; i++) expect(await cluster.send(i, 3)).toBe(0)
    expect(cluster.fullest()).toBe(quota)
  })

  it('leave at least 0.85 of a quota to one of them, when the others have stopped asking', async () => {
    for (const quota of [100, 600, 3_000]) {
      const cluster = new Cluster(4, quota)
      const others =
        (await cluster.send(0, 1)) + (await cluster.send(1, 1)) + (await cluster.send(2, 1))
      expect(others).toBe(3)
      const admitted = await cluster.send(3, quota)
      expect(admitted + others).toBeGreaterThanOrEqual(0.85 * quota)
      expect(admitted + others).toBeLessThanOrEqual(quota)
    }
  })
})

it('never admits more than the quota within any minute, whoever asks, waits and dies', async () => {
  const step = fc.record({
    wait_ms: fc.oneof(fc.constant(0), fc.nat(400), fc.nat(8_000)),
    process: fc.nat(3),
    count: fc.integer({ min: 1, max: 25 }),
    killed: fc.integer({ min: 0, max: 12 }).map((n) => n === 0),
  })
  const runs = fc.asyncProperty(
    fc.integer({ min: 1, max: 4 }),
    fc.constantFrom(3, 40, 1_500),
    fc.array(step, { minLength: 20, maxLength: 60 }),
    async (processes, quota, steps) => {
      const cluster = new Cluster(processes, quota)
      for (const { wait_ms, process, count, killed } of steps) {
        cluster.now += wait_ms
        if (killed) cluster.kill(process)
        await cluster.send(process, quota > 1_000 ? count * 20 : count)
      }
      expect(cluster.fullest()).toBeLessThanOrEqual(quota)
    },
  )
  await fc.assert(runs, { numRuns: 25 })
}, 60_000)

it('uses at least 0.85 of the quota while all processes are asked for more', async () => {
  for (const quota of [100, 2_000]) {
    const cluster = new Cluster(4, quota)
    const steps = 180
    for (let i = 0; i < steps; i++) {
      cluster.now += 1_000
      await Promise.all([0, 1, 2, 3].map(async (n) => await cluster.send(n, quota / 20)))
    }
    expect(cluster.fullest()).toBeLessThanOrEqual(quota)
    expect(cluster.admitted.length).toBeGreaterThanOrEqual(0.85 * quota * (steps / 60))
  }
}, 60_000)
