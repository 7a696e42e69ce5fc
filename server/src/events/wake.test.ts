import { describe, expect, it } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { Signal, written } from './wake.ts'

const LONG_MS = 60_000
const running = new AbortController().signal

describe('a signal', () => {
  it('ends the waits of all who wait for it', async () => {
    const signal = new Signal()
    const waits = [signal.asleep(LONG_MS, running), signal.asleep(LONG_MS, running)]
    signal.wake()
    await Promise.all(waits)
  })

  it('that was given since one last looked ends the wait at once', async () => {
    const signal = new Signal()
    const seen = signal.count
    signal.wake()
    await signal.asleep(LONG_MS, running, seen)
  })

  it('that was given before is not waited for again', async () => {
    const signal = new Signal()
    signal.wake()
    let woken = false
    const wait = signal.asleep(LONG_MS, running).then(() => (woken = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(woken).toBe(false)
    signal.wake()
    await wait
  })

  it('need not come: the wait ends with its time, or with the process', async () => {
    const signal = new Signal()
    await signal.asleep(1, running)
    const stopping = new AbortController()
    const wait = signal.asleep(LONG_MS, stopping.signal)
    stopping.abort()
    await wait
    await signal.asleep(LONG_MS, stopping.signal)
  })
})

it('a write wakes those who place it; a read and a refused write do not', async () => {
  const client = await newOrganization()
  const before = written.count
  await client.get('/parties')
  await client.post('/parties', { kind: 'nobody' })
  expect(written.count).toBe(before)
  const seen = written.count
  const { status } = await client.post('/parties', samples.party())
  expect(status).toBe(201)
  // The signal may come just behind the answer.
  await written.asleep(LONG_MS, running, seen)
})
