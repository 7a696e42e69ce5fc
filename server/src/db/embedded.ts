/**
 * The default database: the real PostgreSQL server from npm, a child of this process, in `<dataDir>/postgres`.
 *
 * It listens on one Unix socket in a folder with mode 0700 and on no network address. Whoever can open that socket is
 * the operating system user of Grid (or root) and could read the data files as well, so a password would protect
 * nothing: `trust` is as strong as the folder, and no secret has to be stored, rotated or kept out of logs.
 */
import type { ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import { chooseLaunch, findBinaries, giveTo, launch } from './embedded-launch.ts'
import type { Binaries, Launch, Owner } from './embedded-launch.ts'
import { endServer, takeLock } from './embedded-lock.ts'
import type { Lock } from './embedded-lock.ts'

export interface EmbeddedOptions {
  dataDir: string
  log?: (message: string) => void
  /** Server settings over the defaults below, in PostgreSQL's notation. */
  settings?: Record<string, string>
}

export interface Embedded {
  /** Superuser on database `postgres`, for `pg`. */
  ownerConfig: { host: string; port: number; user: string; database: string; ssl: false }
  /** The same for psql and other programs. */
  ownerUrl: string
  socketDir: string
  port: number
  pid: number
  /** Fast shutdown: rolls open transactions back and writes a checkpoint. */
  stop: () => Promise<void>
  /** Null after `stop`, an Error when the server ended by itself. */
  ended: Promise<Error | null>
}

/** No socket is opened on this port: it is a part of the socket's file name. */
const PORT = 5432
const SOCKET = `.s.PGSQL.${PORT}`
/** sockaddr_un holds this many bytes before its closing zero. */
const SOCKET_BYTES_MAX = process.platform === 'darwin' ? 103 : 107
const POLL_MS = 10
/** Recovery after a crash replays up to max_wal_size: minutes on a slow disk. */
const READY_TIMEOUT_MS = 600_000
const STOP_TIMEOUT_MS = 30_000
const LOG_BYTES_MAX = 10_000_000
const DISK_FREE_BYTES_MIN = 20_000_000

/** Given on the command line, so that a new version of Grid changes them without editing files of the cluster. */
const SETTINGS: Record<string, string> = {
  shared_buffers: '256MB',
  max_connections: '60',
  // Fewer checkpoints: fewer full-page images. compression stays off: this build has neither lz4 nor zstd.
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  wal_compression: 'off',
  fsync: 'on',
  synchronous_commit: 'on',
  // This build has no io_uring.
  io_method: 'worker',
  random_page_cost: '1.1',
  // Compiling costs more than it saves on short statements.
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_min_messages: 'warning',
}

interface Paths {
  root: string
  cluster: string
  log: string
  clusterName: string
}

interface Plan {
  binaries: Binaries
  way: Launch
  paths: Paths
  socketDir: string
}

/** A failure of PostgreSQL's programs: the reason stands in what they printed. */
class ServerError extends Error {}

/**
 * Starts the server, creating its cluster first if there is none, and waits until it answers. What a crashed Grid left
 * behind is cleaned up. On Linux the server also stops when the thread that called this ends.
 * @throws Error with one sentence on what to do: folder in use, disk full, no permission, other major version.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const log = options.log ?? (() => {})
  let lock: Lock | null = null
  try {
    fs.mkdirSync(options.dataDir, { recursive: true, mode: 0o700 })
    const paths = pathsOf(options.dataDir)
    lock = takeLock(join(paths.root, 'grid.pid'), paths.root)
    const binaries = await findBinaries()
    const way = await prepareCluster(binaries, paths, log)
    const socketDir = prepareSocketDir(paths, way)
    await cleanUp(paths, socketDir, log)
    return await run({ binaries, way, paths, socketDir }, options.settings ?? {}, lock, log)
  } catch (error) {
    lock?.release()
    throw explain(error, resolve(options.dataDir))
  }
}

function pathsOf(dataDir: string): Paths {
  const root = fs.realpathSync(dataDir)
  const hash = createHash('sha256').update(root).digest('hex').slice(0, 16)
  return {
    root,
    cluster: join(root, 'postgres'),
    log: join(root, 'postgres.log'),
    clusterName: `grid-${hash}`,
  }
}

/** Finds the way to run the server and, on the first start, creates the cluster. */
async function prepareCluster(
  binaries: Binaries,
  paths: Paths,
  log: (message: string) => void,
): Promise<Launch> {
  const stat = fs.statSync(paths.cluster, { throwIfNoEntry: false })
  const owner: Owner | null = stat ? { uid: stat.uid, gid: stat.gid } : null
  const versionFile = join(paths.cluster, 'PG_VERSION')
  if (fs.existsSync(versionFile)) {
    // Copies and backups often come back readable to others, which PostgreSQL refuses.
    fs.chmodSync(paths.cluster, 0o700)
    const way = chooseLaunch(binaries, paths.cluster, owner)
    const version = fs.readFileSync(versionFile, 'utf8').trim()
    if (version !== way.version) {
      throw new Error(
        `${paths.cluster} was written by PostgreSQL ${version}, this version of Portfolio Grid brings PostgreSQL ${way.version}: move the data with pg_dump, or choose another folder with GRID_DATA_DIR.`,
      )
    }
    return way
  }
  if (stat && fs.readdirSync(paths.cluster).length > 0) {
    throw new Error(
      `${paths.cluster} holds files but no PostgreSQL cluster: empty it, or choose another folder with GRID_DATA_DIR.`,
    )
  }
  log(`Creating the database in ${paths.cluster}`)
  // A crash in the middle must not leave half a cluster under the final name.
  const fresh = `${paths.cluster}.new`
  fs.rmSync(fresh, { recursive: true, force: true })
  fs.mkdirSync(fresh, { mode: 0o700 })
  if (owner) fs.chownSync(fresh, owner.uid, owner.gid)
  const way = chooseLaunch(binaries, fresh, owner)
  await createCluster(binaries, way, fresh)
  fs.renameSync(fresh, paths.cluster)
  return way
}

/**
 * The default collation is PostgreSQL's own C.UTF-8: same order on every operating system and after every update of
 * it, so no index is ever out of order. The C library's locale of that name does not exist on macOS.
 */
async function createCluster(binaries: Binaries, way: Launch, folder: string): Promise<void> {
  const child = launch(
    way,
    binaries.initdb,
    [
      '-D',
      folder,
      '--username=postgres',
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--auth-local=trust',
      '--auth-host=reject',
      '--no-instructions',
    ],
    ['ignore', 'pipe', 'pipe'],
  )
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const end = await outcome(child)
  if (end !== 'code 0') {
    throw new ServerError(
      `The database could not be created (initdb: ${end}):\n${lastLines(output)}`,
    )
  }
}

/** The folder of the socket, inside the data folder unless its path is too long for a socket address. */
function prepareSocketDir(paths: Paths, way: Launch): string {
  const name = paths.clusterName
  const folder = [join(paths.root, 'run'), join(tmpdir(), name), join('/tmp', name)].find(
    (folder) => Buffer.byteLength(join(folder, SOCKET)) <= SOCKET_BYTES_MAX,
  )!
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  // Below /tmp anybody may have made it first.
  const stat = fs.lstatSync(folder)
  const owners = [process.getuid?.(), way.owner?.uid]
  if (!stat.isDirectory() || !owners.includes(stat.uid)) {
    throw new Error(
      `${folder} belongs to another user: remove it, or choose a data folder with a shorter path.`,
    )
  }
  fs.chmodSync(folder, 0o700)
  giveTo(folder, way.owner)
  return folder
}

/** Ends or refuses servers of an earlier run and takes their claims on pids back. */
async function cleanUp(
  paths: Paths,
  socketDir: string,
  log: (message: string) => void,
): Promise<void> {
  const pidFile = join(paths.cluster, 'postmaster.pid')
  if (!fs.existsSync(pidFile)) return
  log('The database was not stopped the last time; cleaning up')
  await endServer(paths.clusterName)
  if (await accepts(join(socketDir, SOCKET))) {
    throw new Error(
      `A database server that cannot be seen from here, probably in another container, runs in ${paths.cluster}: stop it first.`,
    )
  }
  // A fast shutdown removes the file. After a crash PostgreSQL would refuse to start when the pid has been given to
  // another process or waits to be reaped. It ignores its parent's pid, so put ours there: unlike removing the file
  // this keeps the shared memory key, by which it finds processes still attached to the old server's memory.
  if (fs.existsSync(pidFile)) {
    const text = fs.readFileSync(pidFile, 'utf8')
    fs.writeFileSync(pidFile, text.replace(/^.*/, String(process.pid)))
  }
  fs.rmSync(join(socketDir, SOCKET), { force: true })
  fs.rmSync(join(socketDir, `${SOCKET}.lock`), { force: true })
}

async function run(
  { binaries, way, paths, socketDir }: Plan,
  settings: Record<string, string>,
  lock: Lock,
  log: (message: string) => void,
): Promise<Embedded> {
  const file = openLog(paths.log)
  const start = fs.fstatSync(file).size
  const args = argumentsOf(paths, socketDir, settings)
  const child = launch(way, binaries.postgres, args, ['ignore', file, file])
  fs.closeSync(file)
  // A Grid that ends without stop() takes its server along, on every platform.
  const onExit = (): void => void child.kill('SIGINT')
  process.once('exit', onExit)
  let stopping = false
  const ended = outcome(child).then((end) => {
    process.removeListener('exit', onExit)
    lock.release()
    if (stopping) return null
    const message = `The database server ended by itself (${end}), see ${paths.log}`
    log(message)
    const lines = lastLines(fs.readFileSync(paths.log).subarray(start).toString())
    return new ServerError(`${message}\n${lines}`)
  })
  const stop = async (): Promise<void> => {
    stopping = true
    child.ref()
    child.kill('SIGINT')
    const timer = setTimeout(() => child.kill('SIGQUIT'), STOP_TIMEOUT_MS)
    await ended
    clearTimeout(timer)
  }
  const ownerConfig = {
    host: socketDir,
    port: PORT,
    user: 'postgres',
    database: 'postgres',
    ssl: false as const,
  }
  try {
    await untilReady(ownerConfig, ended)
  } catch (error) {
    await stop()
    throw error
  }
  // The database never keeps a process alive that has nothing else to do.
  child.unref()
  const ownerUrl = `postgresql://postgres@/postgres?host=${encodeURIComponent(socketDir)}&port=${PORT}`
  return { ownerConfig, ownerUrl, socketDir, port: PORT, pid: child.pid!, stop, ended }
}

/** Opens the server's log for appending; the last one is kept when it has grown large. */
function openLog(path: string): number {
  const size = fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > LOG_BYTES_MAX) fs.renameSync(path, `${path}.1`)
  return fs.openSync(path, 'a', 0o600)
}

