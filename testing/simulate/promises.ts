/**
 * The promises that hold for every flow, checked after each turn of a simulated conversation.
 */
import type { FlowErrorCode, SessionDocument, SessionStore } from '../../src/index.js'
import { copyJson } from '../../src/util/json.js'
import { count, show } from '../expectations/expectation-error.js'
import type { SimulatedTurn } from './simulated-turn.js'

/** A violated promise. */
export interface Violation {
  readonly promise: string
  readonly text: string
}

/** The promises of one simulated conversation. */
export class Promises {
  readonly #mayFail: readonly FlowErrorCode[]
  /** By session: how many turns it had when it was completed. */
  readonly #completed = new Map<string, number>()
  #notJson: string | undefined

  constructor(mayFail: readonly FlowErrorCode[]) {
    this.#mayFail = mayFail
  }

  /** Wraps a store, and checks what is written. */
  watch(store: SessionStore): SessionStore {
    const look = (document: SessionDocument): void => {
      this.#notJson ??= jsonProblem(document)
    }
    return new Proxy(store, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        if (key !== 'create' && key !== 'save') return value.bind(target)
        return (document: SessionDocument, ...more: unknown[]) => {
          look(document)
          return Reflect.apply(value, target, [document, ...more])
        }
      },
    })
  }

  /** The first violated promise, if there is one. `last` are the turns since the last check. */
  check(
    transcript: readonly SimulatedTurn[],
    last: readonly SimulatedTurn[],
    documents: ReadonlyMap<string, SessionDocument>,
  ): Violation | undefined {
    for (const turn of last) {
      const problem = this.#failedForNothing(turn) ?? this.#continued(turn) ?? notCommitted(turn, documents)
      if (problem !== undefined) return problem
    }
    for (const [id, document] of documents) {
      const problem = doubled(transcript, document) ?? this.#reopened(id, document)
      if (problem !== undefined) return problem
    }
    if (this.#notJson !== undefined) return { promise: 'what is stored is JSON', text: this.#notJson }
    return undefined
  }

  #failedForNothing(turn: SimulatedTurn): Violation | undefined {
    const { success, code, reply, disturbed, together } = turn
    if (success || disturbed || (code !== undefined && this.#mayFail.includes(code))) return undefined
    // Two engines: one of them was late.
    if (together && code === 'SESSION_CONFLICT') return undefined
    return {
      promise: 'a turn fails only because of a fault',
      text: `The turn ${named(turn)} failed with ${code} without a fault of the store: ${reply}\nIf that is meant: simulate(..., { mayFail: ['${code}'] }).`,
    }
  }

  #continued(turn: SimulatedTurn): Violation | undefined {
    const { session, success } = turn
    const turns = this.#completed.get(session)
    if (!success || turns === undefined) return undefined
    return {
      promise: 'a completed session never continues',
      text: `The turn ${named(turn)} was answered in session '${session}', which was completed in turn ${turns}.`,
    }
  }

  #reopened(id: string, { runStatus, turns: stored }: SessionDocument): Violation | undefined {
    const turns = this.#completed.get(id)
    if (turns === undefined) {
      if (runStatus === 'completed') this.#completed.set(id, stored)
      return undefined
    }
    if (runStatus === 'completed' && stored === turns) return undefined
    return {
      promise: 'a completed session never continues',
      text: `Session '${id}' was completed in turn ${turns}, and is stored as '${runStatus}' with ${count(stored, 'turn')}.`,
    }
  }
}

function named({ said, event }: SimulatedTurn): string {
  return event === undefined ? show(said) : `of event '${event}'`
}

function notCommitted(turn: SimulatedTurn, documents: ReadonlyMap<string, SessionDocument>): Violation | undefined {
  const { turnId, reply, session, success, completed } = turn
  if (!success) return undefined
  const promise = 'every reply is committed'
  const document = documents.get(session)
  const entry = document?.history.find((one) => one.id === turnId && one.reply === reply)
  if (entry === undefined) {
    const stored =
      document === undefined
        ? 'nothing is stored'
        : `what is stored has ${count(document.history.length, 'other turn')}`
    return {
      promise,
      text: `The turn ${named(turn)} was answered with ${show(reply)}, and ${stored} (session '${session}').`,
    }
  }
  if (!completed || document?.runStatus === 'completed') return undefined
  return {
    promise,
    text: `The turn ${named(turn)} was answered as the last one, and session '${session}' is stored as '${document?.runStatus}'.`,
  }
}

function doubled(transcript: readonly SimulatedTurn[], { id, history }: SessionDocument): Violation | undefined {
  const promise = 'no turn is stored twice'
  // A long history has lost its oldest turns.
  const first = history[0]?.turn ?? 1
  for (const [index, entry] of history.entries()) {
    const { turn, message } = entry
    if (turn !== first + index) {
      return {
        promise,
        text: `Entry ${index + 1} of the history of session '${id}' is turn ${turn}: ${show(message)}.`,
      }
    }
    const earlier = history.slice(0, index).find((one) => one.id === entry.id)
    if (earlier !== undefined) {
      return {
        promise,
        text: `The turn ${show(message)} is in the history of session '${id}' twice: as turn ${earlier.turn}, and as turn ${turn}.`,
      }
    }
    if (transcript.every(({ turnId }) => turnId !== entry.id)) {
      return {
        promise,
        text: `Turn ${turn} of session '${id}', ${show(message)}, is stored, and no such message was sent.`,
      }
    }
  }
  return undefined
}

/** The place where a document differs from its round trip through JSON. */
function jsonProblem(document: SessionDocument): string | undefined {
  try {
    copyJson(document, 'document', Number.POSITIVE_INFINITY)
    return undefined
  } catch (error) {
    return `${(error as Error).message}.`
  }
}
