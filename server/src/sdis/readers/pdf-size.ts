/** What the streams of a PDF come to, measured before a reader holds them in memory: a small file may unpack to any size. */
import { pipeline } from 'node:stream/promises'
import { createInflate } from 'node:zlib'
import { FileError } from './types.ts'

/** No more than this comes out of a byte that is deflated. */
const RATIO_MAX = 1_032

/** The dictionary of a stream is as a rule no longer, and a document has no more of them. */
const DICTIONARY_MAX = 16_384
const STREAMS_MAX = 200_000

/** Different filters named in one dictionary, those of its parts included. */
const CHAINS_MAX = 8

/** Bytes given to the inflater at once; what comes out of them is counted before the next. */
const PIECE_BYTES = 16_384

/** Filters that give more than they take. */
const UNPACKING = /^(Fl|FlateDecode|LZW|LZWDecode|RL|RunLengthDecode)$/

/** Codes by which the table of an LZW stream starts over, and ends. */
const [CLEAR, END] = [256, 257]

/** @throws FileError `zip_bomb` when all streams together come to more than `max` bytes, or it cannot be told. */
export async function requireUnpacked(file: Buffer, max: number): Promise<void> {
  const text = file.toString('latin1')
  if (file.length * RATIO_MAX > max && /\/Encrypt\b/.test(plain(text))) {
    const message =
      'The document is encrypted and cannot be looked through. Save it without a password.'
    throw new FileError('encrypted_document', message)
  }
  let left = max
  for (const { chains, data } of streamsOf(file, text)) {
    const sizes = []
    for (const filters of chains) sizes.push(await unpackedSize(filters, data, left))
    left -= Math.max(...sizes)
    if (left >= 0) continue
    const message = `The document unpacks to more than ${max} bytes.`
    throw new FileError('zip_bomb', message, { limit: max })
  }
}

/** Names may be written with escapes: `/Fl#61teDecode`. */
function plain(text: string): string {
  return text.replaceAll(/#([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

/** Something that looks like a stream. */
interface Stream {
  /** The filters by which it may be packed; none where data says itself that it is deflated. */
  chains: string[][]
  /** From its first byte to the end of the file. */
  data: Buffer
}

function* streamsOf(file: Buffer, text: string): Generator<Stream> {
  let count = 0
  for (let at = text.indexOf('stream'); at >= 0; at = text.indexOf('stream', at + 6)) {
    if (text.startsWith('end', at - 3)) continue
    const [line = ''] = /^[^\r\n]{0,80}(\r\n|\r|\n)/.exec(text.slice(at, at + 90)) ?? []
    if (++count > STREAMS_MAX) throw unmeasured()
    const before = text.slice(Math.max(0, at - DICTIONARY_MAX), at)
    const dictionary = plain(before.slice(Math.max(0, before.lastIndexOf('obj'))))
    if (/\/Filter\s+\d+\s+\d+\s+R/.test(dictionary)) throw unmeasured()
    const named = new Set([...dictionary.matchAll(FILTERS)].map(([, names = '']) => names))
    if (named.size > CHAINS_MAX) throw unmeasured()
    const chains = [...named].map((names) =>
      [...names.matchAll(/\/([^\s/[\]]+)/g)].map(([, name = '']) => name),
    )
    yield { chains: [[], ...chains], data: file.subarray(at + line.length) }
  }
}

const FILTERS = /\/(?:Filter|F)\s*(\[[^\]]*\]|\/[^\s/<>[\]()]+)/g

function unmeasured(): FileError {
  const message = 'The document packs its texts in a way of which the size cannot be told.'
  return new FileError('zip_bomb', message)
}

/** The bytes that come out of a stream; more than `max` when there are more, however many. */
async function unpackedSize(
  filters: readonly string[],
  data: Buffer,
  max: number,
): Promise<number> {
  const [first = '', ...rest] = filters
  if (filters.filter((name) => UNPACKING.test(name)).length > 1) throw unmeasured()
  const isBase85 = /^(A85|ASCII85Decode)$/.test(first)
  if (isBase85 || /^(AHx|ASCIIHexDecode)$/.test(first)) {
    const inner = isBase85 ? ofBase85(before(data, '~>')) : ofHex(before(data, '>'))
    return inner.length + (await unpackedSize(rest, inner, max))
  }
  if (/^(LZW|LZWDecode)$/.test(first)) {
    const codes = before(data, 'endstream')
    return Math.max(codes.length, lzwSize(codes, 0, max), lzwSize(codes, 1, max))
  }
  // A run of 128 takes two bytes.
  if (/^(RL|RunLengthDecode)$/.test(first)) return 64 * before(data, 'endstream').length
  return await inflatedSize(data, max)
}

function before(data: Buffer, end: string): Buffer {
  const at = data.indexOf(end, 0, 'latin1')
  return at < 0 ? data : data.subarray(0, at)
}

/** Data that is not deflated comes to nothing. */
async function inflatedSize(data: Buffer, max: number): Promise<number> {
  const [method = 0, flags = 0] = data
  if ((method & 15) !== 8 || (method * 256 + flags) % 31 !== 0) return 0
  const inflate = createInflate({ chunkSize: 4 * PIECE_BYTES })
  // It takes no more when its data has ended, which is long before the file does.
  const fed = pipeline(pieces(data), inflate).catch(() => {})
  let size = 0
  try {
    for await (const piece of inflate as AsyncIterable<Buffer>) {
      size += piece.length
      if (size > max) break
    }
  } catch {
    // Damaged: the reader says so, where it needs what follows.
  }
  await fed
  return size
}

function* pieces(data: Buffer): Generator<Buffer> {
  for (let at = 0; at < data.length; at += PIECE_BYTES) yield data.subarray(at, at + PIECE_BYTES)
}

/** What LZW codes stand for, by the length of each alone: a new one is the one before it and a byte more. */
function lzwSize(codes: Buffer, early: 0 | 1, max: number): number {
  let [size, bits, held, previous] = [0, 0, 0, 0]
  let lengths: number[] = []
  for (const byte of codes) {
    held = ((held << 8) | byte) & 0xff_ffff
    bits += 8
    const known = 258 + lengths.length + early
    const width = known >= 2_048 ? 12 : known >= 1_024 ? 11 : known >= 512 ? 10 : 9
    if (bits < width) continue
    bits -= width
    const code = (held >> bits) & ((1 << width) - 1)
    if (code === END || size > max) break
    if (code === CLEAR) {
      lengths = []
      previous = 0
      continue
    }
    const length = code < CLEAR ? 1 : (lengths[code - 258] ?? previous + 1)
    if (previous > 0 && lengths.length < 4_096 - 258) lengths.push(previous + 1)
    previous = length
    size += length
  }
  return size
}

function ofHex(data: Buffer): Buffer {
  return Buffer.from(data.toString('latin1').replaceAll(/\s/g, ''), 'hex')
}

/** Five digits stand for four bytes, `z` for four zeros; a group that is cut short says nothing of the size. */
function ofBase85(data: Buffer): Buffer {
  const out = Buffer.alloc(4 * data.length)
  let [group, count, size] = [0, 0, 0]
  for (const byte of data) {
    if (byte === 0x7a && count === 0) size += 4
    if (byte < 0x21 || byte > 0x75) continue
    group = group * 85 + byte - 0x21
    if (++count < 5) continue
    size = out.writeUInt32BE(group >>> 0, size)
    group = count = 0
  }
  return out.subarray(0, size)
}
