/** Changes of rules and sources as they are thought of, previewed and made: each is the sources as they would be. */
import { invalid } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { Sources } from '../kit/history.ts'
import type { Source } from '../kit/history.ts'
import { idDigits, publicId } from '../kit/ids.ts'
import { writableFields } from '../kit/resource.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { deployed } from '../kit/extension.ts'
import { factNames } from '../kit/row.ts'
import type { Rule, RuleBook, Strategy } from '../kit/survivorship.ts'
import { closest } from '../kit/validate.ts'
import { registry, resources } from '../resources.ts'
import type { RuleRow, SourceRow } from './queries.ts'
import type { Proposal, Scope } from './weigh.ts'

export interface RuleBody {
  type?: string | null
  attribute?: string | null
  strategy?: Strategy
  sources?: string[]
  min_confidence_pct?: number | null
}

export interface SourceBody {
  rank?: number
  trust_pct?: number
  system_of_record?: string[]
  freshness_days?: number | null
  min_confidence_pct?: number
}

/** Members of a rule that the body gives, the others as they were. @throws 422 for what does not fit together. */
export function ruleOf(body: RuleBody, before: Rule | null, sources: Sources): Omit<Rule, 'id'> {
  const issues: Issue[] = []
  const listed = (body.sources ?? []).map((text, i) => {
    const id = idDigits('src', text)
    if (id !== null && sources.has(id)) return id
    const message = `there is no source ${text}`
    issues.push({ field: `sources[${i}]`, code: 'not_found', message })
    return 0
  })
  const { type = before?.type ?? null, attribute = before?.attribute ?? null } = body
  const strategy = body.strategy ?? before?.strategy ?? 'source_priority'
  const pct = body.min_confidence_pct
  const rule = {
    type,
    attribute,
    strategy,
    sources: body.sources ? listed : (before?.sources ?? []),
    min_confidence:
      pct === undefined
        ? (before?.min_confidence ?? null)
        : pct === null
          ? null
          : Math.round(pct * 10),
  }
  issues.push(...placeIssues(rule))
  if (issues.length > 0) throw invalid(issues)
  return rule
}

function placeIssues({ type, attribute, strategy }: Omit<Rule, 'id'>): Issue[] {
  const resource = type === null ? null : registry.get(type)
  if (attribute !== null && !resource)
    return [{ field: 'type', code: 'required', message: 'is needed beside attribute' }]
  if (attribute !== null && resource && !factNames(resource).includes(attribute))
    return [unknownAttribute('attribute', resource, attribute)]
  const blank = strategy === 'manual_only' ? requiredIn(resource, attribute) : null
  if (blank === null) return []
  const message = `would leave ${blank} empty, which is required`
  return [{ field: 'strategy', code: 'not_allowed', message }]
}

export function unknownAttribute(field: string, resource: Resource, name: string): Issue {
  const own = deployed(resource.extensions).map((extension) => `ext.${extension.name}`)
  const suggestion = closest(name, [...factNames(resource), ...own])
  const message = `${resource.title.toLowerCase()} has no attribute '${name}' that sources claim`
  return { field, code: 'unknown_value', message, ...(suggestion ? { suggestion } : {}) }
}

/** A field among those meant that may not be empty. */
function requiredIn(
  resource: Resource | null | undefined,
  attribute: string | null,
): string | null {
  const types = resource ? [resource] : resources
  for (const one of types) {
    const names = attribute === null ? factNames(one) : [attribute]
    const found = names.find((name) => writableFields(one)[name]?.required)
    if (found !== undefined) return found
  }
  return null
}

/** The rules with one of them as it would be; null takes it away. */
export function ruleProposal(
  before: Sources,
  old: Rule | null,
  next: Omit<Rule, 'id'> | null,
): Proposal {
  const id = old?.id ?? 0
  const others = before.rules.all.filter((rule) => rule.id !== id)
  const rules = next ? [...others, { ...next, id }] : others
  const involved = [old, next].filter((rule) => rule !== null)
  const after = new Sources([...before.values()], rules, before.revision)
  return {
    about: {
      rule_id: old && publicId('sur', old.id),
      before: old && ruleMembers(old),
      after: next && ruleMembers(next),
    },
    scope: scopeOf(involved, [before.rules, after.rules]),
    before,
    after,
  }
}

