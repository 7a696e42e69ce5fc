/** The limit of a load: how long the database alone takes to store the rows that the load left, with all their indexes. */
import { ownerClient } from './seed.ts'

export interface StoredRows {
  tables: string[]
  seconds: number
  /** Of the time that the load took, parsing, mapping, comparing and sealing included. */
  share_of_load: number
}

interface Database {
  socket_dir: string
}

/** Rows ever inserted, by table. What runs tells its counts when it is idle: within a second. */
export async function insertedRows(server: Database): Promise<Map<string, number>> {
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  const client = await ownerClient(server)
  const { rows } = await client.query<{ name: string; n: string }>(
    `select schemaname || '.' || relname as name, n_tup_ins as n from pg_stat_user_tables`,
  )
  await client.end()
  return new Map(rows.map(({ name, n }) => [name, Number(n)]))
}

/** Copies the tables into empty ones of their kind, one statement each. @param load_s what the load took, in seconds. */
export async function storeAgain(
  server: Database,
  tables: string[],
  load_s: number,
): Promise<StoredRows> {
  const client = await ownerClient(server)
  let seconds = 0
  for (const table of tables) {
    await client.query(`create table copied (like ${table} including all)`)
    const started = performance.now()
    await client.query(`insert into copied select * from ${table}`)
    seconds += (performance.now() - started) / 1_000
    await client.query('drop table copied')
  }
  await client.end()
  const result = {
    tables,
    seconds: Math.round(seconds * 10) / 10,
    share_of_load: Math.round((100 * seconds) / load_s) / 100,
  }
  process.stdout.write(
    `the database alone stores ${tables.join(', ')} in ${result.seconds} s: ${result.share_of_load} of the load\n`,
  )
  return result
}
