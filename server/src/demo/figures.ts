/** Figures as the portfolio writes them. */

/** An amount of money with two digits. */
export function amount(value: number): string {
  return value.toFixed(2)
}

/** A rate per area with four digits. */
export function rate(value: number): string {
  return value.toFixed(4)
}

/** The nearest multiple of `step`. */
export function toStep(value: number, step: number): number {
  return Math.round(value / step) * step
}

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

export function sum(values: Iterable<number>): number {
  let total = 0
  for (const value of values) total += value
  return total
}
