/**
 * Requests per minute over all processes. A process takes chunks of a quota from the ledger and spends them without
 * asking; the ledger hands out no more than the quota within any minute, so the minute is never overfilled.
 */

/** The length of every quota's window, in milliseconds; the ledger has the same. */
export const WINDOW_MS = 60_000

/** A chunk may be spent this long; the ledger counts it for as long and a window more. */
const CHUNK_MS = 5_000

/** Quotas up to this size are accounted for request by request, larger ones by quarters of a second. */
const EXACT_MAX = 1_000
const BUCKET_MS = 250

/** While other processes hold chunks that they may give back, a refused subject is asked for again this often. */
const ASK_AGAIN_MS = 250

/** What `take` answers for a request that is not admitted. */
export const REFUSED = -1

/** What the ledger answers. */
export interface Grant {
  granted: number
  /** Left for all processes after this. */
  remaining: number
  /** Until the oldest request leaves the window. */
  wait_ms: number
  /** Others take from the same quota. */
  shared: boolean
}

/** @param ages when requests were admitted, in milliseconds before now, with how many at each time in `counts`. */
export type Ledger = (
  subject: string,
  quota: number,
  wanted: number,
  ages: readonly number[],
  counts: readonly number[],
) => Promise<Grant>

/** What this process holds of one quota. */
class Share {
  quota = 0
  tokens = 0
  /** Until when the tokens may be spent. */
  expires = 0
  /** Left for all processes when the ledger was last asked. */
  elsewhere = 0
  refused_until = 0
  reset_at = 0
  /** Requests not yet accounted for. */
  times: number[] = []
  counts: number[] = []
  /** When the last entry of these was begun. */
  private began = 0
  waiting = 0
  asking: Promise<void> | null = null

  get remaining(): number {
    return this.tokens + this.elsewhere
  }

  spend(now: number): boolean {
    if (this.tokens === 0 || now >= this.expires) return false
    this.tokens--
    const last = this.times.length - 1
    if (last >= 0 && this.quota > EXACT_MAX && now - this.began < BUCKET_MS) {
      this.times[last] = now
      this.counts[last] = (this.counts[last] as number) + 1
    } else {
      this.times.push(now)
      this.counts.push(1)
      this.began = now
    }
    return true
  }

  /** Takes the last request back. */
  unspend(): void {
    const last = this.times.length - 1
    if (last < 0) return
    this.tokens++
    this.counts[last] = (this.counts[last] as number) - 1
    if (this.counts[last] > 0) return
    this.times.pop()
    this.counts.pop()
  }

  /** Nothing is to be had: a chunk that went stale unspent can be had again. */
  isRefused(now: number): boolean {
    return this.tokens === 0 && now < this.refused_until
  }

  /** How long ago requests were admitted that are not yet accounted for. */
  ages(now: number): number[] {
    return this.times.map((time) => Math.max(0, Math.floor(now - time)))
  }
}

export class Limiter {
  private readonly ledger: Ledger
  private readonly clock: () => number
  private readonly shares = new Map<string | number, Share>()

  /** @param clock monotonic milliseconds. */
  constructor(ledger: Ledger, clock: () => number = () => performance.now()) {
    this.ledger = ledger
    this.clock = clock
  }

  /**
   * Admits one request, or not: at once while the process holds a chunk, else when the ledger has answered.
   * @returns how many are left after it; REFUSED when it is not admitted.
   */
  take(subject: string | number, quota: number): number | Promise<number> {
    let share = this.shares.get(subject)
    if (!share) this.shares.set(subject, (share = new Share()))
    share.quota = quota
    const now = this.clock()
    if (share.spend(now)) return share.remaining
    if (share.isRefused(now)) return REFUSED
    return this.ask(String(subject), share)
  }

  /** Takes back a request that was admitted but refused for another reason. */
  giveBack(subject: string | number): void {
    this.shares.get(subject)?.unspend()
  }

  /** Seconds until the oldest request leaves the window, 1 to 60. */
  reset_s(subject: string | number): number {
    const reset_at = this.shares.get(subject)?.reset_at ?? 0
    return Math.min(Math.max(Math.ceil((reset_at - this.clock()) / 1_000), 1), 60)
  }

  /** Accounts for everything and gives back what is left, before the process ends. */
  async close(): Promise<void> {
    await Promise.all([...this.shares].map(([subject, share]) => this.settle(subject, share)))
    this.shares.clear()
  }

  /** Forgets subjects that have not been heard of for a window. */
  sweep(): void {
    const now = this.clock()
    for (const [subject, share] of this.shares)
      if (!share.asking && share.expires + WINDOW_MS < now && share.refused_until < now)
        this.shares.delete(subject)
  }

  private async ask(subject: string, share: Share): Promise<number> {
    share.waiting++
    try {
      for (;;) {
        share.asking ??= this.refill(subject, share)
        await share.asking
        const now = this.clock()
        if (share.spend(now)) return share.remaining
        if (share.isRefused(now)) return REFUSED
      }
    } finally {
      share.waiting--
    }
  }

  private async refill(subject: string, share: Share): Promise<void> {
    // Requests that come while this one is prepared are asked for with it.
    await Promise.resolve()
    const sent = this.clock()
    const { times, counts } = share
    const ages = share.ages(sent)
    share.tokens = 0
    share.times = []
    share.counts = []
    try {
      const grant = await this.ledger(subject, share.quota, share.waiting, ages, counts)
      share.tokens = grant.granted
      share.expires = sent + CHUNK_MS
      share.elsewhere = grant.remaining
      share.reset_at = sent + grant.wait_ms
      const pause_ms = grant.shared ? Math.min(grant.wait_ms, ASK_AGAIN_MS) : grant.wait_ms
      share.refused_until = grant.remaining > 0 ? 0 : sent + pause_ms
    } catch (error) {
      // Nobody knows whether they were accounted for: rather twice than not at all.
      share.times = times
      share.counts = counts
      throw error
    } finally {
      share.asking = null
    }
  }

  private async settle(subject: string | number, share: Share): Promise<void> {
    if (share.expires === 0) return
    const ages = share.ages(this.clock())
    await this.ledger(String(subject), share.quota, 0, ages, share.counts)
  }
}
