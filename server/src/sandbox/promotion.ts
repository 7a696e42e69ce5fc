/** Taking settings live: first the difference with its hash, then, with that hash, the difference is applied. */
import { createHash } from 'node:crypto'
import { ApiError } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import type { Answer } from '../kit/once.ts'
import { rowsIn } from '../kit/once.ts'
import type { Row } from '../kit/resource.ts'
import { sameValue } from '../kit/row.ts'
import type { OrgDb, OrgRows, Tx } from '../kit/types.ts'
import type { WriteRequest } from '../kit/write.ts'
import type { Secrets } from '../secrets.ts'
import type { Rules } from '../webhooks/index.ts'
import { note } from './named.ts'
import { PROMOTABLE } from './promotable.ts'
import type { Applying, Item, Promotable } from './promotable.ts'
import { lockSettings } from './queries.ts'

export const ACTIONS = ['create', 'update', 'unchanged', 'skipped'] as const

/** One setting of the sandbox, beside what the live organization has. */
export interface Difference {
  kind: string
  key: string
  action: (typeof ACTIONS)[number]
  before: Row | null
  after: Row
  changed: string[]
  /** Why it is skipped. */
  reason: string | null
}

export interface Between {
  sandbox: number
  live: number
  kinds: readonly Promotable[]
  rules: Rules
  /** What the sandbox has, by kind. */
  theirs: ReadonlyMap<string, readonly Item[]>
}

/** The kinds by name, all of them when none are named. */
export function kindsOf(names: readonly string[] | undefined): Promotable[] {
  return PROMOTABLE.filter(({ kind }) => !names || names.includes(kind))
}

/** Every setting of an organization, by kind. */
export async function settingsOf(
  db: OrgRows,
  org_id: number,
  { kinds, rules }: Pick<Between, 'kinds' | 'rules'>,
): Promise<Between['theirs']> {
  const found = new Map<string, Item[]>()
  for (const { kind, read } of kinds) found.set(kind, await read(db, org_id, rules))
  return found
}

/** What applying would do. Settings that only the live organization has stay. */
export async function differences(db: OrgRows, between: Between): Promise<Difference[]> {
  const ours = await settingsOf(db, between.live, between)
  return between.kinds.flatMap((promotable) => {
    const { kind } = promotable
    const own = ours.get(kind) ?? []
    const theirs = between.theirs.get(kind) ?? []
    const byKey = new Map(own.map((item) => [item.key, item]))
    const twice = new Set([...keysTwiceIn(own), ...keysTwiceIn(theirs)])
    return theirs
      .map((item) => (twice.has(item.key) ? { ...item, reason: item.reason ?? TWICE } : item))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .map((item) => differenceOf(promotable, item, byKey.get(item.key)))
  })
}

/** Why settings that cannot be told apart are left. */
const TWICE = 'there are several of that name'

function keysTwiceIn(items: readonly Item[]): string[] {
  const keys = items.map(({ key }) => key)
  return keys.filter((key, i) => keys.indexOf(key) !== i)
}

/** Why a difference of what cannot be updated is left. */
const LEFT = 'the organization has another one of that name; change it there'

function differenceOf({ kind, update }: Promotable, item: Item, own: Item | undefined): Difference {
  const { key, settings: after } = item
  const before = own?.settings ?? null
  const names = new Set([...Object.keys(after), ...Object.keys(before ?? {})])
  const changed = own ? [...names].filter((name) => !sameValue(after[name], before?.[name])) : []
  const differs = changed.length > 0
  const reason = item.reason ?? (differs && !update ? LEFT : null)
  const action = reason ? 'skipped' : !own ? 'create' : differs ? 'update' : 'unchanged'
  return { kind, key, action, before, after, changed, reason }
}

/** The same for the same difference, whenever and by whomever it is worked out. */
export function hashOf(all: readonly Difference[]): string {
  const parts = all.map(({ kind, key, action, before, after }) => [
    kind,
    key,
    action,
    before,
    after,
  ])
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/**
 * Applies the difference that the caller has seen, in one transaction.
 * @throws 409 when it is another one by now.
 */
export async function promote(
  tx: Tx,
  db: Pick<OrgDb, 'ids'>,
  { org_id, actor }: WriteRequest,
  between: Between,
  given: { hash: string; secrets: Secrets },
): Promise<Answer> {
  await lockSettings(tx, between.live)
  const all = await differences(rowsIn(tx), between)
  const hash = hashOf(all)
  if (hash !== given.hash) {
    const detail = 'The difference is another one than you have seen; look at it again.'
    throw new ApiError('conflict', detail, { hash })
  }
  const ids: OrgDb['ids'] = async (count) => await db.ids(count)
  const to: Applying = { tx, org_id, actor, secrets: given.secrets, ids }
  const shown: Row[] = []
  for (const { kind, create, update } of between.kinds) {
    // In the order of the sandbox: what others of the kind read comes first.
    const items = between.theirs.get(kind) ?? []
    const having = (action: Difference['action']): Item[] => {
      const own = all.filter((one) => one.kind === kind && one.action === action)
      return items.filter(({ key, reason }) => !reason && own.some((one) => one.key === key))
    }
    for (const item of having('update')) await update?.(to, item)
    const fresh = having('create')
    if (fresh.length > 0) shown.push(...(await create(to, fresh)).map((row) => ({ kind, ...row })))
  }
  await note(tx, org_id, actor, 'promoted', between.sandbox, { hash })
  const view = promotionView(between, all, true)
  const hidden = shown.map((row) => ({ ...row, secret: null }))
  return {
    status: 200,
    headers: {},
    body: JSON.stringify({ ...view, created: shown }),
    repeated: JSON.stringify({ ...view, created: hidden }),
  }
}

export function promotionView(
  { sandbox }: Between,
  all: readonly Difference[],
  applied: boolean,
): Row {
  return {
    object: 'promotion',
    sandbox: publicId('org', sandbox),
    applied,
    hash: hashOf(all),
    counts: Object.fromEntries(
      ACTIONS.map((action) => [action, all.filter((one) => one.action === action).length]),
    ),
    changes: all,
    created: [],
  }
}
