/** A real browser for tests: the Chromium of the system, which `npm test` installs where it may. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** Nothing that the browser would ask of its maker; and no name but ours leads anywhere. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
]

/** Starts the browser, or says on standard error what to install and returns null. Root on Debian gets it installed. */
export async function startBrowser(): Promise<Browser | null> {
  const executablePath = place() ?? installed()
  if (!executablePath) {
    process.stderr.write(
      'Browser tests are left out: install Chromium (apt-get install chromium).\n',
    )
    return null
  }
  return await chromium.launch({ executablePath, args: ARGUMENTS })
}

function place(): string | undefined {
  return PLACES.find((path) => existsSync(path))
}

/** @throws when the installation fails: where it may be done, the tests are not left out. */
function installed(): string | undefined {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return undefined
  process.stderr.write('Installing Chromium for the browser tests\n')
  const run = (...args: string[]): Buffer =>
    execFileSync('apt-get', ['-qq', ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  run('update')
  run('install', '-y', '--no-install-recommends', 'chromium')
  const path = place()
  if (!path) throw new Error('apt-get installed Chromium, but it is nowhere to be found')
  return path
}
