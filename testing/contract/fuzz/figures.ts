/**
 * The figures of a run: how often each class was sent and how it was answered, what was wrong, and how the heaps grew.
 */
import type { FuzzCase } from './cases.js'
import type { Kind, Outcome } from './outcome.js'

/** A problem, with the number of its case, if it belongs to one. */
export interface Finding {
  readonly number?: number
  readonly text: string
}

/** A heap after a collection, and how many requests there had been. */
export interface HeapSample {
  readonly requests: number
  readonly bytes: number
}

const kinds: readonly Kind[] = ['success', 'failure', 'server', 'none', 'refused']
/** Findings beyond these are counted, and not kept. */
const mostFindings = 50
/**
 * A heap that grows by less, after the first third of the run, is flat: compiled code and caches come and go by as
 * much.
 */
export const flatBytes: number = 4 * 1024 * 1024

export class Figures {
  readonly findings: Finding[] = []
  requests = 0
  problems = 0
  readonly #classes = new Map<string, Record<Kind, number>>()
  readonly #heaps = new Map<string, HeapSample[]>()

  count(fuzzCase: FuzzCase, { kinds: seen, problems }: Outcome): void {
    this.requests++
    const counts = this.#classes.get(fuzzCase.name) ?? { success: 0, failure: 0, server: 0, none: 0, refused: 0 }
    for (const kind of seen) counts[kind]++
    this.#classes.set(fuzzCase.name, counts)
    for (const text of problems)
      this.add({ number: fuzzCase.number, text: `${fuzzCase.name}, ${fuzzCase.app}: ${text}` })
  }

  add(finding: Finding): void {
    this.problems++
    if (this.findings.length < mostFindings) this.findings.push(finding)
  }

  sampleHeap(name: string, bytes: number): void {
    const samples = this.#heaps.get(name) ?? []
    this.#heaps.set(name, [...samples, { requests: this.requests, bytes }])
  }

  /** Adds a finding for each heap that is not flat. */
  judgeHeaps(): void {
    for (const [name, samples] of this.#heaps) {
      const growth = growthOf(samples)
      if (growth > flatBytes) this.add({ text: `the heap of ${name} grew by ${mebibytes(growth)} MiB` })
    }
  }

  /** All of it, for people. */
  print(): string {
    const rows = [...this.#classes].sort(([one], [other]) => one.localeCompare(other, 'en'))
    const lines = rows.map(
      ([name, counts]) => `${name.padEnd(34)}${kinds.map((kind) => String(counts[kind]).padStart(9)).join('')}`,
    )
    const heaps = [...this.#heaps].map(([name, samples]) => {
      const sizes = samples.map(({ bytes }) => mebibytes(bytes)).join(' ')
      return `heap of ${name}, MiB: ${sizes}; growth after the first third: ${mebibytes(growthOf(samples))}`
    })
    return [`${''.padEnd(34)}${kinds.map((kind) => kind.padStart(9)).join('')}`, ...lines, ...heaps].join('\n')
  }
}

/** How much a heap grew in the last two thirds of its samples, by the line that fits them best. */
export function growthOf(samples: readonly HeapSample[]): number {
  const judged = samples.slice(Math.floor(samples.length / 3))
  const [first, last] = [judged[0], judged.at(-1)]
  if (first === undefined || last === undefined || judged.length < 3) return 0
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
  const middle = mean(judged.map(({ requests }) => requests))
  const level = mean(judged.map(({ bytes }) => bytes))
  const spread = mean(judged.map(({ requests }) => (requests - middle) ** 2))
  const slope = mean(judged.map(({ requests, bytes }) => (requests - middle) * (bytes - level))) / spread
  return slope * (last.requests - first.requests)
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1)
}
