/** One clause of a sentence: text of which parts are taken, each with the place it stood at. */
import type { Span } from '../operations.ts'

/** Stands for what was taken: no word and no space. */
const TAKEN = '\uE000'

export class Clause {
  readonly number: number
  /** Place of the clause in the sentence. */
  readonly start: number
  /** As it was written. */
  readonly whole: string
  /** What is left; of the same length. */
  rest: string
  readonly spans: Span[] = []

  constructor(text: string, start: number, number: number) {
    this.whole = text
    this.rest = text
    this.start = start
    this.number = number
  }

  /** Finds a pattern in what is left, without taking it. Word boundaries are the caller's. */
  find(pattern: RegExp): RegExpExecArray | null {
    return pattern.exec(this.rest)
  }

  /** Takes the first match out. @returns it, or null when there is none. */
  take(pattern: RegExp): RegExpExecArray | null {
    const match = pattern.exec(this.rest)
    if (match) this.cut(match.index, match.index + match[0].length)
    return match
  }

  /** Takes a stretch out and notes it as a source. */
  cut(from: number, to: number): void {
    for (const match of this.rest.slice(from, to).matchAll(/[^\uE000]+/g)) {
      const lead = /^[\s,;:]*/.exec(match[0])?.[0].length ?? 0
      const words = match[0].slice(lead).replace(/[\s,;:]+$/, '')
      const start = this.start + from + match.index + lead
      if (words !== '') this.spans.push({ text: words, start, end: start + words.length })
    }
    this.rest = this.rest.slice(0, from) + TAKEN.repeat(to - from) + this.rest.slice(to)
  }

  /** What is left, in pieces between what was taken. */
  pieces(): { text: string; start: number; end: number }[] {
    const found: { text: string; start: number; end: number }[] = []
    for (const match of this.rest.matchAll(/[^\uE000]+/g)) {
      const lead = match[0].length - match[0].trimStart().length
      const text = match[0].trim()
      if (text === '') continue
      const start = this.start + match.index + lead
      found.push({ text, start, end: start + text.length })
    }
    return found
  }

  /** A part of the clause on its own; `lead` is read as if it stood before it. */
  part(text: string, lead = ''): Clause {
    return new Clause(lead + text, this.start + Math.max(0, this.whole.indexOf(text)), this.number)
  }

  /** The sources in the order in which they stand. */
  source(): Span[] {
    return this.spans.toSorted((a, b) => a.start - b.start)
  }
}

/** Word boundaries that know letters beyond ASCII. */
export function word(pattern: string, flags = 'iu'): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}_])(?:${pattern})(?![\\p{L}\\p{N}_])`, flags)
}
