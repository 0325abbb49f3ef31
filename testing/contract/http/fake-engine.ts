// A fake engine: it answers what the test says and records what the adapter asked. For tests of how the
// adapters read requests and write replies; the cases of the contract run on the real engine.
import type { ServedEngine } from '../../../adapters/fetch/index.js'
import type { FlowStream } from '../../../src/index.js'
import { FakeStream } from './fake-stream.js'

type Input = Parameters<ServedEngine['execute']>[0]
type StreamOptions = Parameters<Required<ServedEngine>['stream']>[1]
type Result = Awaited<ReturnType<ServedEngine['execute']>>
type DeleteAnswer = Awaited<ReturnType<ServedEngine['executeDelete']>>

/** What the engine was asked, in order. */
export interface FakeEngine extends Required<ServedEngine> {
  readonly inputs: Input[]
  /** What was passed along with the inputs of streams. */
  readonly streamOptions: StreamOptions[]
  readonly deletions: (readonly [sessionId: string, options: { readonly owner?: string } | undefined])[]
  readonly cancellations: FakeEngine['deletions']
  /** The IDs of the requests, which are not in what else is recorded. */
  readonly requestIds: (string | undefined)[]
  readonly refusals: Parameters<Required<ServedEngine>['reportRefused']>[0][]
}

/** Answers of the fake engine; those that are left out are plain successes. */
export interface FakeAnswers {
  readonly execute?: (input: Input) => Result | Promise<Result>
  readonly stream?: (input: Input) => FlowStream
  readonly executeDelete?: (sessionId: string) => DeleteAnswer
  readonly maxJsonDepth?: number
  readonly isReady?: boolean
}

/** A result of `execute`: by default a success with a plain text. */
export function resultOf(
  response: Partial<Result['response']> = {},
  more: Partial<Omit<Result, 'response'>> = {},
): Result {
  return {
    sessionState: 'running',
    response: {
      success: true,
      completed: false,
      message: 'Hello.',
      session: 's1',
      contentType: 'text/plain',
      ...response,
    },
    ...more,
  }
}

/** An engine that answers `answers` and records each question. */
export function createFakeEngine(answers: FakeAnswers = {}): FakeEngine {
  const inputs: Input[] = []
  const streamOptions: StreamOptions[] = []
  const deletions: FakeEngine['deletions'] = []
  const cancellations: FakeEngine['deletions'] = []
  const requestIds: FakeEngine['requestIds'] = []
  const refusals: FakeEngine['refusals'] = []
  const withoutId = <Options extends { readonly requestId?: string }>({ requestId, ...rest }: Options) => {
    requestIds.push(requestId)
    return rest
  }
  return {
    inputs,
    streamOptions,
    deletions,
    cancellations,
    requestIds,
    refusals,
    limits: { maxJsonDepth: answers.maxJsonDepth ?? 64 } as ServedEngine['limits'],
    getFlowNames: () => ['Booking', 'Support'],
    async execute(input) {
      inputs.push(withoutId(input))
      return answers.execute?.(input) ?? resultOf()
    },
    stream(input, options) {
      inputs.push(withoutId(input))
      streamOptions.push(options)
      return answers.stream?.(input) ?? new FakeStream()
    },
    async executeDelete(sessionId, options) {
      deletions.push([sessionId, withoutId(options ?? {})])
      return answers.executeDelete?.(sessionId) ?? { result: { success: true, session: sessionId } }
    },
    async cancel(sessionId, options) {
      cancellations.push([sessionId, withoutId(options ?? {})])
      return true
    },
    getFlow: () => undefined,
    isReady: async () => answers.isReady ?? true,
    getSession: async () => undefined,
    getSummary: async () => undefined,
    sendEvent: async () => answers.execute?.({ flowName: '', userMessage: '' }) ?? resultOf(),
    reportRefused: (refusal) => void refusals.push(refusal),
    textOfRefusal: ({ message }) => message,
    warnInProduction: () => undefined,
  }
}
