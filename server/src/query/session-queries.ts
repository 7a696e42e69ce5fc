/** What is set for one transaction: how long its statements may run, and whose console it is. */
import type { Tx } from '../kit/types.ts'

/** Limits the statements that follow in the transaction. @param ms at least 1. */
export async function limitTime(tx: Pick<Tx, 'query'>, ms: number): Promise<void> {
  await setting(tx, 'statement_timeout', String(Math.ceil(ms)))
}

/** Lets the transaction read what the token opens. @param token hexadecimal digits. */
export async function carryToken(tx: Pick<Tx, 'query'>, token: string): Promise<void> {
  await setting(tx, 'app.console_token', `'${token}'`)
}

/** A statement and no function: the function is not the console's to call. */
async function setting(tx: Pick<Tx, 'query'>, name: string, value: string): Promise<void> {
  await tx.query(`set local ${name} = ${value}`)
}
