import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { findBinaries } from './embedded-launch.ts'
import { startEmbedded } from './embedded.ts'
import type { Embedded } from './embedded.ts'

const root = process.getuid?.() === 0
// mkdtemp makes the folder 0700, as root's folders often are. Not os.tmpdir(): on macOS it is too long for a socket.
const scratch = fs.realpathSync(fs.mkdtempSync('/tmp/grid-embedded-'))
const dataDir = join(scratch, 'data')
const pidFile = join(dataDir, 'postgres/postmaster.pid')
const SMALL = { shared_buffers: '16MB' }
const running: Embedded[] = []

const { initdb } = await findBinaries()
/** A checkout in a folder that is closed to others, such as one of mktemp, holds no programs for another user. */
const servesOthers =
  root &&
  process.platform === 'linux' &&
  spawnSync(initdb, ['--version'], { cwd: '/', uid: 65534, gid: 65534 }).status === 0

async function start(dir = dataDir, settings: Record<string, string> = {}): Promise<Embedded> {
  const db = await startEmbedded({ dataDir: dir, settings: { ...SMALL, ...settings } })
  running.push(db)
  return db
}

async function query(db: Embedded, sql: string): Promise<unknown> {
  const client = new Client(db.ownerConfig)
  await client.connect()
  try {
    const { rows } = await client.query<{ value: unknown }>(sql)
    return rows[0]?.value
  } finally {
    await client.end()
  }
}

