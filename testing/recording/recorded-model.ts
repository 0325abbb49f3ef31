/**
 * The model of a replay: it gives the recorded answers for the turn and the memory that asks, and notes what does not
 * fit. `recording/replay-differences.ts` shows it.
 */

import { type FlowConstructor, type MessagePart, type ModelRequest, type RuntimeModel, Step } from '../../src/index.js'
import { count, ExpectationError, list, show } from '../expectations/expectation-error.js'
import { listedSteps } from '../flow-steps/flow-steps.js'
import type { RecordedTurn, Recording } from './recorded-turn.js'

/** The steps of the current code: their IDs, and where they keep their messages. */
export class StepNames {
  readonly #aliases = new Map<string, string>()
  readonly #namespaces = new Map<string, string>()
  /** Model steps that may change what a model said. */
  readonly rewriting: ReadonlySet<string>

  constructor(flow: FlowConstructor) {
    const rewriting = new Set<string>()
    for (const { id, aliases, stepClass } of listedSteps('replay', flow)) {
      for (const alias of aliases) this.#aliases.set(alias, id)
      const step = new stepClass()
      if (!(step instanceof Step)) continue
      this.#namespaces.set(id, step.memory ?? id)
      if (step.onReply !== Step.prototype.onReply) rewriting.add(id)
    }
    this.rewriting = rewriting
  }

  /** The current name of a step, or of a namespace named after one, that was stored under a former name. */
  current(name: string): string {
    return this.#aliases.get(name) ?? name
  }

  namespaceOf(step: string): string {
    return this.#namespaces.get(step) ?? step
  }
}

/** How the requests of a replayed turn differ from the recorded ones. */
export interface ModelProblems {
  /** Requests without an answer in the recording: the turn failed for that. */
  readonly tooMany: readonly string[]
  /** Recorded answers that no request used. */
  readonly unused: readonly string[]
}

/** Every model of a replay: it gives the recorded answers for the turn and the namespace that asks. */
export class RecordedModel implements RuntimeModel {
  readonly provider = 'recorded'
  readonly name = 'recorded'
  readonly #recording: Recording
  readonly #names: StepNames
  #turn = 0
  #left = new Map<string, (readonly MessagePart[])[]>()
  #problems: string[] = []
  #asked = new Set<string>()

  constructor(recording: Recording, names: StepNames) {
    this.#recording = recording
    this.#names = names
  }

  async generate(request: ModelRequest): Promise<{ readonly parts: readonly MessagePart[] }> {
    const { stepId, turnNumber } = request.origin
    const summarized = /^memory:(.*)$/.exec(stepId)?.[1]
    if (summarized !== undefined) return { parts: [{ type: 'text', text: this.#summaryOf(summarized) }] }
    this.#begin(turnNumber)
    this.#asked.add(stepId)
    const namespace = this.#names.namespaceOf(stepId)
    const parts = this.#left.get(namespace)?.shift()
    if (parts !== undefined) return { parts }
    const problem = `step '${stepId}' asks a model once more than was recorded for memory '${namespace}'\nit last received: ${lastOf(request)}`
    this.#problems.push(problem)
    throw new ExpectationError(problem)
  }

  /** What did not fit in a turn that has ended. */
  problemsOf({ number }: RecordedTurn): ModelProblems {
    this.#begin(number)
    const unused = Array.from(this.#left).filter(([, replies]) => replies.length > 0)
    return {
      tooMany: this.#problems,
      unused: unused.map(([namespace, replies]) => {
        return `${count(replies.length, 'reply', 'replies')} for memory '${namespace}': ${list(replies.map(replyText))}`
      }),
    }
  }

  /** The steps of this turn that may have changed what a model said. */
  get rewritten(): readonly string[] {
    return [...this.#asked].filter((step) => this.#names.rewriting.has(step))
  }

  /** Only the last summary of a memory was stored. The recorded answers do not depend on the earlier ones. */
  #summaryOf(namespace: string): string {
    const summaries = Object.entries(this.#recording.summaries ?? {})
    const last = summaries.find(([name]) => this.#names.current(name) === namespace)
    return last?.[1] ?? 'A summary that was not recorded.'
  }

  #begin(turn: number): void {
    if (turn === this.#turn) return
    this.#turn = turn
    this.#problems = []
    this.#asked = new Set()
    const replies = Object.entries(this.#recording.turns[turn - 1]?.replies ?? {})
    this.#left = new Map(replies.map(([namespace, list]) => [this.#names.current(namespace), [...list]]))
  }
}

function replyText(parts: readonly MessagePart[]): string {
  return parts
    .map((part) => (part.type === 'text' ? `'${part.text}'` : part.type === 'tool-call' ? part.toolName : ''))
    .join(' + ')
}

/** The last message that a model received. */
function lastOf({ messages }: ModelRequest): string {
  const part = messages.at(-1)?.parts.at(-1)
  if (part === undefined) return 'nothing'
  if (part.type === 'text' || part.type === 'reasoning') return show(part.text)
  return part.type === 'image' || part.type === 'file'
    ? part.mediaType
    : `${part.toolName} = ${show(part.type === 'tool-result' ? part.output : part.input)}`
}
