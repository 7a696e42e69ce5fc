/** The rules of documents: what may be stored, changed and deleted, and in which order things become true. */
import type { Readable } from 'node:stream'
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { earlierAnswer, fingerprintOf } from '../kit/idempotency.ts'
import { publicId } from '../kit/ids.ts'
import { writableFields } from '../kit/resource.ts'
import type { Row } from '../kit/resource.ts'
import { createDocs } from '../kit/schemas.ts'
import { get, parseBody } from '../kit/store.ts'
import type { Store } from '../kit/store.ts'
import { validate } from '../kit/validate.ts'
import { create, pauseBefore, remove, update, versionConflict } from '../kit/write.ts'
import type { Outcome, WriteRequest } from '../kit/write.ts'
import { cut } from './file-type.ts'
import type { FileKey } from './files.ts'
import { formBody } from './form.ts'
import { missingLinks } from './queries.ts'
import type { Link } from './queries.ts'
import { document } from './resource.ts'
import type { Storage } from './storage.ts'
import type { Upload, UploadedFile } from './upload.ts'

/** Every version stands in the document's row. */
const VERSIONS_MAX = 1_000

/** Length of a title, in characters. */
const TITLE_MAX = 200

/** A version as the document's row lists it. */
export interface Version {
  id: string
  number: number
  sha256: string
  byte_size: number
  content_type: string
  filename: string
  uploaded_at: string
  uploaded_by: { type: string; id: string | null }
  note: string | null
}

/** What documents are written with. */
export interface Documents {
  store: Store
  storage: Storage
}

/** Ids for a file that is about to be received: of a new document, or of a version of one that exists. */
export async function newKey(
  { db }: Store,
  org_id: number,
  document_id?: number,
): Promise<FileKey> {
  const [version_id, new_id] = (await db.ids(document_id === undefined ? 2 : 1)) as [number, number]
  return { org_id, document_id: document_id ?? new_id, version_id }
}

/** A document whose file is added later. */
export async function createPending(
  { store }: Documents,
  request: WriteRequest,
  body: unknown,
): Promise<Outcome> {
  const input = await checked(store, request.org_id, body, [])
  return await create(store, document, request, input)
}

/** A document with its file, which stands in the spool. The title is the file's name unless one is given. */
export async function createWithFile(
  documents: Documents,
  asked: WriteRequest,
  key: FileKey,
  upload: Upload,
): Promise<Outcome> {
  const { store } = documents
  const { fields, metadata, file } = upload
  const request = fingerprinted(asked, upload)
  return await withFile(documents, request, key, file, async () => {
    const issues: Issue[] = []
    const form = formBody(writableFields(document), fields, issues)
    const body = { title: cut(file.filename, TITLE_MAX), ...metadata, ...form }
    const input = await checked(store, request.org_id, body, issues)
    const extra = withVersion(versionOf(request, key, file, 1, null), [])
    return async () => await create(store, document, request, input, { id: key.document_id, extra })
  })
}

/** A new version of a document, from the spool. It becomes the current one, and the document available. */
export async function addVersion(
  documents: Documents,
  asked: WriteRequest,
  key: FileKey,
  upload: Upload,
  expected: number | null,
): Promise<Outcome> {
  const { store } = documents
  const { fields, metadata, file } = upload
  const request = fingerprinted(asked, upload)
  return await withFile(documents, request, key, file, async () => {
    const note = noteOf({ ...metadata, ...Object.fromEntries(fields) })
    return async () =>
      await retried(expected, async () => {
        const { row, version } = await presentDocument(store, key.org_id, key.document_id, expected)
        const before = versionsOf(row)
        if (before.length >= VERSIONS_MAX)
          throw new ApiError('conflict', `A document has at most ${VERSIONS_MAX} versions.`)
        const added = versionOf(request, key, file, before.length + 1, note)
        const extra = withVersion(added, before)
        return await update(store, document, request, key.document_id, {}, version, extra)
      })
  })
}

/** Two uploads are the same request when their fields and the bytes of their files are. */
function fingerprinted(
  { idempotency, ...request }: WriteRequest,
  { fields, metadata, file }: Upload,
): WriteRequest {
  if (!idempotency) return request
  const form = [idempotency.fingerprint, metadata, Object.fromEntries(fields), file.sha256]
  return { ...request, idempotency: { ...idempotency, fingerprint: fingerprintOf(form) } }
}

/**
 * Puts a spooled file at its place and then writes what speaks of it. A refusal, and a repeat of an earlier request,
 * leave no file behind. After any other failure nobody knows whether the write was committed: the file stays, and so
 * does its mark in the spool, for the sweep to decide.
 * @param prepare checks the input and gives back the write.
 */
async function withFile(
  { store, storage }: Documents,
  request: WriteRequest,
  key: FileKey,
  file: UploadedFile,
  prepare: () => Promise<() => Promise<Outcome>>,
): Promise<Outcome> {
  let placed = false
  const forget = async (): Promise<void> => {
    if (placed) await storage.remove(key)
    await storage.spool.drop(key)
  }
  try {
    const replayed = await earlierAnswer(store, request)
    if (replayed) {
      await forget()
      return { id: key.document_id, version: 1, body: replayed.body, replayed }
    }
    const write = await prepare()
    placed = true
    await storage.put(key, file)
    const outcome = await write()
    if (outcome.replayed) await forget()
    else await storage.spool.drop(key)
    return outcome
  } catch (error) {
    // What cannot be removed now keeps its mark, so the sweep comes back to it.
    if (error instanceof ApiError || !placed) await forget().catch(() => {})
    throw error
  }
}