/** A Grid process of its own that starts the database and then waits to be killed. */
async function startElsewhere(): Promise<{
  pid: number
  postmaster: number
  crash: () => Promise<void>
}> {
  const script = `
    const { startEmbedded } = await import(${JSON.stringify(new URL('./embedded.ts', import.meta.url).href)})
    const db = await startEmbedded(${JSON.stringify({ dataDir, settings: SMALL })})
    console.log(db.pid)
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const crash = async (): Promise<void> => {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  return { pid: child.pid!, postmaster: Number(line.toString()), crash }
}

beforeAll(async () => {
  const db = await start()
  expect(await query(db, 'select version() as value')).toMatch(/^PostgreSQL 18\./)
  await query(db, 'create table note as select 42 as value')
  await db.stop()
})

afterEach(async () => {
  for (const db of running.splice(0)) await db.stop()
})

afterAll(() => fs.rmSync(scratch, { recursive: true, force: true }))

describe('a cluster', () => {
  test('keeps its data over a restart and leaves no lock behind', async () => {
    expect(fs.readdirSync(dataDir).sort()).toEqual(['postgres', 'postgres.log', 'run'])
    const db = await start()
    expect(await query(db, 'select value from note')).toBe(42)
    expect(Number(fs.readFileSync(pidFile, 'utf8').split('\n')[0])).toBe(db.pid)
    await db.stop()
    expect(await db.ended).toBeNull()
    expect(fs.existsSync(join(dataDir, 'grid.pid'))).toBe(false)
  })

  test('is private to its user, sorts the same everywhere and listens on no network address', async () => {
    const db = await start()
    expect(fs.statSync(join(dataDir, 'postgres')).mode & 0o777).toBe(0o700)
    expect(fs.statSync(db.socketDir).mode & 0o777).toBe(0o700)
    expect(await query(db, `select current_setting('listen_addresses') as value`)).toBe('')
    expect(
      await query(
        db,
        `select datlocprovider::text || datlocale as value from pg_database where datname = 'postgres'`,
      ),
    ).toBe('bC.UTF-8')
    expect(
      await query(db, `select pg_encoding_to_char(encoding) as value from pg_database limit 1`),
    ).toBe('UTF8')
  })

  test('is reached by its URL too, and takes settings but not those its safety rests on', async () => {
    const db = await start(dataDir, { work_mem: '7MB', listen_addresses: '*' })
    const client = new Client(db.ownerUrl)
    await client.connect()
    const { rows } = await client.query(
      `select current_setting('work_mem') as mem, current_setting('listen_addresses') as addresses`,
    )
    await client.end()
    expect(rows).toEqual([{ mem: '7MB', addresses: '' }])
  })

  test.each([
    ['a path too long for a socket address', 'long-'.repeat(30)],
    ['blanks, commas and quotes in its path', 'a, "b" \'c\''],
  ])('starts with %s', async (_, name) => {
    const dir = join(scratch, name)
    fs.mkdirSync(dir)
    fs.cpSync(join(dataDir, 'postgres'), join(dir, 'postgres'), { recursive: true })
    const db = await start(dir)
    expect(Buffer.byteLength(`${db.socketDir}/.s.PGSQL.${db.port}`)).toBeLessThanOrEqual(107)
    expect(fs.statSync(db.socketDir).mode & 0o777).toBe(0o700)
    expect(await query(db, 'select value from note')).toBe(42)
    await db.stop()
    if (!db.socketDir.startsWith(dir)) fs.rmdirSync(db.socketDir)
  })

  test.runIf(servesOthers)('of another user is run as that user when Grid is root', async () => {
    const dir = join(scratch, 'other-user')
    fs.mkdirSync(join(dir, 'postgres'), { recursive: true, mode: 0o700 })
    fs.chownSync(join(dir, 'postgres'), 65534, 65534)
    for (let i = 0; i < 2; i++) {
      const db = await start(dir)
      expect(await query(db, 'select 1 as value')).toBe(1)
      expect(fs.statSync(join(dir, 'postgres/PG_VERSION')).uid).toBe(65534)
      expect(fs.statSync(`/proc/${db.pid}`).uid).toBe(65534)
      await db.stop()
    }
  })
})

describe('after a crash', () => {
  test('of the server, the error names the log and the next start recovers the data', async () => {
    const db = await start()
    await query(db, 'create table crashed as select 1 as value')
    process.kill(db.pid, 'SIGKILL')
    expect(String(await db.ended)).toMatch(/ended by itself \(SIGKILL\), see .*postgres\.log/)
    const next = await start()
    expect(await query(next, 'select value from crashed')).toBe(1)
  })

  test('of Grid, the server that still runs is shut down and replaced', async () => {
    const first = await startElsewhere()
    // Stopped, it cannot follow its parent, so the next start meets it alive.
    process.kill(first.postmaster, 'SIGSTOP')
    await first.crash()
    const starting = start()
    await sleep(100)
    process.kill(first.postmaster, 'SIGCONT')
    const db = await starting
    expect(db.pid).not.toBe(first.postmaster)
    expect(await query(db, 'select value from note')).toBe(42)
  })

  test.each(['postgres/postmaster.pid', 'run/.s.PGSQL.5432.lock'])(
    'a pid in %s that another process has got meanwhile does not stop the start',
    async (file) => {
      const other = spawn('sleep', ['60'], { stdio: 'ignore' })
      const db = await start()
      const left = fs.readFileSync(join(dataDir, file), 'utf8')
      const pids = fs.readFileSync(pidFile, 'utf8')
      await db.stop()
      fs.writeFileSync(pidFile, pids)
      fs.writeFileSync(join(dataDir, file), left.replace(/^.*/, String(other.pid)))
      try {
        expect(await query(await start(), 'select value from note')).toBe(42)
        expect(other.exitCode).toBeNull()
      } finally {
        other.kill()
      }
    },
  )

  test.each(['', '1 gone\n', `${process.pid} 1@an-earlier-boot\n`])(
    'the lock %j of a process that has ended is taken over',
    async (lock) => {
      fs.writeFileSync(join(dataDir, 'grid.pid'), lock)
      await start()
      expect(fs.readFileSync(join(dataDir, 'grid.pid'), 'utf8')).toMatch(
        new RegExp(`^${process.pid} \\S{5,}\\n$`),
      )
    },
  )

  test('half a cluster is thrown away and made anew', async () => {
    const dir = join(scratch, 'half')
    fs.mkdirSync(join(dir, 'postgres.new/base'), { recursive: true })
    expect(await query(await start(dir), 'select 1 as value')).toBe(1)
    expect(fs.existsSync(join(dir, 'postgres.new'))).toBe(false)
  })
})

describe('a start is refused', () => {
  test('while another Grid process has the folder, whose pid is named', async () => {
    const first = await startElsewhere()
    try {
      await expect(start()).rejects.toThrow(`another Portfolio Grid process (pid ${first.pid})`)
    } finally {
      await first.crash()
    }
    expect(await query(await start(), 'select value from note')).toBe(42)
  })

  test('while this process has the folder already', async () => {
    const db = await start()
    await expect(start()).rejects.toThrow(`in use by this process (pid ${process.pid})`)
    expect(await query(db, 'select value from note')).toBe(42)
  })

  test('when a server that cannot be seen answers on the socket', async () => {
    const db = await start()
    // The same folder under another name, as a container beside this one sees it.
    const beside = join(scratch, 'beside')
    fs.mkdirSync(join(beside, 'run'), { recursive: true })
    fs.symlinkSync(join(dataDir, 'postgres'), join(beside, 'postgres'))
    fs.symlinkSync(join(db.socketDir, '.s.PGSQL.5432'), join(beside, 'run/.s.PGSQL.5432'))
    await expect(start(beside)).rejects.toThrow('cannot be seen from here')
    expect(await query(db, 'select value from note')).toBe(42)
  })

  test.each([
    [
      'PG_VERSION',
      '17\n',
      /written by PostgreSQL 17, this version of Portfolio Grid brings PostgreSQL 18/,
    ],
    ['notes.txt', 'mine', /holds files but no PostgreSQL cluster/],
  ])('when the folder holds a foreign %s', async (file, text, message) => {
    const dir = join(scratch, file)
    fs.mkdirSync(join(dir, 'postgres'), { recursive: true, mode: 0o700 })
    fs.writeFileSync(join(dir, 'postgres', file), text)
    await expect(start(dir)).rejects.toThrow(message)
    expect(fs.existsSync(join(dir, 'grid.pid'))).toBe(false)
  })

  test('by the server itself, with the end of its log', async () => {
    await expect(start(dataDir, { work_mem: 'much' })).rejects.toThrow(
      /invalid value for parameter "work_mem"/,
    )
    expect(await query(await start(), 'select value from note')).toBe(42)
  })
})
