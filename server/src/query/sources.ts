/** The rows a query reads: its own entity, and what it reaches over relations. */
import type { Issue } from '../kit/errors.ts'
import { presentName } from '../kit/extension.ts'
import type { AskedOf } from '../kit/extension-limits.ts'
import { closest } from '../kit/validate.ts'
import type { Entity, EntityField } from './entity.ts'
import { DEPTH_MAX, JOINS_MAX } from './types.ts'

/** A value that a query names. */
export interface Operand {
  path: string
  field: EntityField
  entity: Entity
  alias: string
  sql: string
}

/** What stands behind each name of a query. */
export type Catalog = (name: string) => Entity | undefined

interface Place {
  alias: string
  entity: Entity
}

export interface Join extends Place {
  /** SQL of the id that leads there. */
  from: string
  /** Field that leads there, and what has it. */
  column: string
  parent: Entity
}

export class Sources {
  readonly base: Entity
  /** By the path of the relation: `building.property`. */
  readonly joins = new Map<string, Join>()
  /** Fields of the organization's own by which rows are chosen or ordered. */
  readonly asked: AskedOf[] = []
  private readonly catalog: Catalog
  private readonly issues: Issue[]

  constructor(catalog: Catalog, base: Entity, issues: Issue[]) {
    this.catalog = catalog
    this.base = base
    this.issues = issues
  }

  /** Entities it reads, the own one first, each once. */
  get entities(): Entity[] {
    return [...new Set([this.base, ...[...this.joins.values()].map(({ entity }) => entity)])]
  }

  /** The value of a path. What is wrong with it goes to the issues, under the name `at`. */
  resolve(path: string, at: string): Operand | null {
    const steps = path.split('.')
    let place: Place = { alias: 't', entity: this.base }
    for (let depth = 0; ; depth++) {
      const name = steps.slice(depth).join('.')
      const field = fieldOf(place.entity, name)
      if (field) return operand(path, place, field)
      const relation = place.entity.relations.get(steps[depth] as string)
      if (!relation || depth === steps.length - 1) return this.unknown(path, at, place, depth)
      if (depth === DEPTH_MAX) return this.tooDeep(at)
      const next = this.join(steps.slice(0, depth + 1).join('.'), place, relation, at)
      if (!next) return null
      place = next
    }
  }

  /** A value that is compared, put in groups or aggregated. */
  comparable(path: string, at: string): Operand | null {
    const operand = this.resolve(path, at)
    if (!operand?.field.shownOnly) return operand
    const message = `${path} can only be shown`
    this.issues.push({ field: at, code: 'unsupported', message })
    return null
  }

  /** A value by which rows are chosen or ordered. */
  chosenBy(path: string, at: string): Operand | null {
    const operand = this.comparable(path, at)
    const type = operand?.entity.resource
    if (operand?.field.own && type) this.asked.push({ own: operand.field.own, type, at })
    return operand
  }

  private join(
    path: string,
    { alias, entity }: Place,
    { column, target }: { column: string; target: string },
    at: string,
  ): Join | null {
    const known = this.joins.get(path)
    if (known) return known
    const reached = this.catalog(target)
    const from = entity.fields.get(column)?.sql(alias)
    if (!reached || from === undefined) return null
    if (this.joins.size === JOINS_MAX) {
      const message = `a query follows at most ${JOINS_MAX} relations`
      this.issues.push({ field: at, code: 'too_many', message })
      return null
    }
    const join = { alias: `j${this.joins.size + 1}`, entity: reached, from, column, parent: entity }
    this.joins.set(path, join)
    return join
  }

  private unknown(path: string, at: string, { entity }: Place, depth: number): null {
    const before = path.split('.').slice(0, depth)
    const names = [...entity.fields.keys(), ...entity.relations.keys()]
    const near = closest(path.split('.').slice(depth).join('.'), names)
    const suggestion = near === undefined ? undefined : [...before, near].join('.')
    this.issues.push({
      field: at,
      code: 'unknown_field',
      message: `${entity.title} have no field '${path.split('.').slice(depth).join('.')}'`,
      ...(suggestion === undefined ? {} : { suggestion }),
    })
    return null
  }

  private tooDeep(at: string): null {
    const message = `at most ${DEPTH_MAX} relations one behind the other`
    this.issues.push({ field: at, code: 'too_deep', message })
    return null
  }
}

function fieldOf(entity: Entity, name: string): EntityField | null {
  const own = entity.resource ? presentName(entity.resource, name) : name
  return entity.fields.get(own) ?? null
}

function operand(path: string, { alias, entity }: Place, field: EntityField): Operand {
  return { path, field, entity, alias, sql: field.sql(alias) }
}

/**
 * SQL of the tables, joined. An object that was deleted is not reached; what is archived is.
 * @param org SQL of the organization's id.
 */
export function fromSql({ base, joins }: Sources, org: string): string {
  const others = [...joins.values()].map(({ alias, entity, from }) => {
    const own = ownedSql(entity, alias, org)
    return `left join ${entity.name} ${alias} on ${own} and ${alias}.id = ${from} and ${alias}.deleted_at is null`
  })
  return [`${tableOf(base)} t`, ...others].join('\n')
}

/** Facts and the schema are put together under names that no table has. */
export function tableOf(entity: Entity): string {
  return entity.resource ? entity.name : `${entity.name}_row`
}

/** SQL of which rows are the organization's; of organizations, its children are seen as well. */
export function ownedSql(entity: Entity, alias: string, org: string): string {
  // Every organization's is its own: there is nothing to choose from.
  if (entity.name === 'schema') return `${org} is not null`
  return entity.name === 'organization'
    ? `(${alias}.id = ${org} or ${alias}.parent_organization_id = ${org})`
    : `${alias}.org_id = ${org}`
}
