import { FileError } from './readers/types.ts'

/** What the expressions of a chunk may take together, in milliseconds; a thousand times what a chunk of a real file takes. */
const CHUNK_MS = 10_000

/** Wall clock of expressions: only the time spent in them counts, not what the database takes meanwhile. */
export class Budget {
  private spent_ms = 0
  private started = 0
  private readonly limit_ms: number

  constructor(limit_ms = CHUNK_MS) {
    this.limit_ms = limit_ms
  }

  /** A new chunk begins. */
  renew(): void {
    this.spent_ms = 0
  }

  begin(): void {
    this.started = performance.now()
  }

  /** @throws FileError when the chunk has had its time. */
  end(): void {
    this.spent_ms += performance.now() - this.started
    this.started = 0
    if (this.spent_ms > this.limit_ms) throw this.exceeded()
  }

  /** For what may take long within one evaluation. @throws FileError as `end` does. */
  check(): void {
    const under_way = this.started === 0 ? 0 : performance.now() - this.started
    if (this.spent_ms + under_way > this.limit_ms) throw this.exceeded()
  }

  private exceeded(): FileError {
    const message = `The expressions of the adapter took more than ${this.limit_ms} ms for one chunk of rows.`
    return new FileError('expression_timeout', message, { limit_ms: this.limit_ms })
  }
}
