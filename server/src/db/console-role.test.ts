import { describe, expect, it } from 'vitest'
import { consoleConfig } from './console-role.ts'

describe('the login of the SQL console', () => {
  it('stands beside that of the service, on its server', () => {
    const socket = { host: '/run/grid', port: 5432, user: 'grid', database: 'postgres' }
    expect(consoleConfig(socket)).toMatchObject({ ...socket, user: 'grid_sql' })
    const url = 'postgresql://app%40eu:secret@db.example:6432/grid?sslmode=require'
    const { connectionString } = consoleConfig({ connectionString: url })
    const made = new URL(connectionString as string)
    expect(decodeURIComponent(made.username)).toBe('app@eu_sql')
    expect(made.password).toMatch(/^[\w-]{43}$/)
    expect(`${made.host}${made.pathname}${made.search}`).toBe(
      'db.example:6432/grid?sslmode=require',
    )
    const other = consoleConfig({ connectionString: url.replace('secret', 'other') })
    expect(other.connectionString).not.toBe(connectionString)
  })
})
