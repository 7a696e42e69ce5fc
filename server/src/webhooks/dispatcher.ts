/**
 * Sends deliveries. Claims take what is due in batches, lanes send as many at once as each webhook allows, results are
 * written in batches. A process that dies leaves claims behind that others take back after a minute.
 */
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import type { Egress } from '../egress.ts'
import { eventId } from '../events/feed.ts'
import type { FeedEvent } from '../events/feed.ts'
import { renderEvents, thinEvent } from '../events/payload.ts'
import { never, Signal } from '../events/wake.ts'
import { publicId } from '../kit/ids.ts'
import type { Secrets } from '../secrets.ts'
import { attemptRow, send } from './attempt.ts'
import type { Attempt } from './attempt.ts'
import { claim, complete } from './delivery-queries.ts'
import type { Claim, Claimed, ClaimedWebhook, Moved, Result, Room } from './delivery-queries.ts'
import { outcomeOf } from './outcome.ts'
import { signedHeaders, SigningKeys } from './request.ts'

/** Deliveries taken by one claim, and held by one process. */
const BATCH = 500
const OUTSTANDING_MAX = 4_000

/** After a claim that found something it rests as long as that took, but no longer than this, so that each finds more. */
const REST_MAX_MS = 50
const IDLE_MS = 250
const RESULTS_MS = 4
const RESULTS_FAILED_MS = 500

/** A delivery not sent this long after its claim is given back: its lease would end before its answer came. */
const STALE_MS = 30_000

/** Deliveries taken ahead of a webhook: what it is likely to answer within this time. */
const AHEAD_MS = 1_000
const AHEAD_MAX = 50

/** Lanes that have been empty are forgotten beyond this number. */
const LANES_MAX = 2_000

interface Job {
  delivery: Claimed
  webhook: ClaimedWebhook
  lease_id: number
  claimed_at: number
  event_id: string
  sandbox: boolean
  body: Buffer
}

/** Deliveries of one webhook in this process. */
interface Lane {
  webhook_id: number
  queue: Job[]
  sending: number
  max: number
  /** How long its receiver takes to answer, on average of late. */
  answer_ms: number
  /** Whether the last claim took as many of its deliveries as there was room for: there may be more. */
  full: boolean
}

export interface DispatcherParts {
  config: Pick<
    Config,
    'GRID_WEBHOOK_RETRY_S' | 'GRID_WEBHOOK_RETRY_SANDBOX_S' | 'GRID_WEBHOOK_TIMEOUT_S'
  >
  /** Where deliveries are claimed. */
  db: Db
  /** Where their results are written, so that neither waits for the other. */
  results: Db
  egress: Egress
  secrets: Secrets
  base_url: string
  log: (message: string) => void
  /** Hears of webhooks that are gone and of circuits that changed, after it was written. */
  told: (gone: readonly Gone[], moved: readonly Moved[]) => Promise<void>
  /** Hears how many attempts of an organization's deliveries were made. */
  counted: (org_id: number, attempts: number) => void
}

/** A receiver that answered 410. */
export interface Gone {
  org_id: number
  webhook_id: number
}

export class Dispatcher {
  /** Given when there may be something to claim. */
  readonly ready = new Signal()
  private readonly parts: DispatcherParts
  private readonly keys: SigningKeys
  private readonly lanes = new Map<number, Lane>()
  private outstanding = 0
  private results: Result[] = []
  private gone: Gone[] = []
  private timer: NodeJS.Timeout | null = null
  private writing: Promise<void> | null = null
  private readonly emptied = new Signal()

  constructor(parts: DispatcherParts) {
    this.parts = parts
    this.keys = new SigningKeys(parts.secrets)
  }

  /** Takes and starts what is due. @returns how long to wait before the next step, in milliseconds. */
  async step(stopping: AbortSignal): Promise<number> {
    const seen = this.ready.count
    const started = performance.now()
    const free = OUTSTANDING_MAX - this.outstanding
    const taken = free > 0 ? await this.take(Math.min(BATCH, free)) : 0
    if (taken === BATCH) return 0
    if (taken > 0) await never.asleep(Math.min(performance.now() - started, REST_MAX_MS), stopping)
    // All that is due was taken: the next claim finds something when it is told so.
    await this.ready.asleep(IDLE_MS, stopping, seen)
    return 0
  }

  /** Claims once and begins to send. @returns how many deliveries were taken. */
  async take(most: number): Promise<number> {
    const rooms = this.rooms()
    const taken = await claim(this.parts.db, most, rooms)
    if (taken.deliveries.length > 0) this.enqueue(await this.jobsOf(taken), rooms)
    return taken.deliveries.length
  }

