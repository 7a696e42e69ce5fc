/** Sources and rules: previewed, changed, and carried through all objects. */
import { flightsIn } from '../db/db.ts'
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import { ranksOf } from '../kit/history.ts'
import { pathId, publicId } from '../kit/ids.ts'
import { once, rowsIn } from '../kit/once.ts'
import type { Answer, Answered } from '../kit/once.ts'
import { record } from '../kit/record.ts'
import type { Happening } from '../kit/record.ts'
import type { Row } from '../kit/resource.ts'
import type { Rule } from '../kit/survivorship.ts'
import type { Store } from '../kit/store.ts'
import type { Flights, OrgDb, OrgRows, Tx } from '../kit/types.ts'
import { versionConflict } from '../kit/write.ts'
import type { WriteRequest } from '../kit/write.ts'
import {
  ruleOf,
  ruleProposal,
  ruleView,
  sourceOf,
  sourceProposal,
  sourceView,
  weighsOtherwise,
} from './proposals.ts'
import type { PreviewBody, RuleBody, SourceBody } from './proposals.ts'
import {
  deleteRule,
  findChange,
  findRule,
  findSource,
  insertChange,
  nextRevision,
  saveRule,
  saveSource,
} from './queries.ts'
import type { ChangeRow, RuleRow, SourceRow } from './queries.ts'
import { preview } from './weigh.ts'
import type { Preview, Proposal } from './weigh.ts'

export async function getSource(db: OrgRows, org_id: number, text: string): Promise<SourceRow> {
  const source = await findSource(db, org_id, pathId('src', text))
  if (!source) throw notFound(`Source ${text}`)
  return source
}

export async function getRule(db: OrgRows, org_id: number, text: string): Promise<RuleRow> {
  const rule = await findRule(db, org_id, pathId('sur', text))
  if (!rule) throw notFound(`Rule ${text}`)
  return rule
}

export async function getChange(db: OrgDb, org_id: number, text: string): Promise<ChangeRow> {
  const change = await findChange(db, org_id, pathId('rch', text))
  if (!change) throw notFound(`Change ${text}`)
  return change
}

/** How far a change of rules has come. */
export function changeView(change: ChangeRow): Row {
  return {
    id: publicId('rch', change.id),
    object: 'survivorship_change',
    state: change.state,
    revision: change.revision,
    about: change.about,
    types_left: change.types,
    predicted_objects: change.predicted,
    checked_objects: change.checked,
    changed_objects: change.changed,
    created_at: change.created_at.toISOString(),
    finished_at: change.finished_at?.toISOString() ?? null,
  }
}

/** What a body proposes. @throws 404, 422 */
async function proposalOf(
  db: OrgRows & Flights,
  org_id: number,
  { rule_id, rule, source_id, source }: PreviewBody,
): Promise<Proposal> {
  const before = await ranksOf(db, org_id)
  if ((rule !== undefined) === (source !== undefined)) {
    const message = 'is needed: one of rule and source'
    const code = rule === undefined ? 'required' : 'conflicting'
    throw invalid([{ field: 'rule', code, message }])
  }
  if (source !== undefined) {
    if (source_id === undefined)
      throw invalid([{ field: 'source_id', code: 'required', message: 'is needed with source' }])
    const old = await getSource(db, org_id, source_id)
    return sourceProposal(before, [{ old, next: sourceOf(source, old) }])
  }
  if (rule === null && rule_id === undefined)
    throw invalid([{ field: 'rule_id', code: 'required', message: 'says which rule goes' }])
  const old = rule_id === undefined ? null : await getRule(db, org_id, rule_id)
  const next = rule ? ruleOf(rule, old, before) : null
  if (next) refuseTaken(before.rules.all, next, old)
  return ruleProposal(before, old, next)
}

function refuseTaken(rules: readonly Rule[], next: Omit<Rule, 'id'>, old: Rule | null): void {
  const other = rules.find(
    (rule) => rule.id !== old?.id && rule.type === next.type && rule.attribute === next.attribute,
  )
  if (!other) return
  const detail = `${publicId('sur', other.id)} is the rule for that already; change it instead.`
  throw new ApiError('conflict', detail, { rule_id: publicId('sur', other.id) })
}

export async function previewOf(store: Store, org_id: number, body: PreviewBody): Promise<Preview> {
  return await preview(store.db, org_id, await proposalOf(store.db, org_id, body))
}

/** How a change is to be made. */
export interface Making {
  /** Hash of the preview that was approved; any change since then refuses it. Null asks for none. */
  preview_hash: string | null
  /** Version of the rule or source that the change is based on. */
  expected: number | null
}

/** A change that is proposed, and what the transaction writes of it. */
interface Step {
  proposal: Proposal
  write: (tx: Tx) => Promise<{ view: Row; happening: Happening }>
  status: number
  /** Whether claims weigh otherwise, so that objects must be gone through. */
  weighs: boolean
}

/**
 * Makes a change: the rule is in force at once, and the objects it changes follow in the background.
 * @param propose says what is to be done, once it is known that the request is not the repeat of one that was done. It reads
 *   within the transaction: were each to wait for a second connection, many at once would wait for each other.
 * @throws 409 `conflict` when the preview says otherwise by now.
 */
