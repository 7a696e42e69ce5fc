/** What a scenario is: a fault done to the running product, and an oracle that counts what came of it. */

export interface Scenario {
  /** Its row in docs/reliability.md. */
  row: number
  fault: string
  /** What has to hold. */
  pass: string
  /** @param size 1 for the full run; smaller ones do proportionally less. */
  run: (size: number) => Promise<Outcome>
}

export interface Outcome {
  passed: boolean
  /** Acknowledged writes or events the oracle looked for. */
  events: number
  lost: number
  duplicated: number
  out_of_order: number
  /** What else was measured, as a sentence. */
  figures: string
}

/** An outcome of counts alone: passed when nothing is lost, doubled or out of order. */
export function counted(
  events: number,
  faults: { lost?: number; duplicated?: number; out_of_order?: number },
  figures: string,
  passed = true,
): Outcome {
  const { lost = 0, duplicated = 0, out_of_order = 0 } = faults
  const clean = lost === 0 && duplicated === 0 && out_of_order === 0
  return { passed: passed && clean, events, lost, duplicated, out_of_order, figures }
}
