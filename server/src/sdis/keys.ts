/** Hashes of texts and rows, and a compact set of texts by them, so that a file of millions of rows keeps memory flat. */
import type { Cell } from './readers/types.ts'

export type Hash = readonly [high: number, low: number]

/** Two independent 32-bit hashes of a text (murmur-style mixing). */
export function hash64(text: string): Hash {
  let a = 0x9e3779b9
  let b = 0x85ebca6b
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 0xcc9e2d51)
    b = Math.imul(b ^ code, 0x1b873593)
    a = (a << 13) | (a >>> 19)
    b = (b << 15) | (b >>> 17)
  }
  return mixed(a, b, text.length)
}

/** Spreads what the last characters did over all bits. */
function mixed(first: number, second: number, length: number): Hash {
  let a = Math.imul(first ^ (first >>> 16) ^ length, 0x85ebca6b)
  const b = Math.imul(second ^ (second >>> 16) ^ a, 0xc2b2ae35)
  a = Math.imul(a ^ (a >>> 13) ^ b, 0xc2b2ae35)
  return [(a ^ (a >>> 16)) >>> 0, (b ^ (b >>> 15)) >>> 0]
}

/**
 * What the cells at some places of one or several rows state, as PostgreSQL's signed bigint.
 * @param seed stands for what else decides the outcome: two adapters read the same cells differently.
 */
export function hashCells(
  rows: readonly { cells: readonly Cell[] }[],
  places: readonly number[],
  seed: Hash,
): string {
  let [a, b] = seed
  for (const { cells } of rows) {
    for (const place of places) {
      const cell = cells[place] ?? null
      const text =
        typeof cell === 'string'
          ? cell
          : typeof cell === 'object'
            ? JSON.stringify(cell)
            : String(cell)
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i)
        a = Math.imul(a ^ code, 0xcc9e2d51)
        b = Math.imul(b ^ code, 0x1b873593)
        a = (a << 13) | (a >>> 19)
        b = (b << 15) | (b >>> 17)
      }
      // Keeps cells apart, and the text 5 from the number 5, which may be read differently.
      const end = (text.length << 1) + (typeof cell === 'string' ? 0x20001 : 0x20000)
      a = Math.imul(a ^ end, 0x85ebca6b)
      b = Math.imul(b ^ end ^ a, 0xc2b2ae35)
    }
  }
  const [high, low] = mixed(a, b, rows.length)
  return BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low)).toString()
}

/** Counts how often each text was added. Open addressing; a hash of zero is stored as one. */
export class KeyCounts {
  size = 0
  private slots = new Uint32Array(3 * 1024)

  /** @returns how often the text had been added before. */
  add(text: string): number {
    if (this.size * 2 > this.slots.length / 3) this.grow()
    const [high, low] = hash64(text)
    const at = this.find(this.slots, high || 1, low)
    const before = this.slots[at + 2] as number
    if (before === 0) {
      this.slots[at] = high || 1
      this.slots[at + 1] = low
      this.size++
    }
    this.slots[at + 2] = before + 1
    return before
  }

  count(text: string): number {
    const [high, low] = hash64(text)
    return this.slots[this.find(this.slots, high || 1, low) + 2] as number
  }

  private find(slots: Uint32Array, high: number, low: number): number {
    const capacity = slots.length / 3
    let slot = ((low ^ high) >>> 0) % capacity
    while (slots[slot * 3] !== 0 && !(slots[slot * 3] === high && slots[slot * 3 + 1] === low)) {
      slot = slot + 1 === capacity ? 0 : slot + 1
    }
    return slot * 3
  }

  private grow(): void {
    const larger = new Uint32Array(this.slots.length * 2)
    for (let i = 0; i < this.slots.length; i += 3) {
      const high = this.slots[i] as number
      if (high === 0) continue
      const at = this.find(larger, high, this.slots[i + 1] as number)
      larger.set(this.slots.subarray(i, i + 3), at)
    }
    this.slots = larger
  }
}