function argumentsOf(paths: Paths, socketDir: string, settings: Record<string, string>): string[] {
  const all = {
    ...SETTINGS,
    ...settings,
    // Not for callers to change: the safety of `trust` and the clean-up after a crash rest on them.
    listen_addresses: '',
    port: String(PORT),
    unix_socket_directories: `"${socketDir.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    cluster_name: paths.clusterName,
  }
  return [
    '-D',
    paths.cluster,
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
}

async function untilReady(
  config: Embedded['ownerConfig'],
  ended: Promise<Error | null>,
): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS
  while (Date.now() < deadline) {
    const error = await Promise.race([ended, sleep(POLL_MS, undefined)])
    if (error) throw error
    const client = new Client({ ...config, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {}) // a connection lost after it was made is found by the next try
    try {
      await client.connect()
      return
    } catch (error) {
      // cannot_connect_now: starting up or recovering.
      if (error instanceof DatabaseError && error.code !== '57P03') throw error
    } finally {
      await client.end().catch(() => {})
    }
  }
  throw new Error(`The database server did not answer within ${READY_TIMEOUT_MS / 60_000} minutes.`)
}

/** True when a process listens on the socket, even one in another container that shares this folder. */
async function accepts(path: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(path)
    socket.on('connect', () => {
      socket.destroy()
      done(true)
    })
    socket.on('error', () => done(false))
  })
}

/** How a program ended, in words: `code 0` is success. */
async function outcome(child: ChildProcess): Promise<string> {
  return new Promise((done) => {
    child.once('error', (error) => done(error.message))
    child.once('close', (code, signal) => done(signal ?? `code ${code}`))
  })
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-8).join('\n')
}

/** Says what to do about the two usual causes, which PostgreSQL and Node report in many wordings. */
function explain(error: unknown, dataDir: string): unknown {
  const ours = error instanceof ServerError
  if (!(error instanceof Error) || (!ours && !('code' in error))) return error
  const text = error.message
  // On a full disk PostgreSQL cannot write its log either, so ask the file system.
  if (/ENOSPC|EDQUOT|No space left|quota exceeded/i.test(text) || (ours && isFull(dataDir))) {
    return new Error(`The disk of ${dataDir} is full: free some space and start again. (${text})`, {
      cause: error,
    })
  }
  if (/EACCES|EPERM|EROFS|Permission denied|Read-only file system/i.test(text)) {
    return new Error(
      `Portfolio Grid may not write in ${dataDir}: give the folder to the user that runs it, or choose another with GRID_DATA_DIR. (${text})`,
      { cause: error },
    )
  }
  return error
}

function isFull(folder: string): boolean {
  const { bavail, bsize } = fs.statfsSync(folder)
  return bavail * bsize < DISK_FREE_BYTES_MIN
}
