/** The messages of the PostgreSQL protocol that the pipeline writes and reads. */
import { Buffer } from 'node:buffer'
import { DatabaseError } from 'pg'
import type { Cells, Gather, Param } from './pipeline.ts'

/** Builds the frontend messages of one flight in one buffer. */
export class Writer {
  private buffer = Buffer.allocUnsafe(1_024)
  private length = 0

  parse(name: string, sql: string): void {
    const start = this.begin(0x50)
    this.cstring(name)
    this.cstring(sql)
    this.int16(0)
    this.finish(start)
  }

  bindAndExecute(name: string, params: readonly Param[]): void {
    const bind = this.begin(0x42)
    this.cstring('')
    this.cstring(name)
    this.int16(0)
    this.int16(params.length)
    for (const param of params) this.param(param)
    this.int16(0)
    this.finish(bind)
    const execute = this.begin(0x45)
    this.cstring('')
    this.int32(0)
    this.finish(execute)
  }

  closeStatement(name: string): void {
    const start = this.begin(0x43)
    this.room(1)
    this.buffer[this.length++] = 0x53
    this.cstring(name)
    this.finish(start)
  }

  sync(): Buffer {
    this.finish(this.begin(0x53))
    return this.buffer.subarray(0, this.length)
  }

  private param(value: Param): void {
    if (value === null) {
      this.int32(-1)
      return
    }
    if (Buffer.isBuffer(value)) {
      this.int32(value.length)
      this.room(value.length)
      value.copy(this.buffer, this.length)
      this.length += value.length
      return
    }
    const text = String(value)
    const size = Buffer.byteLength(text)
    this.int32(size)
    this.room(size)
    this.length += this.buffer.write(text, this.length)
  }

  private begin(type: number): number {
    this.room(5)
    this.buffer[this.length++] = type
    this.length += 4
    return this.length - 4
  }

  private finish(start: number): void {
    this.buffer.writeInt32BE(this.length - start, start)
  }

  private cstring(text: string): void {
    this.room(Buffer.byteLength(text) + 1)
    this.length += this.buffer.write(text, this.length)
    this.buffer[this.length++] = 0
  }

  private int16(value: number): void {
    this.room(2)
    this.length = this.buffer.writeInt16BE(value, this.length)
  }

  private int32(value: number): void {
    this.room(4)
    this.length = this.buffer.writeInt32BE(value, this.length)
  }

  private room(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.length + bytes))
    this.buffer.copy(larger, 0, 0, this.length)
    this.buffer = larger
  }
}

/** The columns of a DataRow; the first one goes to `gather` if there is one. */
export function cells(data: Buffer, start: number, gather: Gather | undefined): Cells {
  let count = data.readUInt16BE(start)
  let offset = start + 2
  if (gather) {
    const end = offset + 4 + data.readInt32BE(offset)
    gather.add(data, offset + 4, end)
    offset = end
    count--
  }
  const row: Cells = []
  for (let i = 0; i < count; i++) {
    const size = data.readInt32BE(offset)
    offset += 4
    if (size < 0) {
      row.push(null)
    } else {
      const cell = Buffer.allocUnsafe(size)
      data.copy(cell, 0, offset, offset + size)
      row.push(cell)
      offset += size
    }
  }
  return row
}

const ERROR_FIELDS: Record<
  string,
  'severity' | 'code' | 'detail' | 'hint' | 'constraint' | 'table'
> = {
  S: 'severity',
  C: 'code',
  D: 'detail',
  H: 'hint',
  n: 'constraint',
  t: 'table',
}

/** The error of an ErrorResponse. */
export function databaseError(data: Buffer, start: number, end: number): DatabaseError {
  const parts = data.toString('utf8', start, end).split('\0').filter(Boolean)
  const message = parts.find((part) => part.startsWith('M'))?.slice(1) ?? 'unknown error'
  const error = new DatabaseError(message, end - start, 'error')
  for (const part of parts) {
    const name = ERROR_FIELDS[part[0] as string]
    if (name) error[name] = part.slice(1)
  }
  return error
}
