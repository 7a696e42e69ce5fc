/** Starts the load of one scenario, and the same SQL without the product: by pgbench, else by a plain driver loop. */
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Client } from 'pg'
import type { Plan, Report } from './load.ts'

export async function load(plan: Plan): Promise<Report> {
  const child = spawn(process.execPath, ['bench/load.ts'], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(plan))
  return JSON.parse(await text(child.stdout)) as Report
}

/** SQL for the database alone: `:name` are variables, each a random whole number of a range. */
export interface Script {
  variables: Record<string, [from: number, to: number]>
  statements: string[]
}

export interface Target {
  socket_dir: string
  user: 'postgres' | 'grid'
}

/** The pgbench on the path, or null. */
export async function findPgbench(): Promise<string | null> {
  return await new Promise((resolve) => {
    execFile('pgbench', ['--version'], (error, out) => resolve(error ? null : out.trim()))
  })
}

/** Transactions per second of a script with the given clients. */
export async function database(
  script: Script,
  target: Target,
  clients: number,
  seconds: number,
): Promise<number> {
  return (await findPgbench())
    ? await pgbench(script, target, clients, seconds)
    : await driverLoop(script, target, clients, seconds)
}

async function pgbench(
  script: Script,
  target: Target,
  clients: number,
  seconds: number,
): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'grid-bench-sql-'))
  try {
    const file = join(folder, 'script.sql')
    const sets = Object.entries(script.variables).map(
      ([name, [from, to]]) => `\\set ${name} random(${from}, ${to})`,
    )
    await writeFile(
      file,
      [...sets, ...script.statements.map((sql) => `${sql.replaceAll(/\s+/g, ' ')};`)].join('\n'),
    )
    const args = [
      '-n',
      '-M',
      'prepared',
      '-h',
      target.socket_dir,
      '-p',
      '5432',
      '-U',
      target.user,
      '-c',
      String(clients),
      '-j',
      '1',
      '-T',
      String(seconds),
      '-f',
      file,
      'postgres',
    ]
    const out = await new Promise<string>((resolve, reject) => {
      execFile('pgbench', args, (error, stdout, stderr) =>
        error ? reject(new Error(stderr || error.message)) : resolve(stdout),
      )
    })
    return Math.round(Number(/tps = ([\d.]+)/.exec(out)?.[1]))
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function driverLoop(
  script: Script,
  target: Target,
  clients: number,
  seconds: number,
): Promise<number> {
  const until = performance.now() + seconds * 1_000
  let done = 0
  await Promise.all(
    Array.from({ length: clients }, async () => {
      const client = new Client({
        host: target.socket_dir,
        user: target.user,
        database: 'postgres',
      })
      await client.connect()
      while (performance.now() < until) {
        const values = Object.fromEntries(
          Object.entries(script.variables).map(([name, [from, to]]) => [
            name,
            from + Math.floor(Math.random() * (to - from + 1)),
          ]),
        )
        for (const [i, sql] of script.statements.entries()) {
          const params: unknown[] = []
          const bound = sql.replaceAll(
            /(?<!:):([a-z_]+)/g,
            (_, name: string) => `$${params.push(values[name])}`,
          )
          await client.query({ name: `s${i}`, text: bound, values: params })
        }
        done++
      }
      await client.end()
    }),
  )
  return Math.round(done / seconds)
}