/** What the rules are for, together. Where they stand before a wider one, that is in force without them. */
function scopeOf(rules: readonly Omit<Rule, 'id'>[], books: readonly RuleBook[]): Scope {
  const types = new Set(rules.map(({ type }) => type))
  const attributes = new Set(rules.map(({ attribute }) => attribute))
  const [attribute = null] = types.size === 1 && attributes.size === 1 ? attributes : []
  const inForce = rules.flatMap(({ type, attribute: name }) =>
    books.map((book) => book.of(type, name ?? '')),
  )
  const alone = inForce.some(
    (rule) => rule && (rule.min_confidence !== null || rule.strategy === 'manual_only'),
  )
  return {
    resources: types.has(null) ? resources : resources.filter(({ name }) => types.has(name)),
    attribute,
    alone,
  }
}

/** A rule as clients see it, without what stands beside it. */
export function ruleMembers(rule: Omit<Rule, 'id'>): Row {
  return {
    type: rule.type,
    attribute: rule.attribute,
    strategy: rule.strategy,
    sources: rule.sources.map((id) => publicId('src', id)),
    min_confidence_pct: rule.min_confidence === null ? null : rule.min_confidence / 10,
  }
}

export function ruleView(rule: RuleRow): Row {
  return {
    id: publicId('sur', rule.id),
    object: 'survivorship_rule',
    ...ruleMembers(rule),
    version: rule.version,
    created_at: rule.created_at.toISOString(),
    updated_at: rule.updated_at.toISOString(),
  }
}

/** A source with the members that the body gives. @throws 422 */
export function sourceOf(body: SourceBody, before: SourceRow): SourceRow {
  const unknown = (body.system_of_record ?? []).flatMap((name, i) =>
    registry.has(name) ? [] : [{ name, field: `system_of_record[${i}]` }],
  )
  if (unknown.length > 0) {
    const allowed = [...registry.keys()]
    throw invalid(
      unknown.map(({ name, field }) => {
        return { field, code: 'unknown_value', message: `there is no type '${name}'`, allowed }
      }),
    )
  }
  const { freshness_days = before.freshness_days } = body
  return {
    ...before,
    rank: body.rank ?? before.rank,
    trust: body.trust_pct === undefined ? before.trust : Math.round(body.trust_pct * 10),
    min_confidence:
      body.min_confidence_pct === undefined
        ? before.min_confidence
        : Math.round(body.min_confidence_pct * 10),
    system_of_record: body.system_of_record
      ? [...new Set(body.system_of_record)].sort()
      : before.system_of_record,
    freshness_days,
    // Who need not be heard of is never stale.
    stale: freshness_days !== null && before.stale,
  }
}

/** The sources with some of them as they would be. */
export function sourceProposal(
  before: Sources,
  pairs: readonly { old: SourceRow; next: SourceRow }[],
): Proposal {
  const changed = new Map(pairs.map(({ next }) => [next.id, asSource(next, before)]))
  const all = new Map([...before, ...changed])
  return {
    about: {
      sources: pairs.map(({ old, next }) => ({
        source_id: publicId('src', next.id),
        before: sourceMembers(old),
        after: sourceMembers(next),
      })),
    },
    scope: {
      resources,
      attribute: null,
      alone: pairs.some(
        ({ old, next }) => old.trust !== next.trust || old.min_confidence !== next.min_confidence,
      ),
    },
    before,
    after: new Sources([...all.values()], before.rules.all, before.revision),
  }
}

function asSource(row: SourceRow, sources: Sources): Source {
  const { id, kind, name, rank, trust, min_confidence, stale, system_of_record } = row
  return {
    ...sources.get(id),
    id,
    kind,
    name,
    rank,
    trust,
    min_confidence,
    stale,
    system_of_record,
  }
}

/** Does a claim of the source weigh otherwise than before? */
export function weighsOtherwise(old: SourceRow, next: SourceRow): boolean {
  const weight = ({ rank, trust, min_confidence, system_of_record, stale }: SourceRow): string =>
    JSON.stringify([rank, trust, min_confidence, system_of_record, stale])
  return weight(old) !== weight(next)
}

function sourceMembers(source: SourceRow): Row {
  return {
    rank: source.rank,
    trust_pct: source.trust / 10,
    system_of_record: source.system_of_record,
    freshness_days: source.freshness_days,
    min_confidence_pct: source.min_confidence / 10,
    stale: source.stale,
  }
}

export function sourceView(source: SourceRow): Row {
  return {
    id: publicId('src', source.id),
    object: 'source',
    kind: source.kind,
    name: source.name,
    ...sourceMembers(source),
    last_seen_at: source.seen_at?.toISOString() ?? null,
    version: source.version,
    created_at: source.created_at?.toISOString() ?? null,
  }
}

/** What a preview is asked for: one rule or one source as it would be. */
export interface PreviewBody {
  rule_id?: string
  rule?: RuleBody | null
  source_id?: string
  source?: SourceBody
}
