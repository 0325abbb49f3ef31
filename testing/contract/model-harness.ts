/**
 * Models that do what a test says, call by call: answer, fail with anything at all, or never answer. And the smallest
 * flow that calls one. It records the calls and their times; it asserts nothing.
 */
import {
  Flow,
  type FlowEngineOptions,
  type ModelChoice,
  type ModelProviderAdapter,
  type ModelRequest,
  type ModelResponse,
  Step,
  type StepConstructor,
  type TokenUsage,
  type Tool,
  tool,
} from '../../src/index.js'
import { type Harness, harness } from './engine-harness.js'
import { type RecordedEvent, recordEvents } from './event-recorder.js'

/** What a model does when it is called: a text to answer with, or its own `generate`. */
export type Act = string | ((request: ModelRequest) => unknown)

/** Answers with a text. */
export function says(text: string, usage?: TokenUsage): Exclude<Act, string> {
  return () => ({ parts: [{ type: 'text', text }], ...(usage === undefined ? {} : { usage }) })
}

/** Calls a tool without arguments. */
export function calls(toolName: string, input: object = {}): Exclude<Act, string> {
  return () => ({ parts: [{ type: 'tool-call', toolCallId: `call-${toolName}`, toolName, input }] })
}

/** Fails with whatever it is given. */
export function fails(thrown: unknown): Act {
  return () => Promise.reject(thrown)
}

/** Fails with a status, as a service that is busy or down would. */
export function status(statusCode: number, responseHeaders: Readonly<Record<string, string>> = {}): Act {
  return fails(Object.assign(new Error(`status ${statusCode}`), { statusCode, responseHeaders }))
}

/** Never answers. */
export const silent: Act = () => new Promise(() => undefined)

/** One call as it was made. */
export interface AskedModel {
  /** `provider/name` */
  readonly model: string
  readonly call: number
  readonly attempt: number
  /** Milliseconds since the engine was made. */
  readonly atMs: number
  readonly request: ModelRequest
}

/** A harness with models, and their calls. */
export interface ModelHarness extends Harness {
  readonly asked: AskedModel[]
  readonly events: RecordedEvent[]
  /** The calls in short: `own/small 1.1 at 0`: model, call and attempt, and the time. */
  calls(): string[]
}

/** What each model does, by `provider/name`, in order. */
export type Acts = Readonly<Record<string, readonly Act[]>>

/** An engine over those models; delays have no random part unless `random` says so. */
export function modelHarness(acts: Acts, options: FlowEngineOptions = {}): ModelHarness {
  const asked: AskedModel[] = []
  const used: Record<string, number> = {}
  const providerNames = new Set(Object.keys(acts).map((key) => key.split('/')[0] as string))
  const providers = Array.from(providerNames, (provider): ModelProviderAdapter => {
    const resolve: ModelProviderAdapter['resolve'] = ({ name }) => ({
      provider,
      name,
      generate(request) {
        const model = `${provider}/${name}`
        const { callNumber: call, attempt } = request.origin
        asked.push({ model, call, attempt, atMs: made.clock.now() - startedAt, request })
        used[model] = (used[model] ?? 0) + 1
        const act = acts[model]?.[used[model] - 1]
        if (act === undefined) throw new Error(`${model} was called once too often.`)
        const does = typeof act === 'string' ? says(act) : act
        return does(request) as Promise<ModelResponse>
      },
    })
    return { provider, resolve }
  })
  const made = harness({ providers, random: () => 0, ...options })
  const startedAt = made.clock.now()
  const inShort = ({ model, call, attempt, atMs }: AskedModel): string => `${model} ${call}.${attempt} at ${atMs}`
  return { ...made, asked, events: recordEvents(made.engine), calls: () => asked.map(inShort) }
}

/** A step that talks, `Talk`. */
export class Talk extends Step {
  static override readonly id: string = 'Talk'
}

/** A flow, `Chat`, of {@link Talk} over `own/small`. */
export class Chat extends Flow {
  static override readonly id: string = 'Chat'
  override model(): ModelChoice {
    return { provider: 'own', name: 'small' }
  }
  override steps(): readonly StepConstructor[] {
    return [Talk]
  }
}

/** A {@link Chat} of other models: `own/small`, `other/large`. */
export function chatOn(...names: readonly string[]): typeof Chat {
  const choice = names.map((key) => {
    const [provider, name] = key.split('/') as [string, string]
    return { provider, name }
  })
  return class extends Chat {
    override model(): ModelChoice {
      return choice
    }
  }
}

/** A {@link Chat} of other steps. */
export function chatOf(...steps: readonly StepConstructor[]): typeof Chat {
  return class extends Chat {
    override steps(): readonly StepConstructor[] {
      return steps
    }
  }
}

/** A tool that does `execute`. */
export function toolThat(name: string, execute: () => unknown): Tool {
  return tool({ name, description: `Does ${name}.`, execute })
}

/** What `Chat` receives. */
export const hello: { readonly flowName: string; readonly userMessage: string } = {
  flowName: 'Chat',
  userMessage: 'Hello',
}
