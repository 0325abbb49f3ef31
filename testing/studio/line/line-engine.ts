/** Makes the engine of a line from the set-up. It is recorded and guarded, and has the time of the line. */
import { systemClock } from '../../../src/config/clock.js'
import {
  type FlowConstructor,
  FlowEngine,
  MemorySessionStore,
  type ModelProviderAdapter,
  type RuntimeModel,
} from '../../../src/index.js'
import type { ConversationOptions } from '../../conversation/conversation-options.js'
import { modelsOfPolicies } from '../../conversation/world/conversation-engines.js'
import { watchProvider } from '../../conversation/world/model-log.js'
import { ReadingGate } from '../../conversation/world/reading-gate.js'
import { engineOptionsOf } from '../../conversation/world/world-options.js'
import { instrumentFlow } from '../../flow-coverage/instrumented-flow.js'
import { type ModelScript, ScriptedModel } from '../../scripted-model/scripted-model.js'
import { ToolDoubles } from '../../tool-doubles/tool-doubles.js'
import type { StoredTurn } from '../api/types.js'
import type { EffectGuard } from './effect-guard.js'
import type { TurnRecorder } from './turn-recorder.js'

/** What an engine is made of. */
export interface LineEngineParts {
  readonly flow: FlowConstructor
  readonly setup: ConversationOptions
  readonly recorder: TurnRecorder
  readonly guard: EffectGuard
  /** The turns so far. */
  readonly turns: readonly StoredTurn[]
  now(): number
}

/** Makes the engine, and its store, which is empty. */
export function lineEngine({ flow, setup, recorder, guard, turns, now }: LineEngineParts): {
  readonly engine: FlowEngine
  readonly store: MemorySessionStore
} {
  const { config: _config, owner: _owner, judge: _judge, ...world } = setup
  const { script, tools = {}, onEngine } = world
  const { providers = [], limits, ...options } = engineOptionsOf(world)
  const doubles = new ToolDoubles(restOfDoubles(tools, turns))
  const clock = { ...systemClock, now }
  const store = recorder.store(new MemorySessionStore({ clock }))
  const watched = (provider: ModelProviderAdapter): ModelProviderAdapter =>
    watchProvider(provider, new ReadingGate(), (call, event) => event === 'asked' && recorder.addModelCall(call))
  const model = script === undefined ? undefined : new ScriptedModel(restOf(script, turns), { clock })
  const answerFor = (provider: string): void => {
    const resolve = (): RuntimeModel => {
      if (model !== undefined) return model
      throw new Error(
        `The set-up has neither a script nor the provider '${provider}'. Export one from the module of the flows: export default { flow, script: () => 'Hello!' }, or { flow, providers: [...] }.`,
      )
    }
    // One of the set-up stays.
    engine.registerProvider(watched({ provider, resolve }))
  }
  const engine = new FlowEngine({
    ...options,
    // A developer may think for longer about a question.
    limits: { ...limits, turnTimeoutMs: Number.POSITIVE_INFINITY, toolTimeoutMs: Number.POSITIVE_INFINITY },
    flows: [
      instrumentFlow(flow, {
        onTurn: (turn) => guard.watch(turn),
        replaceTools: (offered, owner) => guard.tools(doubles.replace(offered), owner),
        onModel: ({ provider }) => answerFor(provider),
      }),
    ],
    providers: providers.map(watched),
    clock,
    // The time moves only if the developer says so.
    schedule: () => undefined,
    sessionStore: store,
  })
  // No step names the models of summaries.
  for (const { provider } of modelsOfPolicies(flow)) answerFor(provider)
  recorder.watch(engine)
  onEngine?.(engine)
  return { engine, store }
}

/** The results of doubles that the turns so far have not used. */
function restOfDoubles(tools: NonNullable<ConversationOptions['tools']>, turns: readonly StoredTurn[]): typeof tools {
  const used = turns.flatMap(({ calls }) => calls.filter(({ isRecorded }) => !isRecorded))
  return restOfEach(
    tools,
    used.map(({ name }) => name),
  )
}

/** The replies of a script that the turns so far have not used. */
function restOf(script: ModelScript, turns: readonly StoredTurn[]): ModelScript {
  if (typeof script === 'function') return script
  const used = turns.flatMap(({ models }) => models.map(({ step }) => step))
  if (Array.isArray(script)) return script.slice(used.length)
  return restOfEach(script as Readonly<Record<string, unknown>>, used) as ModelScript
}

/** The same values by name; a list goes on after as many entries as its name was used. */
function restOfEach<Value>(values: Readonly<Record<string, Value>>, used: readonly string[]): Record<string, Value> {
  const rest = Object.entries(values).map(([name, value]) => {
    return [name, Array.isArray(value) ? value.slice(used.filter((one) => one === name).length) : value]
  })
  return Object.fromEntries(rest)
}
