/** The chunks of a file on their way: looked up, mapped, made ready, and put where the run puts them. */
import { chunks } from './chunks.ts'
import type { Chunk, Source, Survey } from './chunks.ts'
import { withCounts } from './jobs.ts'
import type { KeyCounts } from './keys.ts'
import { lookUp, mapChunk, readyChunk } from './pass.ts'
import type { Changed, Ready } from './pass.ts'
import { Resolver } from './resolve.ts'
import { announce } from './running.ts'
import type { Running } from './running.ts'

/** Progress where nothing is written is saved at most this often. */
export const QUIET_MS = 1_000

/**
 * Where a chunk goes that is ready. It may begin before the chunk before it is put, to which it waits in the end; the one
 * before that is put.
 */
export type Put = (ready: Ready, before: Promise<void>) => Promise<void>

/**
 * While a chunk is written the statements of the next one are built, and while they wait the one after it is read and
 * made ready.
 * @param putter of the run, which needs to know its file and what was found for it.
 */
export async function passAll(
  running: Running,
  source: Source,
  seen: KeyCounts,
  found: Survey,
  putter: (source: Source, resolver: Resolver) => Put,
): Promise<void> {
  const line = new Line(running, source, putter)
  let no = 0
  try {
    for await (const chunk of chunks(source, seen, found)) await line.take(no++, chunk)
    await line.end()
  } finally {
    await line.settle()
    await source.table.close()
  }
}

/** The chunks on their way, one at each station. Those of earlier attempts pass by. */
class Line {
  private readonly running: Running
  private readonly source: Source
  private readonly resolver: Resolver
  private readonly put: Put
  private preparing: Promise<void> = Promise.resolve()
  private writing: Promise<void> = Promise.resolve()
  /** The write before that: its session is the next one's. */
  private written: Promise<void> = Promise.resolve()
  private quiet = performance.now()

  constructor(
    running: Running,
    source: Source,
    putter: (source: Source, resolver: Resolver) => Put,
  ) {
    this.running = running
    this.source = source
    this.resolver = new Resolver(running.load, running.stream, source.mapping)
    this.put = putter(source, this.resolver)
  }

  async take(no: number, chunk: Chunk): Promise<void> {
    const { running } = this
    const before = running.done.get(no)
    if (before) {
      running.counts = withCounts(running.counts, before)
      return
    }
    const changed = handled(lookUp(running, chunk))
    await this.preparing
    this.preparing = handled(this.pass(no, chunk, changed))
    await running.fed
  }

  async end(): Promise<void> {
    await this.preparing
    await this.writing
  }

  /** Waits until nothing is under way any more, however it ended: the session must be free. */
  async settle(): Promise<void> {
    await Promise.allSettled([this.preparing, this.writing])
    await Promise.allSettled([this.writing])
  }

  private async pass(no: number, chunk: Chunk, changed: Changed): Promise<void> {
    const { running, source, resolver } = this
    await running.fed
    const mapped = await mapChunk(source, no, chunk, changed)
    if (mapped.items.length === 0 && mapped.errors.length === 0) {
      running.counts = withCounts(running.counts, mapped.counts)
      if (performance.now() - this.quiet < QUIET_MS) return
      this.quiet = performance.now()
      await this.writing
      await announce(running, running.diff ? 'checking' : 'writing')
      return
    }
    await running.fed
    const ready = await readyChunk(running, source, resolver, mapped)
    await this.written
    this.written = this.writing
    this.writing = handled(this.put(ready, this.written))
  }
}

/** A promise that is awaited later: until then its failure is nobody's concern. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}
