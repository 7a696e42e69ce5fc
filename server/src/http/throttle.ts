/** Addresses that try keys or secrets that are not known are refused for a while, before anything is looked up. */
import { ApiError } from '../kit/errors.ts'
import { subscriberOf } from '../kit/networks.ts'
import { WINDOW_MS } from './limiter.ts'

/** Subscribers remembered; when there are more, those that failed longest ago are forgotten. */
const SUBSCRIBERS_MAX = 10_000

/** Failed authentication, counted by each process for itself. */
export class Throttle {
  private readonly most: number
  /** Times of the last failures, oldest first; subscribers in the order of their last failure. */
  private readonly failures = new Map<string, number[]>()

  /** @param most failures of a subscriber within a minute. */
  constructor(most: number) {
    this.most = most
  }

  failed(address: string): void {
    const subscriber = subscriberOf(address)
    const times = this.failures.get(subscriber) ?? []
    times.push(performance.now())
    if (times.length > this.most) times.shift()
    this.failures.delete(subscriber)
    this.failures.set(subscriber, times)
    if (this.failures.size <= SUBSCRIBERS_MAX) return
    const [oldest] = this.failures.keys()
    this.failures.delete(oldest as string)
  }

  /** Lets a key or a secret be tried; one that is refused with 401 counts. @throws 429 as `check` does */
  async tried<T>(address: string, prove: () => Promise<T>): Promise<T> {
    this.check(address)
    try {
      return await prove()
    } catch (error) {
      if ((error as { status?: number }).status === 401) this.failed(address)
      throw error
    }
  }

  /** @throws 429 while the address has failed too often within the last minute. */
  check(address: string): void {
    const times = this.failures.get(subscriberOf(address))
    if (!times || times.length < this.most) return
    const left_ms = (times[0] as number) + WINDOW_MS - performance.now()
    if (left_ms <= 0) return
    const retry_after_s = Math.ceil(left_ms / 1_000)
    throw new ApiError('rate_limited', `Too many unknown keys; try again in ${retry_after_s} s.`, {
      'violated-policies': ['failed_keys'],
      retry_after_s,
    })
  }
}
