/** Fields, plans and versions as clients see them. */
import { shownValue } from '../kit/extension.ts'
import type { Extension } from '../kit/extension.ts'
import { boundsOf, NUMBER_MAX } from '../kit/extension-input.ts'
import { LIMITS } from '../kit/extension-limits.ts'
import { shownFormula } from '../kit/formula.ts'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import { RISKS } from './operations.ts'
import type { Risk } from './operations.ts'
import type { Field, Plan, Version } from './queries.ts'

const DAY_MS = 86_400_000

/** @param own the other fields of the organization, whose names formulas show. */
export function fieldView(field: Field, own: readonly Extension[] = []): Row {
  const { settings, deprecated_at } = field
  const { min, max, scale } = boundsOf(field)
  const number = ['percent', 'integer', 'decimal', 'money', 'area', 'length'].includes(field.type)
  const until = deprecated_at && field.state === 'deprecated' ? deprecated_at.getTime() : null
  return {
    id: publicId('fld', field.id),
    object: 'schema_field',
    object_type: field.object_type,
    api_name: field.name,
    label: field.label,
    description: field.description,
    type: field.type,
    options: field.options.map(({ name, label, state }) => ({ api_name: name, label, state })),
    required: field.required,
    default: settings.default === undefined ? null : shownValue(field, settings.default),
    min: number && min !== -NUMBER_MAX ? min : null,
    max: number && max !== NUMBER_MAX ? max : null,
    scale: field.type === 'percent' || field.type === 'decimal' ? scale : null,
    max_length: settings.max_length ?? null,
    unit: settings.unit ?? (field.type === 'percent' ? 'percent' : null),
    currency: settings.currency ?? null,
    target: settings.target ?? null,
    expression: settings.expression === undefined ? null : shownFormula(settings.expression, own),
    filterable: field.filterable,
    indexed: field.indexed,
    converting: settings.converts !== undefined,
    state: field.state,
    aliases: field.aliases.map(({ name, until: end }) => ({ api_name: name, until: end })),
    created_at: field.created_at.toISOString(),
    updated_at: field.updated_at.toISOString(),
    deprecated_at: deprecated_at?.toISOString() ?? null,
    restorable_until:
      until === null ? null : new Date(until + LIMITS.restorable_days * DAY_MS).toISOString(),
  }
}

/** The highest risk among the operations; safe when there are none. */
function riskOf({ operations }: Pick<Plan, 'operations'>): Risk {
  const ranks = operations.map(({ risk }) => RISKS.indexOf(risk))
  return RISKS[Math.max(0, ...ranks)] as Risk
}

/** Names of the fields that an approval of the plan must name. */
export function toConfirm({ operations }: Pick<Plan, 'operations'>): string[] {
  const destructive = operations.filter(({ risk }) => risk === 'destructive')
  return [...new Set(destructive.map(({ field }) => field ?? ''))]
}

export function planView(plan: Plan): Row {
  const time = (at: Date | null): string | null => at?.toISOString() ?? null
  return {
    id: publicId('pln', plan.id),
    object: 'schema_plan',
    state: plan.state,
    text: plan.text,
    operations: plan.operations,
    questions: plan.questions,
    unread: plan.unread,
    risk: riskOf(plan),
    confirm: toConfirm(plan),
    fields: plan.fields.map((id) => publicId('fld', id)),
    schema_version: plan.schema_version,
    created_by: plan.created_by,
    approved_by: plan.approved_by,
    approved_at: time(plan.approved_at),
    deployed_at: time(plan.deployed_at),
    rolled_back_at: time(plan.rolled_back_at),
    version: plan.version,
    created_at: time(plan.created_at),
    updated_at: time(plan.updated_at),
  }
}

export function versionView({ version, at, plan_id, actor, changes }: Version): Row {
  return {
    object: 'schema_version',
    version,
    at: at.toISOString(),
    plan_id: publicId('pln', plan_id),
    actor,
    changes,
  }
}
