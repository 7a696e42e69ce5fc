/**
 * Exact arithmetic on money as it travels: decimal strings (numbers are accepted too). A value is held as a whole
 * number of 10^-digits; what is not a decimal is null, never NaN.
 */
const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?$/

/** The value in units of 10^-digits, further digits rounded half away from zero. */
export function parseDecimal(value: unknown, digits: number): bigint | null {
  const text = typeof value === 'number' ? plain(value) : value
  const match = typeof text === 'string' ? DECIMAL.exec(text) : null
  if (!match) return null
  const [, sign, whole = '', fraction = ''] = match
  const kept = BigInt(whole + fraction.slice(0, digits).padEnd(digits, '0'))
  const up = fraction.charAt(digits) >= '5' ? 1n : 0n
  return sign === '-' ? -(kept + up) : kept + up
}

/** A number without an exponent. */
function plain(value: number): string {
  const text = String(value)
  return text.includes('e-') ? value.toFixed(20) : text
}

/** Units of 10^-digits as a decimal string with exactly that many digits. */
export function formatDecimal(units: bigint, digits: number): string {
  const text = (units < 0n ? -units : units).toString().padStart(digits + 1, '0')
  const point = text.length - digits
  const sign = units < 0n ? '-' : ''
  return digits === 0 ? sign + text : `${sign}${text.slice(0, point)}.${text.slice(point)}`
}

/** The sum of the amounts that are known, with two digits; null when none is. */
export function sumMoney(amounts: readonly unknown[]): string | null {
  const known = amounts.map((amount) => parseDecimal(amount, 2)).filter((units) => units !== null)
  if (known.length === 0) return null
  return formatDecimal(
    known.reduce((sum, units) => sum + units, 0n),
    2,
  )
}

/** Quantity (up to 6 digits) times price (up to 4), as an amount with two digits; null when either is unknown. */
export function multiplyMoney(quantity: unknown, price: unknown): string | null {
  const left = parseDecimal(quantity, 6)
  const right = parseDecimal(price, 4)
  if (left === null || right === null) return null
  return formatDecimal(parseDecimal(formatDecimal(left * right, 10), 2) ?? 0n, 2)
}

/** The quotient of two whole numbers, rounded half away from zero; the divisor is not zero. */
export function divideRounded(dividend: bigint, divisor: bigint): bigint {
  const isNegative = dividend < 0n !== divisor < 0n
  const [a, b] = [dividend < 0n ? -dividend : dividend, divisor < 0n ? -divisor : divisor]
  const quotient = (a * 2n + b) / (b * 2n)
  return isNegative ? -quotient : quotient
}
