/**
 * Who owns a data folder: one live Grid process, named in a lock file, and which server processes an earlier one left.
 *
 * A pid alone proves nothing after a crash or in a restarted container, where numbers repeat at once. So the lock holds
 * the process's start time too, and server processes are recognised by the cluster name in their titles.
 */
import { execFileSync } from 'node:child_process'
import { linkSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Lock {
  release: () => void
}

/**
 * Takes the lock file for this process; one left by a process that has ended is taken over.
 * @throws Error naming the pid of the live owner.
 */
export function takeLock(path: string, folder: string): Lock {
  const mine = `${process.pid} ${processIdentity(process.pid)}\n`
  const draft = `${path}.${process.pid}`
  const aside = `${draft}.old`
  writeFileSync(draft, mine, { mode: 0o600 })
  try {
    // A link appears whole or not at all, so no reader ever sees a lock without its pid.
    while (!link(draft, path)) {
      refuseLiveOwner(readText(path), folder)
      if (!rename(path, aside)) continue
      // Another process may have taken the stale lock over since it was read: put that one back.
      try {
        refuseLiveOwner(readText(aside), folder)
      } catch (error) {
        link(aside, path)
        throw error
      } finally {
        rmSync(aside, { force: true })
      }
    }
  } finally {
    rmSync(draft, { force: true })
  }
  let held = true
  return {
    release: () => {
      if (held && readText(path) === mine) rmSync(path, { force: true })
      held = false
    },
  }
}

/** The processes of a server started with this `cluster_name`, its postmaster first. */
export function serverProcesses(clusterName: string): { pid: number; postmaster: boolean }[] {
  const found = []
  for (const { pid, command } of listProcesses()) {
    const child = command.startsWith(`postgres: ${clusterName}: `)
    const postmaster =
      /^\S.*\/postgres -D /.test(command) && command.includes(`cluster_name=${clusterName} `)
    if (child || postmaster) found.push({ pid, postmaster })
  }
  return found.sort((a, b) => Number(b.postmaster) - Number(a.postmaster))
}

/**
 * Ends what a crash left of a server: its postmaster with a fast shutdown, so that nothing needs recovery; without a
 * postmaster its other processes at once, because PostgreSQL refuses to start while one is attached to the old memory.
 */
export async function endServer(clusterName: string): Promise<void> {
  for (const [signal, wait_ms] of [
    ['SIGINT', 30_000],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const) {
    const [first, ...rest] = serverProcesses(clusterName)
    if (!first) return
    if (signal === 'SIGINT' && !first.postmaster) continue
    const targets = first.postmaster && signal !== 'SIGKILL' ? [first] : [first, ...rest]
    for (const { pid } of targets) kill(pid, signal)
    const deadline = Date.now() + wait_ms
    while (Date.now() < deadline && serverProcesses(clusterName).length > 0) await sleep(10)
  }
  const [left] = serverProcesses(clusterName)
  if (left)
    throw new Error(`The database server of an earlier run (pid ${left.pid}) cannot be stopped.`)
}

/** What tells a process from a later one with its pid; null when it has ended. */
function processIdentity(pid: number): string | null {
  if (process.platform !== 'linux') {
    const args = ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)]
    const [state = '', ...started] = ps(args).trim().split(/\s+/)
    return state === '' || state.startsWith('Z') ? null : started.join('_')
  }
  const stat = readText(`/proc/${pid}/stat`)
  // The name stands in parentheses and may hold any character; the state is the first field after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // Z: a container whose first process does not reap keeps ended processes for ever.
  if (stat === '' || fields[0] === 'Z' || fields[0] === 'X') return null
  return `${fields[19]}@${readText('/proc/sys/kernel/random/boot_id').trim()}`
}

function refuseLiveOwner(lock: string, folder: string): void {
  const [, pid, identity] = /^(\d+) (\S+)\n$/.exec(lock) ?? []
  if (pid === undefined || processIdentity(Number(pid)) !== identity) return
  throw new Error(
    `The data folder ${folder} is in use by ${Number(pid) === process.pid ? 'this process' : 'another Portfolio Grid process'} (pid ${pid}): stop it first, or choose another folder with GRID_DATA_DIR.`,
  )
}

function listProcesses(): { pid: number; command: string }[] {
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => ({
        pid: Number(name),
        command: readText(`/proc/${name}/cmdline`).replaceAll('\0', ' '),
      }))
  }
  return ps(['-axww', '-o', 'pid=', '-o', 'command='])
    .split('\n')
    .map((line) => {
      const [, pid = '0', command = ''] = /^\s*(\d+) (.*)$/.exec(line) ?? []
      return { pid: Number(pid), command: `${command} ` }
    })
}

function ps(args: string[]): string {
  try {
    return execFileSync('/bin/ps', args, { encoding: 'utf8', env: { LC_ALL: 'C' } })
  } catch {
    return '' // ps fails when no process matches
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

function link(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

function rename(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

/** The file's text, empty when it is missing or belongs to a process that has ended meanwhile. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
