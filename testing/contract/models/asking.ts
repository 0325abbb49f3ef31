// One request to the model of a subject, without an engine.
import type { ModelFailure, ModelRequest, ModelResponse, ModelStreamPart, RuntimeModel } from '../../../src/index.js'
import type { ModelSuiteSubject } from '../../suites/index.js'

/** A request that says `Hi`. */
export function request(fields: Partial<ModelRequest> = {}): ModelRequest {
  return {
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }], turn: 1 }],
    tools: [],
    params: {},
    origin: { flowName: 'Desk', stepId: 'Ask', sessionId: '', turnNumber: 1, callNumber: 1, attempt: 1 },
    signal: new AbortController().signal,
    ...fields,
  }
}

/** The subject's model. */
export function modelOf({ provider, model }: ModelSuiteSubject, params: ModelRequest['params'] = {}): RuntimeModel {
  const selection = { provider: provider.provider, name: model, params }
  provider.validate?.(selection)
  return provider.resolve(selection)
}

/** What a model sends, and what it fails with if it does. */
export interface Told {
  readonly pieces: readonly ModelStreamPart[]
  readonly response?: ModelResponse
  readonly failure?: (Error & ModelFailure) | undefined
}

/** Reads a stream to its end. */
export async function streamFrom(subject: ModelSuiteSubject, fields?: Partial<ModelRequest>): Promise<Told> {
  const pieces: ModelStreamPart[] = []
  try {
    for await (const piece of modelOf(subject, fields?.params).stream?.(request(fields)) ?? []) pieces.push(piece)
  } catch (error) {
    return { pieces, failure: error as Error & ModelFailure }
  }
  const last = pieces.at(-1)
  return last?.type === 'finish' ? { pieces, response: last.response } : { pieces }
}

/** Gets the whole answer. */
export async function generateFrom(subject: ModelSuiteSubject, fields?: Partial<ModelRequest>): Promise<Told> {
  try {
    return { pieces: [], response: await modelOf(subject, fields?.params).generate(request(fields)) }
  } catch (error) {
    return { pieces: [], failure: error as Error & ModelFailure }
  }
}

/** A request's body, a line for each field, and for each entry of a list. */
export function linesOf(body: object): string {
  return Object.entries(body)
    .flatMap(([key, value]) => {
      if (!Array.isArray(value)) return [`${key}: ${JSON.stringify(value)}`]
      return [`${key}:`, ...value.map((item) => `- ${JSON.stringify(item)}`)]
    })
    .join('\n')
}
