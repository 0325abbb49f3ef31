/** What a set-up module exports, and the conversation that is made of it for one scenario. */
import type { FlowConstructor } from '../../src/index.js'
import { hintAt } from '../../src/util/options.js'
import type { ConversationOptions } from '../conversation/conversation-options.js'
import { ExpectationError, list, show } from '../expectations/expectation-error.js'
import { Conversation } from '../index.js'
import type { ModelScript } from '../scripted-model/scripted-model.js'

/**
 * What a set-up module exports as `default`: the flow, and the options of the {@link Conversation} that each scenario
 * gets. Without a `script`, models answer what the scenario says in its lines `Model:`.
 */
export interface ScenarioSetup extends ConversationOptions {
  readonly flow: FlowConstructor
  /**
   * Options that differ in scenarios with a line `Given: ...`, by the text of that line. Tool doubles are added to the
   * set-up's doubles; any other option replaces the set-up's option. Default: no scenario may have such a line.
   */
  readonly given?: Readonly<Record<string, ConversationOptions>>
}

/** A set-up, or a function that makes one for each scenario, for services that keep state between scenarios. */
export type ScenarioSetupSource = ScenarioSetup | (() => ScenarioSetup | Promise<ScenarioSetup>)

/**
 * Makes the set-up.
 *
 * @param source - What the module exports as `default`.
 * @throws `ExpectationError` (rejects) if that is not a set-up.
 */
export async function setupFrom(source: unknown): Promise<ScenarioSetup> {
  const setup: unknown = typeof source === 'function' ? await source() : source
  if (typeof (setup as Partial<ScenarioSetup> | undefined)?.flow === 'function') return setup as ScenarioSetup
  throw new ExpectationError(
    `The set-up must export a flow as default: export default { flow: Booking, tools: { ... } }. It exports ${show(setup, 100)}.`,
  )
}

/**
 * The conversation of a scenario: `script` answers, unless the set-up has a script. The doubles of the set-up serve all
 * scenarios, so this one need not use them.
 */
export function conversationOf(
  { flow, given: _given, ...options }: ScenarioSetup,
  differing: readonly ConversationOptions[],
  script: ModelScript,
): Conversation {
  const all: ConversationOptions = Object.assign({}, options, ...differing)
  const own = Object.assign({}, ...differing.map((more) => more.tools))
  const tools = { ...options.tools, ...own }
  const hasTools = options.tools !== undefined || differing.some((more) => more.tools !== undefined)
  const conversation = new Conversation(flow, { script, ...all, ...(hasTools ? { tools } : {}) })
  conversation.tools.allowUnused(Object.keys(tools).filter((name) => !Object.hasOwn(own, name)))
  return conversation
}

/** What a line `Given: ...` means. */
export function givenIn({ given = {} }: ScenarioSetup, phrase: string): ConversationOptions {
  const options: ConversationOptions | null | undefined = Object.hasOwn(given, phrase) ? given[phrase] : undefined
  if (typeof options === 'object' && options !== null) return options
  if (options !== undefined) {
    throw new ExpectationError(`The set-up must have options for this, as an object. It has ${show(options, 100)}.`)
  }
  const known = Object.keys(given)
  throw new ExpectationError(
    `The set-up does not know what this means. It has: ${list(known)}.${hintAt(phrase, known)}`,
  )
}
