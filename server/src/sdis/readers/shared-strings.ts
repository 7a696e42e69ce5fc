import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { unescapeText } from './cell-values.ts'
import { detached } from './text.ts'
import { FileError, type Limits } from './types.ts'
import { XmlFeed, type XmlHandler } from './xml.ts'
import type { Zip, ZipPart } from './zip.ts'

const PAGE_BYTES = 65_536
/** Sheets name texts mostly in the order of the table, so a few pages catch nearly all reads. */
const PAGES_IN_MEMORY = 128
const OFFSET_BYTES = 8
/** What V8 spends on a short string and its place in an array. */
const STRING_OVERHEAD_BYTES = 32

/**
 * A temporary file that is written to its end and then read at any place, page by page. Reads and
 * writes are synchronous because the XML parser calls from its callbacks; they meet the page cache.
 */
class PageFile {
  readonly #fd: number
  #size = 0
  #tail = Buffer.allocUnsafe(PAGE_BYTES)
  /** Oldest use first. */
  readonly #pages = new Map<number, Buffer>()
  #lastNumber = -1
  #last: Buffer = this.#tail

  constructor() {
    const path = join(tmpdir(), `grid-strings-${randomUUID()}`)
    this.#fd = openSync(path, 'wx+', 0o600)
    // Without a name it is gone with its handle, even if the process is killed.
    unlinkSync(path)
  }

  get size(): number {
    return this.#size
  }

  append(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      const used = this.#size % PAGE_BYTES
      const count = bytes.copy(this.#tail, used, at)
      at += count
      this.#size += count
      if (used + count === PAGE_BYTES) this.#write(PAGE_BYTES)
    }
  }

  /** Ends writing. */
  flush(): void {
    const used = this.#size % PAGE_BYTES
    if (used > 0) this.#write(used)
  }

  #write(length: number): void {
    const start = this.#size - length
    // A disk that is nearly full takes a part before it says so.
    for (let at = 0; at < length;) {
      at += writeSync(this.#fd, this.#tail, at, length - at, start + at)
    }
  }

  text(start: number, length: number): string {
    const from = start % PAGE_BYTES
    if (from + length <= PAGE_BYTES) {
      return this.#page((start - from) / PAGE_BYTES).toString('utf8', from, from + length)
    }
    const bytes = Buffer.alloc(length)
    readSync(this.#fd, bytes, 0, length, start)
    return bytes.toString('utf8')
  }

  /** A number of eight bytes. They never lie across two pages, for nothing else is in their file. */
  number(start: number): number {
    const from = start % PAGE_BYTES
    return this.#page((start - from) / PAGE_BYTES).readDoubleLE(from)
  }

  #page(number: number): Buffer {
    if (number === this.#lastNumber) return this.#last
    let page = this.#pages.get(number)
    if (page) {
      this.#pages.delete(number)
    } else {
      const full = this.#pages.size >= PAGES_IN_MEMORY
      const oldest = full ? this.#pages.entries().next().value : undefined
      if (oldest) this.#pages.delete(oldest[0])
      page = oldest?.[1] ?? Buffer.allocUnsafe(PAGE_BYTES)
      readSync(this.#fd, page, 0, PAGE_BYTES, number * PAGE_BYTES)
    }
    this.#pages.set(number, page)
    this.#lastNumber = number
    this.#last = page
    return page
  }

  close(): void {
    closeSync(this.#fd)
  }
}

/** The text table of a workbook: cells hold numbers into it. In memory first, then on disk. */
export class SharedStrings {
  readonly #limit: number
  #strings: string[] = []
  #bytes = 0
  #count = 0
  #disk: { texts: PageFile; offsets: PageFile } | undefined

  constructor(limit_bytes: number) {
    this.#limit = limit_bytes
  }

  get on_disk(): boolean {
    return this.#disk !== undefined
  }

  add(text: string): void {
    this.#count += 1
    if (this.#disk) {
      this.#addToDisk(text)
      return
    }
    this.#strings.push(detached(text))
    this.#bytes += STRING_OVERHEAD_BYTES + 2 * text.length
    if (this.#bytes > this.#limit) this.#spill()
  }

  /** Ends adding. */
  finish(): void {
    if (!this.#disk) return
    this.#writeOffset()
    this.#disk.texts.flush()
    this.#disk.offsets.flush()
  }

  /** Undefined if the table has no such text. */
  get(index: number): string | undefined {
    if (!this.#disk) return this.#strings[index]
    if (!(index >= 0 && index < this.#count)) return undefined
    const start = this.#offset(index)
    return this.#disk.texts.text(start, this.#offset(index + 1) - start)
  }

  close(): void {
    this.#disk?.texts.close()
    this.#disk?.offsets.close()
    this.#disk = undefined
    this.#strings = []
  }

  #spill(): void {
    this.#disk = { texts: new PageFile(), offsets: new PageFile() }
    for (const text of this.#strings) this.#addToDisk(text)
    this.#strings = []
  }

  #addToDisk(text: string): void {
    this.#writeOffset()
    this.#disk?.texts.append(Buffer.from(text, 'utf8'))
  }

  #writeOffset(): void {
    const bytes = Buffer.allocUnsafe(OFFSET_BYTES)
    bytes.writeDoubleLE(this.#disk?.texts.size ?? 0)
    this.#disk?.offsets.append(bytes)
  }

  #offset(index: number): number {
    return this.#disk?.offsets.number(index * OFFSET_BYTES) ?? 0
  }
}

/** Reads the text table of a workbook. The caller closes what it gets. */
export async function readSharedStrings(
  zip: Zip,
  part: ZipPart | undefined,
  limits: Limits,
): Promise<SharedStrings> {
  const strings = new SharedStrings(limits.max_shared_string_bytes_in_memory)
  if (!part) return strings
  try {
    const feed = new XmlFeed(part.name, new StringItems(strings, limits.max_cell_chars))
    for await (const bytes of zip.read(part)) feed.write(bytes)
    feed.end()
    strings.finish()
    return strings
  } catch (error) {
    strings.close()
    throw error
  }
}

/** Takes `<si>` items: one `<t>`, or several in formatted runs. Readings for Japanese are left out. */
class StringItems implements XmlHandler {
  readonly #strings: SharedStrings
  readonly #max_chars: number
  #text = ''
  #inText = false
  #inPhonetic = false

  constructor(strings: SharedStrings, max_chars: number) {
    this.#strings = strings
    this.#max_chars = max_chars
  }

  open(name: string): void {
    if (name === 't') this.#inText = !this.#inPhonetic
    else if (name === 'rPh') this.#inPhonetic = true
    else if (name === 'si') this.#text = ''
  }

  close(name: string): void {
    if (name === 't') this.#inText = false
    else if (name === 'rPh') this.#inPhonetic = false
    // A text over the limit is kept one character over it: only a cell that uses it is refused.
    else if (name === 'si')
      this.#strings.add(unescapeText(this.#text).slice(0, this.#max_chars + 1))
  }

  text(text: string): void {
    if (this.#inText && this.#text.length <= this.#max_chars) this.#text += text
  }
}

/** Refuses a number that names no text. */
export function missingString(index: string, row: number): FileError {
  const text = `The workbook is damaged: row ${row} names a text (${index}) that it does not have.`
  return new FileError('damaged_file', text, { row })
}
