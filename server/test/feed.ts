/** The feed of events in tests: placed by this very process. */
import { eventsAfter } from '../src/events/feed.ts'
import type { FeedEvent } from '../src/events/feed.ts'
import { renderEvents } from '../src/events/payload.ts'
import { placeTransactions } from '../src/events/sequencer.ts'
import { grid } from './grid.ts'
import type { Answer } from './grid.ts'

/** Gives every event of the organization its number; another worker may be placing at the same time. */
export async function placeAll(org_id: number): Promise<void> {
  const { db } = await grid()
  for (;;) {
    await placeTransactions(db)
    const [row] = await db.query<{ open: boolean }>(
      org_id,
      'select exists (select from tx where org_id = $1 and first_seq is null) as open',
      [org_id],
    )
    if (!row?.open) return
  }
}

/** All events of the organization so far, of the types that fit the patterns. */
export async function eventsOf(org_id: number, patterns: string[] = ['*']): Promise<FeedEvent[]> {
  await placeAll(org_id)
  const { db } = await grid()
  return await eventsAfter(db, org_id, 0, 10_000, patterns)
}

/** The payloads of events. */
export async function payloadsOf(
  org_id: number,
  events: readonly FeedEvent[],
): Promise<Answer['body'][]> {
  const { app } = await grid()
  const texts = await renderEvents(app.store, org_id, events)
  return texts.map((text) => JSON.parse(text))
}