  /** Gives back what is not on its way yet and waits for what is. */
  async drain(): Promise<void> {
    for (const lane of this.lanes.values())
      for (const job of lane.queue.splice(0)) this.finish(job, released(job))
    const never = new AbortController().signal
    while (this.outstanding > 0) {
      const seen = this.emptied.count
      if (this.writing === null) this.write()
      await this.emptied.asleep(IDLE_MS, never, seen)
    }
  }

  private rooms(): Room[] {
    if (this.lanes.size > LANES_MAX)
      for (const [id, lane] of this.lanes) if (idle(lane)) this.lanes.delete(id)
    return [...this.lanes.values()].map((lane) => {
      const rounds = Math.min(AHEAD_MAX, Math.max(1, Math.floor(AHEAD_MS / lane.answer_ms)))
      const room = lane.max * rounds - lane.queue.length - lane.sending
      return { webhook_id: lane.webhook_id, room: Math.max(0, room) }
    })
  }

  /** Renders the events of a claim, each once. What cannot be rendered is left to its lease, and given up with it. */
  private async jobsOf(taken: Claim): Promise<Job[]> {
    const claimed_at = performance.now()
    const webhooks = new Map(taken.webhooks.map((webhook) => [webhook.id, webhook]))
    const events = new Map(taken.events.map((event) => [placeOf(event), event]))
    const whole = new Set(
      taken.deliveries
        .filter(({ webhook_id }) => webhooks.get(webhook_id)?.payload === 'full')
        .map(placeOf),
    )
    const full = await this.render(taken.events.filter((event) => whole.has(placeOf(event))))
    const thin = new Map<string, Buffer>()
    return taken.deliveries.flatMap((delivery) => {
      const webhook = webhooks.get(delivery.webhook_id)
      const place = placeOf(delivery)
      const event = events.get(place)
      if (!webhook || !event) return []
      let body = full.get(place)
      if (webhook.payload === 'thin') {
        body = thin.get(place) ?? Buffer.from(thinEvent(event, this.parts.base_url))
        thin.set(place, body)
      }
      if (!body) return []
      const sandbox = event.environment === 'sandbox'
      const { lease_id } = taken
      return [{ delivery, webhook, lease_id, claimed_at, event_id: eventId(event), sandbox, body }]
    })
  }

  private async render(events: readonly FeedEvent[]): Promise<Map<string, Buffer>> {
    const rendered = new Map<string, Buffer>()
    const { base_url, log } = this.parts
    for (const [org_id, own] of Map.groupBy(events, (event) => event.org_id)) {
      const keep = async (some: readonly FeedEvent[]): Promise<void> => {
        const texts = await renderEvents(this.parts, org_id, some, base_url)
        for (const [i, event] of some.entries())
          rendered.set(placeOf(event), Buffer.from(texts[i] as string))
      }
      await keep(own).catch(async () => {
        // One that fails must not keep the others from being sent.
        for (const event of own)
          await keep([event]).catch((error: Error) =>
            log(`${eventId(event)} cannot be rendered: ${error.message}`),
          )
      })
    }
    return rendered
  }

  private enqueue(jobs: readonly Job[], rooms: readonly Room[]): void {
    const touched = new Set<Lane>()
    const left = new Map(rooms.map(({ webhook_id, room }) => [webhook_id, room]))
    for (const job of jobs) {
      const { id, max_concurrency } = job.webhook
      let lane = this.lanes.get(id)
      if (!lane) {
        lane = {
          webhook_id: id,
          queue: [],
          sending: 0,
          max: max_concurrency,
          answer_ms: AHEAD_MS,
          full: false,
        }
        this.lanes.set(id, lane)
      }
      lane.max = max_concurrency
      lane.queue.push(job)
      const room = (left.get(id) ?? max_concurrency) - 1
      left.set(id, room)
      if (room <= 0) lane.full = true
      touched.add(lane)
    }
    this.outstanding += jobs.length
    for (const lane of touched) this.run(lane)
  }

  /** Starts as many of a lane's deliveries as it allows. */
  private run(lane: Lane): void {
    while (lane.sending < lane.max) {
      const job = lane.queue.shift()
      if (!job) break
      if (performance.now() - job.claimed_at > STALE_MS) {
        this.finish(job, released(job))
        continue
      }
      lane.sending++
      void this.deliver(job).then((result) => {
        lane.sending--
        lane.answer_ms = Math.max(1, lane.answer_ms * 0.8 + (result.answer_ms ?? AHEAD_MS) * 0.2)
        this.finish(job, result.result)
        this.run(lane)
      })
    }
    if (lane.queue.length > 0 || !lane.full) return
    lane.full = false
    this.ready.wake()
  }

