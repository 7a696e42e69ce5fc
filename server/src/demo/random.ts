/** Pseudo-random numbers that are the same for the same seed on every machine, with the distributions the demo needs. */

/** The 90th percentile of the standard normal distribution. */
const Z90 = 1.281_551_565_5

export class Random {
  private readonly seed: string
  private state: number

  constructor(seed: string | number) {
    this.seed = String(seed)
    this.state = hash(this.seed)
  }

  /** A stream of its own for one part of the work: what one part draws does not move the others. */
  fork(label: string): Random {
    return new Random(`${this.seed}/${label}`)
  }

  /** A number from 0 up to, but not including, 1 (mulberry32). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next()
  }

  /** A whole number, both ends included. */
  int(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.next() * list.length)] as T
  }

  /** One of the values, each as often as its weight says. */
  weighted<T>(choices: readonly (readonly [value: T, weight: number])[]): T {
    const total = choices.reduce((sum, [, weight]) => sum + weight, 0)
    let left = this.next() * total
    for (const [value, weight] of choices) {
      left -= weight
      if (left < 0) return value
    }
    return (choices.at(-1) as readonly [T, number])[0]
  }

  /** The list in another order (Fisher-Yates); the list itself stays as it is. */
  shuffled<T>(list: readonly T[]): T[] {
    const result = [...list]
    for (let i = result.length - 1; i > 0; i--) {
      const j = Math.floor(this.next() * (i + 1))
      ;[result[i], result[j]] = [result[j] as T, result[i] as T]
    }
    return result
  }

  /** The list in another order in which heavy ones tend to come first. */
  shuffledBy<T>(list: readonly T[], weight: (item: T) => number): T[] {
    return list
      .map((item) => ({ item, key: -Math.log(1 - this.next()) / weight(item) }))
      .toSorted((a, b) => a.key - b.key)
      .map(({ item }) => item)
  }

  /**
   * `count` values of a log-normal distribution given by its median and 90th percentile: one from each of `count` equally
   * likely strata, in random order, so that even a small sample has the distribution's shape.
   */
  logNormals(count: number, median: number, p90: number): number[] {
    const strata = Array.from({ length: count }, (_, i) => (i + this.between(0.25, 0.75)) / count)
    return this.shuffled(strata.map((p) => logNormalQuantile(p, median, p90)))
  }
}

/** The value below which the share `p` of a log-normal distribution lies. */
export function logNormalQuantile(p: number, median: number, p90: number): number {
  return median * Math.exp((Math.log(p90 / median) / Z90) * normalQuantile(p))
}

/** The mean of a log-normal distribution. */
export function logNormalMean(median: number, p90: number): number {
  return median * Math.exp((Math.log(p90 / median) / Z90) ** 2 / 2)
}

/** Inverse of the standard normal distribution, after Acklam; relative error below 1.2e-9. */
function normalQuantile(p: number): number {
  const low = 0.02425
  if (p < low) return tail(Math.sqrt(-2 * Math.log(p)))
  if (p > 1 - low) return -tail(Math.sqrt(-2 * Math.log(1 - p)))
  const q = p - 0.5
  const r = q * q
  const over = polynomial(
    [
      -39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269,
      -30.66479806614716, 2.506628277459239,
    ],
    r,
  )
  const under = polynomial(
    [
      -54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972,
      -13.28068155288572, 1,
    ],
    r,
  )
  return (over * q) / under
}

function tail(q: number): number {
  const over = polynomial(
    [
      -0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734,
      4.374664141464968, 2.938163982698783,
    ],
    q,
  )
  const under = polynomial(
    [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1],
    q,
  )
  return over / under
}

function polynomial(coefficients: readonly number[], x: number): number {
  return coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0)
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  }
  return value
}
