/**
 * What refers to an object follows it: rows that name a merged object name the one it stands at, and theirs again after an
 * unmerge. Facts keep what was claimed.
 */
import { readWritten, writeStatement } from '../kit/door.ts'
import type { Change } from '../kit/door.ts'
import { ownStore } from '../kit/extended.ts'
import { extensionKey, leadingTo } from '../kit/extension.ts'
import { assertionsOf, foldedRow, ranksOf } from '../kit/history.ts'
import { publicId } from '../kit/ids.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { previousOf, sameValue, valueOf } from '../kit/row.ts'
import { usesOf } from '../kit/store.ts'
import type { Store } from '../kit/store.ts'
import { API_SOURCE } from '../kit/write.ts'
import { SYSTEM } from '../organizations/service.ts'
import type { Doer } from './merge.ts'
import { endMoves, movesOf, namers, namersAfter, readAgain, usersOf } from './reference-queries.ts'
import type { Move, Namer } from './reference-queries.ts'

/** Referring rows that follow before the request is answered, per field; more are left to the background. */
const AT_ONCE = 200

/** Rows that follow in one transaction. */
const BATCH = 200

/** Objects that are followed in one pass over the tables. */
const MOVES = 500

const TRIES = 5

/** Another write of one of the rows came first. */
class Overtaken extends Error {}

/** Objects that are followed: by the ids by which declared fields name them, and as fields of the organization's own do. */
interface Sought {
  names: ReadonlySet<string>
  /** Keys of the type's fields of the organization's own that lead to such objects. */
  keys: readonly string[]
  ids: ReadonlySet<unknown>
}

/** What needs the object, such as the leases of a tenant, follows it at once where that is little. */
export async function followAtOnce(doer: Doer, resource: Resource, id: number): Promise<void> {
  const { store, org_id } = doer
  const sought = { names: new Set([publicId(resource.prefix, id)]), keys: [], ids: new Set([id]) }
  const uses = usesOf(store, resource)
  const found = await Promise.all(
    uses.map(async (use) => await usersOf(store.db, org_id, use, id, AT_ONCE + 1)),
  )
  for (const [i, ids] of found.entries()) {
    if (ids.length === 0 || ids.length > AT_ONCE) continue
    const other = store.registry.get(uses[i]?.table ?? '') as Resource
    await follow(doer, other, ids, sought, false)
  }
}

/**
 * Everything follows that was asked for in the organization. May be killed at any point and done twice: what follows is
 * made from claims and pointers alone.
 */
export async function followAll(
  declared: Store,
  org_id: number,
  stopping: AbortSignal,
): Promise<void> {
  const store = await ownStore(declared, org_id)
  const doer = { store, org_id, actor: SYSTEM }
  while (!stopping.aborted) {
    const moves = await movesOf(store.db, org_id, MOVES)
    const [first] = moves
    if (!first) return
    const same = moves.filter(({ object_type }) => object_type === first.object_type)
    for (const other of store.registry.values()) {
      if (other.name === 'organization') continue
      if (!(await followIn(doer, other, same, stopping))) return
    }
    await endMoves(store.db, org_id, same)
  }
}

/** @returns false when something is left to do. */
async function followIn(
  doer: Doer,
  other: Resource,
  moves: readonly Move[],
  stopping: AbortSignal,
): Promise<boolean> {
  const { store, org_id } = doer
  const { prefix = '' } = store.registry.get(moves[0]?.object_type ?? '') ?? {}
  const ids = moves.map(({ object_id }) => object_id)
  const names = ids.map((id) => publicId(prefix, id))
  const keys = leadingTo(other.extensions, prefix).map(({ id }) => extensionKey(id))
  const sought = { names: new Set(names), keys, ids: new Set(ids) }
  const named = `"(${names.join('|')})"`
  const own = `"(${keys.join('|')})":(${ids.join('|')})[,}]`
  const pattern = keys.length > 0 ? `${named}|${own}` : named
  const reread = moves.some((move) => move.reread)
  for (let after = 0; !stopping.aborted;) {
    const found = await namersAfter(store.db, org_id, other.name, pattern, after, BATCH)
    if (found.length > 0 && !(await follow(doer, other, found, sought, reread))) return false
    if (found.length < BATCH) return true
    after = found.at(-1) as number
  }
  return false
}

/**
 * Makes the fields anew that name one of the objects sought; all else stays as it is.
 * @returns false when other writes came first again and again.
 */
async function follow(
  { store, org_id, actor }: Doer,
  resource: Resource,
  ids: readonly number[],
  sought: Sought,
  reread: boolean,
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const [rows, known, ranks] = await Promise.all([
      namers(store.db, org_id, resource.name, ids),
      assertionsOf(store.db, org_id, ids),
      ranksOf(store.db, org_id),
    ])
    const written = rows.map(({ row }) => Date.parse(row['updated_at'] as string))
    const at = new Date(Math.max(Date.now(), ...written))
    const changes = rows.flatMap((namer) => {
      const claims = known.get(namer.id) ?? []
      const { row } = foldedRow(resource, namer.row, claims, ranks, at.getTime())
      return changeOf(namer, row, sought, at)
    })
    try {
      await store.db.transaction(org_id, async (tx) => {
        if (reread) await readAgain(tx, org_id, ids)
        if (changes.length === 0) return
        const context = { org_id, actor, source_id: API_SOURCE, at }
        const written = readWritten(await tx.cells(writeStatement(resource, changes, context)))
        if (written.count !== changes.length) throw new Overtaken()
      })
      return true
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error
      if (attempt === TRIES) return false
    }
  }
}

function changeOf(
  { id, version, contested, row: before }: Namer,
  folded: Row,
  { names: sought, keys, ids }: Sought,
  at: Date,
): Change[] {
  const differs = (name: string): boolean =>
    !sameValue(valueOf(before, name), valueOf(folded, name))
  const declared = Object.keys(before).filter(
    (name) => name !== 'ext' && names(before[name], sought),
  )
  const own = keys.filter((key) => ids.has(valueOf(before, key)))
  const changed = [...declared, ...own].filter(differs)
  if (changed.length === 0) return []
  const after: Row = { ...before, version: version + 1, updated_at: at.toISOString() }
  const ext = { ...(before['ext'] as Row | null) }
  for (const name of changed) {
    const value = valueOf(folded, name)
    if (!keys.includes(name)) after[name] = value
    else if (value === null) delete ext[name]
    else ext[name] = value
  }
  if (changed.some((name) => keys.includes(name))) after['ext'] = ext
  const previous = previousOf(before, changed)
  const external = { add: [], remove: [] }
  return [
    {
      id,
      operation: 'updated',
      expected: version,
      after,
      previous,
      changed,
      claims: [],
      contested,
      external,
    },
  ]
}

function names(value: unknown, sought: ReadonlySet<string>): boolean {
  if (typeof value === 'string') return sought.has(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((part) => names(part, sought))
}