async function make(
  store: Store,
  request: WriteRequest,
  { preview_hash }: Making,
  propose: (db: OrgRows & Flights) => Promise<Step>,
): Promise<Answered> {
  const { org_id, actor } = request
  const [change_id] = (await store.db.ids(1)) as [number]
  return await once(store, request, async (tx): Promise<Answer> => {
    const { proposal, write, status, weighs } = await propose({ ...rowsIn(tx), ...flightsIn(tx) })
    const predicted =
      preview_hash === null ? null : await approved(store.db, org_id, proposal, preview_hash)
    const revision = await nextRevision(tx, org_id)
    if (revision !== proposal.before.revision + 1) {
      const detail = 'Another change of the rules came first; look at them again.'
      throw new ApiError('conflict', detail)
    }
    const { view, happening } = await write(tx)
    await record(tx, org_id, actor, [happening])
    if (!weighs) return { status, headers: {}, body: JSON.stringify(view) }
    await insertChange(tx, org_id, {
      id: change_id,
      revision,
      about: proposal.about,
      types: proposal.scope.resources.map(({ name }) => name),
      attribute: proposal.scope.attribute,
      alone: proposal.scope.alone,
      predicted,
      actor,
      created_at: new Date(),
    })
    const body = JSON.stringify({ ...view, change_id: publicId('rch', change_id) })
    return { status, headers: {}, body }
  })
}

/** How many objects the change will rewrite. @throws 409 when that is not what the preview said. */
async function approved(
  db: OrgDb,
  org_id: number,
  proposal: Proposal,
  expected: string,
): Promise<number> {
  const { hash, objects } = await preview(db, org_id, proposal)
  if (hash === expected) return objects
  const detail = 'The change would do something else than the preview said; preview it again.'
  throw new ApiError('conflict', detail, { objects, hash })
}

export async function createRule(
  store: Store,
  request: WriteRequest,
  body: RuleBody,
  making: Making,
): Promise<Answered> {
  const [id] = (await store.db.ids(1)) as [number]
  return await make(store, request, making, async (db) => {
    const proposal = await proposalOf(db, request.org_id, { rule: body })
    const now = new Date()
    const next = ruleOf(body, null, proposal.before)
    const rule: RuleRow = { ...next, id, version: 1, created_at: now, updated_at: now }
    return ruleStep(request, proposal, rule, 'created', 201)
  })
}

export async function changeRule(
  store: Store,
  request: WriteRequest,
  text: string,
  body: RuleBody,
  making: Making,
): Promise<Answered> {
  return await make(store, request, making, async (db) => {
    const old = await getRule(db, request.org_id, text)
    refuseMoved(old, making)
    const proposal = await proposalOf(db, request.org_id, { rule_id: text, rule: body })
    const next = ruleOf(body, old, proposal.before)
    const rule: RuleRow = { ...old, ...next, version: old.version + 1, updated_at: new Date() }
    return ruleStep(request, proposal, rule, 'updated', 200)
  })
}

function refuseMoved({ version }: { version: number }, { expected }: Making): void {
  if (expected !== null && expected !== version) throw versionConflict(version)
}

function ruleStep(
  { org_id }: WriteRequest,
  proposal: Proposal,
  rule: RuleRow,
  verb: 'created' | 'updated',
  status: number,
): Step {
  const write: Step['write'] = async (tx) => {
    await saveRule(tx, org_id, rule)
    return { view: ruleView(rule), happening: ruleHappening(rule, verb) }
  }
  return { proposal, write, status, weighs: true }
}

function ruleHappening(rule: RuleRow, verb: string): Happening {
  const [type, object_type] = [`survivorship_rule.${verb}`, 'survivorship_rule']
  const { id: object_id, version } = rule
  return { type, object_type, object_id, object: ruleView(rule), version }
}

export async function removeRule(
  store: Store,
  request: WriteRequest,
  text: string,
  making: Making,
): Promise<Answered> {
  return await make(store, request, making, async (db) => {
    const old = await getRule(db, request.org_id, text)
    refuseMoved(old, making)
    const proposal = await proposalOf(db, request.org_id, { rule_id: text, rule: null })
    const write: Step['write'] = async (tx) => {
      await deleteRule(tx, request.org_id, old.id)
      return { view: ruleView(old), happening: ruleHappening(old, 'deleted') }
    }
    return { proposal, write, status: 200, weighs: true }
  })
}

export async function changeSource(
  store: Store,
  request: WriteRequest,
  text: string,
  body: SourceBody,
  making: Making,
): Promise<Answered> {
  const { org_id } = request
  return await make(store, request, making, async (db) => {
    const old = await getSource(db, org_id, text)
    refuseMoved(old, making)
    const next = { ...sourceOf(body, old), version: old.version + 1 }
    const proposal = sourceProposal(await ranksOf(db, org_id), [{ old, next }])
    const write: Step['write'] = async (tx) => {
      await saveSource(tx, org_id, next)
      return { view: sourceView(next), happening: sourceHappening(old, next) }
    }
    return { proposal, write, status: 200, weighs: weighsOtherwise(old, next) }
  })
}

/** What is told of a source that changed. */
export function sourceHappening(old: SourceRow, next: SourceRow): Happening {
  const [before, object] = [sourceView(old), sourceView(next)]
  const changed = Object.keys(object).filter(
    (name) => name !== 'version' && JSON.stringify(object[name]) !== JSON.stringify(before[name]),
  )
  return {
    type: 'source.updated',
    object_type: 'source',
    object_id: next.id,
    object,
    version: next.version,
    changed,
    previous: Object.fromEntries(changed.map((name) => [name, before[name]])),
  }
}