  private async deliver(job: Job): Promise<{ result: Result; answer_ms: number | null }> {
    const { config, egress, log } = this.parts
    const { delivery, webhook, event_id, body } = job
    try {
      const headers = signedHeaders(
        {
          event_id,
          delivery_id: publicId('del', delivery.id),
          type: delivery.type,
          trigger: delivery.trigger,
          attempt: delivery.attempt + 1,
          coalesced: delivery.coalesced,
        },
        this.keys.of(webhook),
        body,
      )
      const target = { url: webhook.url, own_inbox: webhook.inbox_id !== null }
      const attempt = await send(
        egress,
        target,
        headers,
        body,
        config.GRID_WEBHOOK_TIMEOUT_S * 1_000,
      )
      const delays = job.sandbox ? config.GRID_WEBHOOK_RETRY_SANDBOX_S : config.GRID_WEBHOOK_RETRY_S
      const result = resultOf(job, attempt, outcomeOf(attempt, delivery.attempt, delays))
      return { result, answer_ms: attempt.total_ms }
    } catch (error) {
      // Nothing of the receiver's: a secret that cannot be opened. Tried again after a while, at no attempt's cost.
      log(`${publicId('wh', webhook.id)}: ${(error as Error).message}`)
      return { result: { ...released(job), wait_s: 60 }, answer_ms: null }
    }
  }

  private finish(job: Job, result: Result): void {
    if (result.reason === 'gone')
      this.gone.push({ org_id: job.delivery.org_id, webhook_id: job.delivery.webhook_id })
    this.results.push(result)
    if (this.writing !== null) return
    if (this.results.length >= BATCH) this.write()
    else this.timer ??= setTimeout(() => this.write(), RESULTS_MS)
  }

  /** Writes what is finished; while a batch is written, the next one gathers. */
  private write(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
    const [batch, gone] = [this.results, this.gone]
    if (batch.length === 0 || this.writing !== null) return
    this.results = []
    this.gone = []
    this.writing = this.save(batch, gone).then((wait) => {
      this.writing = null
      if (this.results.length > 0) this.timer = setTimeout(() => this.write(), wait)
      this.emptied.wake()
    })
  }

  /** @returns how long to wait before the next batch, in milliseconds. */
  private async save(batch: readonly Result[], gone: readonly Gone[]): Promise<number> {
    const { log, told, counted } = this.parts
    let moved: Moved[]
    try {
      moved = await complete(this.parts.results, batch)
    } catch (error) {
      log(`results of deliveries are written again: ${(error as Error).message}`)
      this.results.push(...batch)
      this.gone.push(...gone)
      return RESULTS_FAILED_MS
    }
    this.outstanding -= batch.length
    const made = Map.groupBy(
      batch.filter(({ attempt }) => attempt !== null),
      ({ org_id }) => org_id,
    )
    for (const [org_id, results] of made) counted(org_id, results.length)
    this.ready.wake()
    if (gone.length + moved.length > 0)
      await told(gone, moved).catch((error: Error) => log(`webhooks: ${error.message}`))
    return 0
  }
}

function idle(lane: Lane): boolean {
  return lane.queue.length === 0 && lane.sending === 0
}

/** An event within all organizations. */
function placeOf({ org_id, tx_id, n }: { org_id: number; tx_id: number; n: number }): string {
  return `${org_id} ${tx_id} ${n}`
}

function released(job: Job): Result {
  return {
    ...keyOf(job),
    outcome: 'released',
    reason: null,
    wait_s: 0,
    slow: false,
    attempt: null,
    headers: null,
    body: null,
    base64: null,
  }
}

function keyOf({
  delivery,
  lease_id,
}: Job): Pick<Result, 'org_id' | 'webhook_id' | 'id' | 'lease_id'> {
  const { org_id, webhook_id, id } = delivery
  return { org_id, webhook_id, id, lease_id }
}

function resultOf(job: Job, attempt: Attempt, outcome: ReturnType<typeof outcomeOf>): Result {
  const { answer } = attempt
  return {
    ...keyOf(job),
    ...outcome,
    attempt: attemptRow(attempt),
    headers: answer?.headers ?? null,
    body: answer?.body ?? null,
    base64: answer?.base64 ?? null,
  }
}
