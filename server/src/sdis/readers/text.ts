import { isUtf8 } from 'node:buffer'

const REPLACEMENT = '\ufffd'

/** Turns bytes into text piece by piece. Characters may lie across the border of two pieces. */
export interface ByteDecoder {
  /** Text of the next bytes, up to the first that is no character. */
  write(bytes: Buffer): string
  /** False once a byte was met that is no character, or the last one was cut. */
  end(): boolean
  readonly valid: boolean
}

/** Strict UTF-8. Unlike `TextDecoder` it gives what came before a fault, and so the line of it. */
export class Utf8Decoder implements ByteDecoder {
  valid = true
  #rest: Buffer = Buffer.alloc(0)

  write(bytes: Buffer): string {
    const all = this.#rest.length > 0 ? Buffer.concat([this.#rest, bytes]) : bytes
    const length = wholeLength(all)
    const whole = all.subarray(0, length)
    // A copy, since callers read the next piece into the same memory.
    this.#rest = Buffer.from(all.subarray(length))
    if (isUtf8(whole)) return whole.toString('utf8')
    this.valid = false
    return validPrefix(whole)
  }

  end(): boolean {
    return this.valid && this.#rest.length === 0
  }
}

/** The text as it can be kept: what no text may hold (NUL, half of a surrogate pair) is the replacement character. */
export function storable(text: string): string {
  return text.replaceAll('\0', REPLACEMENT).toWellFormed()
}

/**
 * The same text without a hold on the text it was cut from. V8 keeps the whole source of a slice of
 * 13 characters or more alive: a caller who keeps one key per row would keep the whole file.
 */
export function detached(text: string): string {
  return text.length > 12 ? (' ' + text).slice(1) : text
}

/** Windows-1252, in which every byte is a character. */
export class Windows1252Decoder implements ByteDecoder {
  readonly valid = true

  write(bytes: Buffer): string {
    return bytes
      .toString('latin1')
      .replaceAll(/[\x80-\x9f]/g, (char) => HIGH.charAt(char.charCodeAt(0) - 0x80))
  }

  end(): boolean {
    return true
  }
}

/** Bytes 80 to 9F; the five without a character stay what they are, as browsers do it. */
const HIGH = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Number of bytes up to the last complete character. */
function wholeLength(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return size > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

function validPrefix(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  for (let at = text.indexOf(REPLACEMENT); at >= 0; at = text.indexOf(REPLACEMENT, at + 1)) {
    const prefix = text.slice(0, at + 1)
    // The character may also stand in the file as itself: then the bytes up to it are the same.
    if (!Buffer.from(prefix).equals(bytes.subarray(0, Buffer.byteLength(prefix))))
      return text.slice(0, at)
  }
  return text
}
