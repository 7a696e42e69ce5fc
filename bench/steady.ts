/**
 * How steady the machine itself is. A small piece of work is done again and again in a process of its own; where it takes
 * far longer than usual, the machine was slow, whatever ran on it: of several tries in a row the fastest counts, and hardly
 * all of them lose their processor. Prints the slow windows when its standard input ends.
 */
import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { text } from 'node:stream/consumers'

const EVERY_MS = 8
const TRIES = 3

/** So many times the usual time are slow. */
const SLOW = 1.7

/** Slow moments no further apart are one window. */
const JOIN_MS = 40

/** In milliseconds since the epoch. */
export interface Window {
  from: number
  to: number
}

/** Begins to watch. @returns what ends it and tells when the machine was slow. */
export function watchMachine(): () => Promise<Window[]> {
  const child = spawn(process.execPath, ['bench/steady.ts'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  return async () => {
    child.stdin.end()
    return JSON.parse(await text(child.stdout)) as Window[]
  }
}

/** Hashed by machine code, which no compiler changes on the way. */
const bytes = Buffer.alloc(32_768, 'steady')

/** Milliseconds of the fastest of some tries. */
function fastest(): number {
  let best = Infinity
  for (let i = 0; i < TRIES; i++) {
    const started = performance.now()
    hash('sha256', bytes)
    best = Math.min(best, performance.now() - started)
  }
  return best
}

/** @param taken time of each moment, and how long the work took then. */
function windows(taken: readonly (readonly [at: number, ms: number])[]): Window[] {
  const usual = taken.map(([, ms]) => ms).toSorted((a, b) => a - b)[taken.length >> 1] ?? 0
  const slow: (Window & { moments: number })[] = []
  for (const [at, ms] of taken) {
    if (ms < usual * SLOW) continue
    const last = slow.at(-1)
    if (last && at - last.to < JOIN_MS) {
      last.to = at
      last.moments++
    } else slow.push({ from: at - EVERY_MS, to: at, moments: 1 })
  }
  return slow.filter(({ moments }) => moments > 1).map(({ from, to }) => ({ from, to }))
}

if (process.argv[1]?.endsWith('steady.ts')) {
  const taken: [number, number][] = []
  const timer = setInterval(() => {
    const ms = fastest()
    taken.push([performance.timeOrigin + performance.now(), ms])
  }, EVERY_MS)
  process.stdin.resume().on('end', () => {
    clearInterval(timer)
    process.stdout.write(JSON.stringify(windows(taken)))
  })
}
