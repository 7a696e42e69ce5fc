/** A small part of the chaos suite, so that every change meets it. */
import { expect, test } from 'vitest'
import { idempotency } from './scenarios/idempotency.ts'
import { lateCommits } from './scenarios/late-commits.ts'
import { rebinding } from './scenarios/rebinding.ts'
import { replay } from './scenarios/replay.ts'

test.each([
  [lateCommits, 0.1],
  [rebinding, 0.1],
  [idempotency, 0.1],
  [replay, 0.04],
])('$fault', { timeout: 120_000 }, async (scenario, size) => {
  const outcome = await scenario.run(size)
  expect(outcome).toMatchObject({ passed: true, lost: 0, duplicated: 0, out_of_order: 0 })
  expect(outcome.events).toBeGreaterThan(0)
})
