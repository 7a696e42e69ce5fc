import { SaxesParser } from 'saxes'

import { Utf8Decoder } from './text.ts'
import { FileError } from './types.ts'
import type { Zip, ZipPart } from './zip.ts'

/** Workbooks nest about ten deep; the parser keeps memory for every open element. */
const MAX_DEPTH = 100
/** Bytes without a tag. The parser collects them, so this bounds texts, attributes and comments. */
const MAX_TOKEN_BYTES = 1_048_576
/** Styles, relations and sheet lists are kept in memory; real ones stay far below. */
const MAX_SMALL_PART_BYTES = 64 * 1_048_576

/** Receives an XML part. Names come without their prefix. */
export interface XmlHandler {
  open(name: string, attributes: Record<string, string>): void
  close(name: string): void
  text?(text: string): void
}

/**
 * Feeds the bytes of one part to a handler. Refuses document types and entity declarations.
 *
 * saxes, not a scanner of our own: with unzipping and all of the cell logic it reads 50,000 rows of
 * 19 columns per CPU second (GSA leases, Node 24), and it refuses what is not well-formed.
 */
export class XmlFeed {
  readonly #name: string
  readonly #decoder = new Utf8Decoder()
  readonly #parser = new SaxesParser<{ xmlns: false }>({ xmlns: false, position: false } as {
    xmlns: false
  })
  #depth = 0
  #silent = 0

  constructor(name: string, handler: XmlHandler) {
    this.#name = name
    const parser = this.#parser
    parser.on('opentag', (tag) => {
      this.#silent = 0
      if (++this.#depth > MAX_DEPTH) throw this.#damaged('it is nested too deep')
      handler.open(localName(tag.name), tag.attributes)
    })
    parser.on('closetag', (tag) => {
      this.#depth--
      handler.close(localName(tag.name))
    })
    const text = handler.text?.bind(handler)
    if (text) {
      parser.on('text', text)
      parser.on('cdata', text)
    }
    parser.on('doctype', () => {
      throw new FileError('forbidden_xml', `${name} has a document type, which is not allowed.`)
    })
    parser.on('error', (error) => {
      throw this.#damaged(error.message.replace(/\.$/, ''), error)
    })
  }

  write(bytes: Buffer): void {
    this.#silent += bytes.length
    if (this.#silent > MAX_TOKEN_BYTES) {
      const text = `${this.#name} has a text of more than ${MAX_TOKEN_BYTES} bytes.`
      throw new FileError('cell_too_long', text, { limit: MAX_TOKEN_BYTES })
    }
    const text = this.#decoder.write(bytes)
    this.#parser.write(text)
    if (!this.#decoder.valid) throw this.#damaged('it is not UTF-8')
  }

  end(): void {
    if (!this.#decoder.end()) throw this.#damaged('it is not UTF-8')
    this.#parser.close()
  }

  #damaged(why: string, cause?: unknown): FileError {
    const text = `The workbook is damaged: ${this.#name} cannot be read, ${why}.`
    return new FileError('damaged_file', text, {}, cause)
  }
}

/** Reads a whole part that is small by nature. */
export async function readSmallPart(zip: Zip, part: ZipPart, handler: XmlHandler): Promise<void> {
  if (part.unzipped_bytes > MAX_SMALL_PART_BYTES) {
    throw new FileError(
      'zip_bomb',
      `${part.name} unzips to more than ${MAX_SMALL_PART_BYTES} bytes.`,
    )
  }
  const feed = new XmlFeed(part.name, handler)
  for await (const bytes of zip.read(part)) feed.write(bytes)
  feed.end()
}

function localName(name: string): string {
  const colon = name.indexOf(':')
  return colon < 0 ? name : name.slice(colon + 1)
}
