/** Records checked against what they need of other objects: places that do not fit, spaces that are let already. */
import type { Issue } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import { unmetIssues } from '../kit/needs.ts'
import type { Need } from '../kit/needs.ts'
import type { Row } from '../kit/resource.ts'
import type { Stream } from './adapter.ts'
import type { Load, LoadItem } from './load.ts'
import type { RowIssue } from './mapping.ts'

/** Needs of this run that are kept; they are forgotten when there are more. */
const KEPT_MAX = 50_000

export class NeedChecks {
  private readonly load: Load
  private readonly stream: Stream
  /** What the run's records need for themselves, by kind and object: it may not be written yet. */
  private readonly kept = new Map<string, { key: string; need: Need }[]>()

  constructor(load: Load, stream: Stream) {
    this.load = load
    this.stream = stream
  }

  /**
   * A place that does not fit is treated as a reference without an object: the record is left out, or the field alone,
   * as the adapter says. Two claims on one object are a warning: the source knows better what it holds.
   */
  async check(items: readonly LoadItem[]): Promise<{ items: LoadItem[]; issues: RowIssue[] }> {
    const { needs } = this.load.resource
    const { store, org_id, resource } = this.load
    if (!needs) return { items: [...items], issues: [] }
    const needed = items.map((item) => (item.stated ? needs.of(this.named(item)) : []))
    const unmet = await unmetIssues(store.db, org_id, resource, needed.flat())
    const issues: RowIssue[] = []
    const passed = items.flatMap((item, i) => {
      const own = needed[i] ?? []
      const found = own.flatMap((need) => {
        const issue = unmet.get(need) ?? this.clashOf(item.key, need)
        return issue ? [{ issue, isHeld: this.isHeld(need) }] : []
      })
      const rows = found.map(({ issue, isHeld }) => this.rowIssue(item, issue, isHeld))
      issues.push(...rows)
      if (rows.some(({ level }) => level === 'error')) return []
      const wrong = found.filter(({ isHeld }) => !isHeld).map(({ issue }) => issue.field)
      if (wrong.length === 0) return [item]
      return [{ ...item, stated: without(item.stated as Row, wrong), hash: '0' }]
    })
    return { items: passed, issues }
  }

  private named({ object_id, stated }: LoadItem): Row {
    return object_id === null
      ? (stated as Row)
      : { ...stated, id: publicId(this.load.resource.prefix, object_id) }
  }

  private isHeld({ need }: Need): boolean {
    return this.load.resource.needs?.kinds.some((k) => k.name === need && k.clash) ?? false
  }

  /** The issue of a record that needs for itself what another one of this run does. */
  private clashOf(key: string, need: Need): Issue | undefined {
    const kind = this.load.resource.needs?.kinds.find(({ name }) => name === need.need)
    if (!kind?.clash) return undefined
    if (this.kept.size > KEPT_MAX) this.kept.clear()
    const place = `${need.need} ${need.id}`
    const others = (this.kept.get(place) ?? []).filter((other) => other.key !== key)
    this.kept.set(place, [...others, { key, need }])
    const clash = kind.clash
    return others.some((other) => clash(other.need, need)) ? kind.issue(need, 0) : undefined
  }

  private rowIssue({ row }: LoadItem, { field, code, message }: Issue, isHeld: boolean): RowIssue {
    const path = field.replaceAll(/\[\d+\]/g, '')
    const isRefused = !isHeld && this.stream.resolve[path]?.missing === 'error'
    return { row: row ?? 0, field: path, code, message, level: isRefused ? 'error' : 'warning' }
  }
}

/** The values without those at the paths, each such as `building_id` or `premises[2].space_id`. */
function without(values: Row, paths: readonly string[]): Row {
  const copy = structuredClone(values)
  for (const path of paths) {
    const names = path.split(/[.[\]]+/).filter((name) => name !== '')
    const last = names.pop() as string
    let place: Row = copy
    for (const name of names) place = place[name] as Row
    if (Array.isArray(place)) place.splice(Number(last), 1)
    else if (names.length === 0) delete place[last]
    else place[last] = null
  }
  return copy
}