/** A merge patch whose links lead somewhere. */
export async function changeDocument(
  { store }: Documents,
  request: WriteRequest,
  id: number,
  patch: Row,
  expected: number | null,
): Promise<Outcome> {
  await get(store, request.org_id, document, id)
  const issues = await linkIssues(store, request.org_id, patch)
  if (issues.length > 0) throw invalid(issues)
  return await update(store, document, request, id, patch, expected)
}

/** Deletes softly; the files stay with the tombstone. @throws 409 under legal hold. */
export async function deleteDocument(
  { store }: Documents,
  request: WriteRequest,
  id: number,
  expected: number | null,
): Promise<void> {
  await retried(expected, async () => {
    const { row, version } = await presentDocument(store, request.org_id, id, expected)
    if (row['legal_hold'] === true) {
      const detail = `Document ${publicId('doc', id)} is under legal hold and cannot be deleted.`
      throw new ApiError('conflict', detail, { legal_hold: true })
    }
    await remove(store, document, request, id, version)
  })
}

/** Versions of a document, oldest first. @throws 404 when it does not exist. */
export async function listVersions(store: Store, org_id: number, id: number): Promise<Version[]> {
  const { row } = await presentDocument(store, org_id, id, null)
  return versionsOf(row)
}

/** A version of a document's file, the current one unless a number is given. @throws 404 saying what is absent. */
export async function getVersion(
  store: Store,
  org_id: number,
  id: number,
  number: number | null,
): Promise<{ version: Version; key: FileKey }> {
  const versions = await listVersions(store, org_id, id)
  const name = publicId('doc', id)
  if (versions.length === 0) {
    const hint = `add one with POST /documents/${name}/versions`
    throw new ApiError('not_found', `Document ${name} has no file yet; ${hint}.`)
  }
  const version = number === null ? versions.at(-1) : versions.find((v) => v.number === number)
  if (!version) throw notFound(`Version ${number} of document ${name}`)
  const version_id = Number(version.id.slice(version.id.indexOf('_') + 1))
  return { version, key: { org_id, document_id: id, version_id } }
}

/** The current file of a document, opened. @throws 404 when there is none. */
export async function documentFile(
  store: Store,
  storage: Storage,
  org_id: number,
  id: number,
): Promise<{ filename: string; content: Readable }> {
  const { version, key } = await getVersion(store, org_id, id, null)
  return { filename: version.filename, content: await storage.open(key, null) }
}

/** A document and its version. @throws 404 when it does not exist, 412 when it is not the expected version. */
export async function presentDocument(
  store: Store,
  org_id: number,
  id: number,
  expected: number | null,
): Promise<{ row: Row; version: number }> {
  const { body, version } = await get(store, org_id, document, id)
  if (expected !== null && expected !== version) throw versionConflict(version)
  return { row: parseBody(body), version }
}

/** Runs a read and the write that hangs on it again when another write came between, unless a version is pinned. */
async function retried<T>(expected: number | null, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      await pauseBefore(error, attempt, expected)
    }
  }
}

/** A create body that is valid and whose links lead somewhere. */
async function checked(
  store: Store,
  org_id: number,
  body: unknown,
  issues: readonly Issue[],
): Promise<Row> {
  const schema = createDocs(document).schema.body ?? {}
  const known = new Set(issues.map(({ field }) => field))
  const found = [...issues, ...validate(schema, body).filter(({ field }) => !known.has(field))]
  if (found.length > 0) throw invalid(found)
  const input = body as Row
  const links = await linkIssues(store, org_id, input)
  if (links.length > 0) throw invalid(links)
  return input
}

async function linkIssues(store: Store, org_id: number, input: Row): Promise<Issue[]> {
  const links = (input['links'] ?? []) as Link[]
  const missing = await missingLinks(store.db, store.registry, org_id, links)
  return missing.map((at) => {
    const { object_type, object_id } = links[at] as Link
    const message = `no ${object_type.replaceAll('_', ' ')} has the id ${object_id}`
    return { field: `links[${at}].object_id`, code: 'not_found', message }
  })
}

const NOTE_MAX = 2_000

/** The one field a version has beside its file. */
function noteOf(form: Row): string | null {
  const { note, ...others } = form
  const unknown = Object.keys(others).map((field) => ({
    field,
    code: 'unknown_field',
    message: `unknown field '${field}'; a version has a file and a note`,
  }))
  if (unknown.length > 0) throw invalid(unknown)
  const text: unknown = Array.isArray(note) ? note.at(-1) : note
  if (text === undefined || text === null || text === '') return null
  if (typeof text === 'string' && text.length <= NOTE_MAX) return text
  const message = `must be text of at most ${NOTE_MAX} characters`
  throw invalid([{ field: 'note', code: 'invalid_type', message }])
}

function versionsOf(row: Row): Version[] {
  return (row['versions'] ?? []) as Version[]
}

/** The entry of a file that is in storage, for the list of versions of its document. */
export function versionOf(
  { actor }: WriteRequest,
  key: FileKey,
  file: UploadedFile,
  number: number,
  note: string | null,
): Version {
  return {
    id: publicId('ver', key.version_id),
    number,
    sha256: file.sha256,
    byte_size: file.byte_size,
    content_type: file.content_type,
    filename: file.filename,
    uploaded_at: new Date().toISOString(),
    uploaded_by: { type: actor.type, id: actor.id },
    note,
  }
}

/** The read-only fields of a document once a version is its current one. */
export function withVersion(version: Version, before: readonly Version[]): Row {
  const { id, number, filename, content_type, byte_size, sha256 } = version
  return {
    status: 'available',
    filename,
    content_type,
    byte_size,
    sha256,
    page_count: null,
    version_number: number,
    current_version_id: id,
    versions: [...before, version],
    text_status: null,
    ocr_language: null,
    extractions: null,
  }
}
