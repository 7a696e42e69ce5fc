/** Counts of requests, and the text in which Prometheus reads counts. */
import type { FastifyInstance, FastifyReply } from 'fastify'

/** Upper bounds of the latency histogram, in seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Requests of one process since it started. */
export class RequestCounts {
  inFlight = 0
  seconds = 0
  readonly byClass = new Map([
    ['2xx', 0],
    ['3xx', 0],
    ['4xx', 0],
    ['5xx', 0],
    ['aborted', 0],
  ])
  /** Requests no slower than each bound, but slower than the one before; the last has no bound. */
  private readonly buckets = BOUNDS.map(() => 0).concat(0)

  /** Counts every request of the app from now on. */
  watch(app: FastifyInstance): void {
    app.addHook('onRequest', (_request, reply, done) => {
      this.inFlight++
      // Of an answer that was cut off no other event tells.
      reply.raw.once('close', () => this.end(reply))
      done()
    })
  }

  /** Metrics of the requests, ready to be rendered. */
  metrics(): Metric[] {
    let below = 0
    const buckets = this.buckets.map((count, i): Sample => {
      below += count
      return [{ le: String(BOUNDS[i] ?? '+Inf') }, below, '_bucket']
    })
    const requests = [...this.byClass].map(([name, count]): Sample => [{ class: name }, count])
    return [
      metric('grid_http_requests_total', 'counter', 'Requests answered, by class.', requests),
      metric('grid_http_requests_in_flight', 'gauge', 'Requests being answered.', this.inFlight),
      metric('grid_http_request_seconds', 'histogram', 'Time until the answer was sent.', [
        ...buckets,
        [{}, this.seconds, '_sum'],
        [{}, below, '_count'],
      ]),
    ]
  }

  private end(reply: FastifyReply): void {
    this.inFlight--
    const seconds = reply.elapsedTime / 1_000
    const name = reply.raw.writableFinished ? `${String(reply.statusCode).charAt(0)}xx` : 'aborted'
    this.byClass.set(name, (this.byClass.get(name) ?? 0) + 1)
    this.seconds += seconds
    const at = BOUNDS.findIndex((bound) => seconds <= bound)
    const bucket = at < 0 ? BOUNDS.length : at
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1
  }
}

/** Labels, value, and what the name of a histogram's sample ends in. */
export type Sample = [labels: Record<string, string>, value: number, suffix?: string]

export interface Metric {
  name: string
  type: 'counter' | 'gauge' | 'histogram'
  help: string
  samples: readonly Sample[]
}

/** @param given samples, or the one value of a metric without labels. */
export function metric(
  name: string,
  type: Metric['type'],
  help: string,
  given: number | readonly Sample[],
): Metric {
  return { name, type, help, samples: typeof given === 'number' ? [[{}, given]] : given }
}

/** The text format of Prometheus, version 0.0.4. */
export function renderMetrics(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap(({ name, type, help, samples }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value, suffix = '']) => `${name}${suffix}${braces(labels)} ${value}`),
  ])
  return `${lines.join('\n')}\n`
}

function braces(labels: Record<string, string>): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return parts.length > 0 ? `{${parts.join(',')}}` : ''
}
