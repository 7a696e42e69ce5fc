/**
 * Columns of many rows as PostgreSQL arrays in their binary form: a load sends a thousand values as one parameter, and
 * neither side writes or reads a number as text. For `Tx.query`, whose driver marks buffers as binary.
 */

const TEXT = 25
const BIGINT = 20
const INTEGER = 23
const BOOLEAN = 16
const TIMESTAMPTZ = 1184

/** Dimensions, whether there are nulls, type of the elements, their number, first index: 32 bits each. */
const HEADER_BYTES = 20

/** 2000-01-01, from which PostgreSQL counts, in epoch milliseconds. */
const EPOCH_MS = 946_684_800_000

export function textArray(values: readonly (string | null)[]): Buffer {
  let bytes = 0
  for (const value of values) if (value !== null) bytes += Buffer.byteLength(value)
  const buffer = header(TEXT, values.length, bytes)
  let at = HEADER_BYTES
  for (const value of values) {
    if (value === null) {
      at = buffer.writeInt32BE(-1, at)
      continue
    }
    const size = buffer.write(value, at + 4)
    buffer.writeInt32BE(size, at)
    at += 4 + size
  }
  return buffer
}

export function bigintArray(values: readonly (number | bigint | null)[]): Buffer {
  return fixed(BIGINT, 8, values, (buffer, value, at) => {
    if (typeof value === 'bigint') buffer.writeBigInt64BE(value, at)
    else writeWhole(buffer, value, at)
  })
}

export function integerArray(values: readonly (number | null)[]): Buffer {
  return fixed(INTEGER, 4, values, (buffer, value, at) => buffer.writeInt32BE(value, at))
}

export function booleanArray(values: readonly (boolean | null)[]): Buffer {
  return fixed(BOOLEAN, 1, values, (buffer, value, at) => buffer.writeInt8(value ? 1 : 0, at))
}

/** @param values epoch milliseconds. */
export function timeArray(values: readonly (number | null)[]): Buffer {
  return fixed(TIMESTAMPTZ, 8, values, (buffer, value, at) => {
    writeWhole(buffer, (value - EPOCH_MS) * 1_000, at)
  })
}

/** A safe integer in 64 bits, without making a bigint of it. */
function writeWhole(buffer: Buffer, value: number, at: number): void {
  const high = Math.floor(value / 2 ** 32)
  buffer.writeInt32BE(high, at)
  buffer.writeUInt32BE(value - high * 2 ** 32, at + 4)
}

function fixed<T>(
  type: number,
  size: number,
  values: readonly (T | null)[],
  write: (buffer: Buffer, value: T, at: number) => void,
): Buffer {
  const known = values.reduce<number>((sum, value) => (value === null ? sum : sum + 1), 0)
  const buffer = header(type, values.length, known * size)
  let at = HEADER_BYTES
  for (const value of values) {
    at = buffer.writeInt32BE(value === null ? -1 : size, at)
    if (value === null) continue
    write(buffer, value, at)
    at += size
  }
  return buffer
}

function header(type: number, count: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + count * 4 + bytes)
  buffer.writeInt32BE(count > 0 ? 1 : 0, 0)
  buffer.writeInt32BE(1, 4)
  buffer.writeInt32BE(type, 8)
  buffer.writeInt32BE(count, 12)
  buffer.writeInt32BE(1, 16)
  // An array without elements ends after its type.
  return count > 0 ? buffer : buffer.subarray(0, 12)
}
