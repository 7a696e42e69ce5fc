/** Jobs as OpenLineage run events: which file, by which mapping, became which values. Pure. https://openlineage.io/spec */
import { createHash } from 'node:crypto'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import type { Stream } from './adapter.ts'
import { emptyCounts } from './jobs.ts'
import type { Job } from './jobs.ts'

export const RUN_TYPES = ['START', 'RUNNING', 'COMPLETE', 'FAIL', 'ABORT'] as const
export type RunType = (typeof RUN_TYPES)[number]

const PRODUCER = 'https://github.com/portfolio-grid/portfolio-grid'
const SPEC = 'https://openlineage.io/spec'

/** A run event in the form of OpenLineage 2.0.2. */
export function runEvent(job: Job, type: RunType, at: Date): Row {
  const [stream] = job.adapter.streams
  return {
    eventType: type,
    eventTime: at.toISOString(),
    producer: PRODUCER,
    schemaURL: `${SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent`,
    run: { runId: runId(job.org_id, job.id), facets: runFacets(job, type) },
    job: {
      ...jobName(job),
      facets: {
        jobType: facet('2-0-3/JobTypeJobFacet', {
          processingType: 'BATCH',
          integration: 'PORTFOLIO_GRID',
          jobType: job.dry_run ? 'DRY_RUN' : job.kind.toUpperCase(),
        }),
      },
    },
    inputs: job.kind === 'undo' ? [] : [inputOf(job, stream as Stream)],
    outputs: [outputOf(job, stream as Stream, type)],
  }
}

/** The id of a job as the UUID that OpenLineage wants; the same whenever it is asked for. */
export function runId(org_id: number, job_id: number): string {
  const hex = createHash('sha256').update(`portfolio-grid job ${org_id} ${job_id}`).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

function facet(schema: string, values: Row): Row {
  return { _producer: PRODUCER, _schemaURL: `${SPEC}/facets/${schema}.json`, ...values }
}

function namespaceOf(job: Job): string {
  return `portfolio-grid/${publicId('org', job.org_id)}`
}

function jobName(job: Job): { namespace: string; name: string } {
  return {
    namespace: namespaceOf(job),
    name: `${job.adapter.adapter}.${job.adapter.streams[0]?.name}`,
  }
}

function runFacets(job: Job, type: RunType): Row {
  const facets: Row = {}
  if (job.parent_id !== null)
    facets['parent'] = facet('1-1-0/ParentRunFacet', {
      run: { runId: runId(job.org_id, job.parent_id) },
      job: jobName(job),
    })
  if (type === 'FAIL' && job.error)
    facets['errorMessage'] = facet('1-0-1/ErrorMessageRunFacet', {
      message: `${job.error.code}: ${job.error.message}`,
      programmingLanguage: 'TypeScript',
    })
  return facets
}

function inputOf(job: Job, stream: Stream): Row {
  const { rows_read, rows_total } = { ...emptyCounts(), ...job.counts }
  const columns = [...new Set([...columnsIn(stream).values()].flat())].sort()
  return {
    namespace: 'file',
    name: job.file_name,
    facets: {
      version: facet('1-0-1/DatasetVersionDatasetFacet', { datasetVersion: job.file_sha256 }),
      schema: facet('1-1-1/SchemaDatasetFacet', { fields: columns.map((name) => ({ name })) }),
    },
    inputFacets: {
      inputStatistics: facet('1-0-0/InputStatisticsInputDatasetFacet', {
        rowCount: rows_total || rows_read,
        size: job.file_bytes,
        fileCount: 1,
      }),
    },
  }
}

function outputOf(job: Job, stream: Stream, type: RunType): Row {
  const counts = { ...emptyCounts(), ...job.counts }
  const fields = [...columnsIn(stream)]
  const facets = {
    schema: facet('1-1-1/SchemaDatasetFacet', { fields: fields.map(([name]) => ({ name })) }),
    ...(job.kind === 'undo' ? {} : { columnLineage: columnLineage(job, fields) }),
  }
  const written = counts.created + counts.changed + counts.ended
  const statistics = facet('1-0-2/OutputStatisticsOutputDatasetFacet', { rowCount: written })
  return {
    namespace: namespaceOf(job),
    name: stream.type,
    facets,
    ...(type === 'START' ? {} : { outputFacets: { outputStatistics: statistics } }),
  }
}

function columnLineage(job: Job, fields: readonly [string, readonly string[]][]): Row {
  return facet('1-2-0/ColumnLineageDatasetFacet', {
    fields: Object.fromEntries(
      fields.map(([name, columns]) => [
        name,
        {
          inputFields: columns.map((field) => ({
            namespace: 'file',
            name: job.file_name,
            field,
            transformations: [{ type: 'DIRECT', subtype: 'TRANSFORMATION' }],
          })),
        },
      ]),
    ),
  })
}

const COLUMN = /\brow(?:\.([A-Za-z_]\w*)|\[(?:"([^"]+)"|'([^']+)')\])/g

/** The columns of the file that each field of the stream is made of. */
export function columnsIn(stream: Stream): Map<string, string[]> {
  const found = new Map<string, string[]>()
  const add = (field: string, text: string): void => {
    const [name = field] = field.split('.')
    const columns = [...text.matchAll(COLUMN)].map(([, a, b, c]) => a ?? b ?? c ?? '')
    found.set(name, [...new Set([...(found.get(name) ?? []), ...columns])])
  }
  for (const [field, entry] of Object.entries(stream.map)) add(field, textOf(entry))
  for (const [field, rule] of Object.entries(stream.resolve)) add(field, textOf(rule.value))
  return found
}

/** Every expression of an entry, however deep. */
function textOf(entry: unknown): string {
  if (typeof entry === 'string') return entry
  if (typeof entry !== 'object' || entry === null) return ''
  return Object.values(entry).map(textOf).join(' ')
}
