/** The flows of an engine, by name. A batch is registered as a whole or not at all. */
import { type FlowRegistrationError, registrationError } from '../errors/engine-errors.js'
import { isPlainObject } from '../util/json.js'
import { shownValue } from '../util/shown-value.js'
import { checkFlowStatics } from './check-declarations.js'
import { createCompactor } from './compaction.js'
import { Flow, type FlowConstructor } from './flow.js'

/** Flows by name; each key must equal the `id` of its class. */
export type FlowConstructorMap = Readonly<Record<string, FlowConstructor>>

/** The argument of `registerFlows`: a list, or a map by name. */
export type FlowRegistration = readonly FlowConstructor[] | FlowConstructorMap

interface RegisteredFlow {
  readonly flow: FlowConstructor
  readonly compactor: unknown
}

/** Bundlers shorten the names of classes, which are the names of flows without an `id`. */
export const giveStaticId: string = 'Give each flow a static id.'

/** The contract fixes it. */
const incompleteMessage = 'A registered flow must have a name and constructor.'

/** The flows of one engine. */
export class FlowRegistry {
  readonly #flows = new Map<string, RegisteredFlow>()
  /** Maps former names to registered names. */
  #formerNames: ReadonlyMap<string, string> = new Map()

  /**
   * The compactor of a flow; `undefined` if the flow has no compaction policies. Its type is in
   * `src/engine/turn/compactor.ts`, which this folder may not import.
   */
  compactorOf(flowName: string): unknown {
    return this.#flows.get(flowName)?.compactor
  }

  get(flowName: string): FlowConstructor | undefined {
    return this.#flows.get(flowName)?.flow
  }

  /** Resolves a former name to the registered name. Returns any other name unchanged. */
  currentName(flowName: string): string {
    return this.#flows.has(flowName) ? flowName : (this.#formerNames.get(flowName) ?? flowName)
  }

  names(): string[] {
    return [...this.#flows.keys()]
  }

  /**
   * Registers a batch, as a whole or not at all.
   *
   * @throws {@link FlowRegistrationError} (contract 4.7).
   */
  register(registration: FlowRegistration): void {
    const batch = new Map<string, RegisteredFlow>()
    for (const [name, flow] of entriesOf(registration)) {
      if (!isFlowConstructor(flow)) throw notAFlow(flow)
      const id = idOf(flow, name)
      if (this.#flows.has(id) || batch.has(id)) {
        throw registrationError(`Flow '${id}' is already registered.`, giveStaticId)
      }
      checkFlowStatics(`Flow '${id}'`, flow)
      checkNoMerge(id, flow)
      batch.set(id, { flow, compactor: createCompactor(id, flow.compaction) })
    }
    this.#formerNames = this.#withAliases(batch)
    for (const [name, registered] of batch) this.#flows.set(name, registered)
  }

  /**
   * Combines the registered former names with those in a batch.
   *
   * @throws {@link FlowRegistrationError} if a former name is also the name or a former name of another flow.
   */
  #withAliases(batch: ReadonlyMap<string, RegisteredFlow>): ReadonlyMap<string, string> {
    const formerNames = new Map(this.#formerNames)
    const check = (id: string, alias: string, other: string | undefined): void => {
      if (other === undefined || other === id) return
      throw registrationError(
        `Flow '${id}' has the alias '${alias}', which is the name or an alias of flow '${other}'.`,
      )
    }
    for (const [id, { flow }] of batch) {
      check(this.#formerNames.get(id) ?? id, id, id)
      for (const alias of flow.aliases) {
        check(id, alias, this.#flows.has(alias) || batch.has(alias) ? alias : formerNames.get(alias))
        formerNames.set(alias, id)
      }
    }
    return formerNames
  }
}

/** The classes to register, with their keys if the registration is a map. */
function entriesOf(registration: FlowRegistration): readonly (readonly [string | undefined, unknown])[] {
  if (Array.isArray(registration)) return Array.from(registration, (flow: unknown) => [undefined, flow] as const)
  if (registration instanceof Flow) throw notAFlow(registration)
  if (!isPlainObject(registration)) throw incomplete(shownValue(registration))
  const entries = Object.entries(registration)
  if (entries.some(([name]) => name.trim() === '')) throw incomplete('a map with a blank name')
  return entries
}

/** The ID of a flow, which must match its key if it was registered with one. */
function idOf({ id }: FlowConstructor, name: string | undefined): string {
  if (typeof id !== 'string' || id.trim() === '')
    throw incomplete('a flow class whose static id is not a text, or is blank')
  if (name !== undefined && name !== id) {
    throw registrationError(`Flow registration '${name}' must match Flow ID '${id}'.`)
  }
  return id
}

function isFlowConstructor(value: unknown): value is FlowConstructor {
  return typeof value === 'function' && value.prototype instanceof Flow
}

/** `merge` was removed: when a turn failed, the messages that it had merged were lost. */
function checkNoMerge(id: string, flow: FlowConstructor): void {
  if (!('merge' in flow.prototype)) return
  throw registrationError(`Flow '${id}': merge was removed. Use static busy = 'queue', which answers every message.`)
}

/** A class with the methods of a flow that does not extend this `Flow` comes from another copy of the package. */
function notAFlow(value: unknown): FlowRegistrationError {
  if (value instanceof Flow) {
    const { name } = value.constructor
    return registrationError(incompleteMessage, `Pass the class ${name}, not an object: flows: [${name}].`)
  }
  if (typeof value !== 'function' || value === Flow || !('addContext' in Object(value.prototype))) {
    return incomplete(shownValue(value))
  }
  return registrationError(
    `The class '${value.name}' extends Flow of another copy of turnkeeper. Install one copy: npm ls turnkeeper shows both.`,
  )
}

/** @param given - What was registered. */
function incomplete(given: string): FlowRegistrationError {
  return registrationError(incompleteMessage, `Register classes that extend Flow, as in flows: [MyFlow]; got ${given}.`)
}
