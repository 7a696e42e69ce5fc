/** The command line. */
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { commands } from './commands.ts'

const USAGE = `Portfolio Grid

usage: grid <command> [options]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(14)} ${summary}`)
  .join('\n')}

Settings come from the environment and from .env; see .env.example. grid <command> --help says more.
`

/** Runs a command. @returns the exit code. */
export async function run(argv: string[]): Promise<number> {
  const name = argv.slice(0, 2).join(' ') in commands ? argv.slice(0, 2).join(' ') : (argv[0] ?? '')
  const command = commands[name]
  if (!command) {
    const help = name === '' || name === '--help' || name === '-h' || name === 'help'
    process.stdout.write(help ? USAGE : `unknown command '${argv.join(' ')}'\n\n${USAGE}`)
    return help ? 0 : 2
  }
  if (existsSync('.env')) process.loadEnvFile('.env')
  const { values, positionals } = parseArgs({
    args: argv.slice(name.split(' ').length),
    options: { help: { type: 'boolean', short: 'h' }, ...command.options },
    allowPositionals: true,
  })
  if (values['help']) {
    process.stdout.write(`${command.summary}\n\nusage: grid ${name} ${command.usage}\n`)
    return 0
  }
  return await command.run(values, positionals)
}
