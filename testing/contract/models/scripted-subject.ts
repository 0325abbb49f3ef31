// A scripted provider as a subject of the suite: right by itself, and easily broken by the tests of the suite.
import type {
  MessagePart,
  ModelProviderAdapter,
  ModelRequest,
  ModelResponse,
  ModelStreamPart,
  RuntimeModel,
} from '../../../src/index.js'
import { type ScriptedAnswer, scriptedProvider } from '../../index.js'
import type { ModelSuiteAnswer, ModelSuiteFailure, ModelSuiteSubject } from '../../suites/index.js'

const noReasoning = 'A script has no reasoning.'

/** What a scripted provider cannot do. */
export const scriptedLeaveOut: Readonly<Record<string, string>> = {
  'answers: reasoning is kept apart from the text': noReasoning,
  'streams: reasoning is kept apart from the text': noReasoning,
}

function scriptOfFailure({ failure }: ModelSuiteFailure): ScriptedAnswer {
  switch (failure) {
    case 'malformed-arguments':
      return { toolCalls: [{ name: 'look_up', invalidInput: 'They are not valid JSON: {"order":' }] }
    case 'cut':
    case 'stall':
    case 'broken-off':
      return { text: 'It is on its way.' }
    case 'never':
      return { text: 'Never.', delayMs: Infinity }
    default:
      return { error: new Error(failure) }
  }
}

/** The script for an answer of the suite. */
function scriptOf(answer: ModelSuiteAnswer): ScriptedAnswer {
  if ('failure' in answer) return scriptOfFailure(answer)
  const { text, toolCalls, stop, usage } = answer
  if (stop === 'refusal') return { refusal: text ?? '' }
  return {
    ...(text === undefined ? {} : { text }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
    ...(stop === undefined ? {} : { finishReason: stop }),
    ...(usage === undefined ? {} : { usage }),
  }
}

/** How the models of a subject answer. */
interface Voice {
  readonly generate: RuntimeModel['generate']
  readonly stream: NonNullable<RuntimeModel['stream']>
}

/** A provider that gives `answers`; `change` makes its models answer otherwise. */
function subjectOf(answers: readonly ModelSuiteAnswer[], change: (right: Voice) => Voice): ModelSuiteSubject {
  const provider = scriptedProvider(answers.map(scriptOf))
  const asked: unknown[] = []
  const underWay = new Set<object>()
  const spoken: ModelProviderAdapter = {
    provider: provider.provider,
    resolve(selection) {
      const model = provider.resolve(selection)
      const generate = (request: ModelRequest): Promise<ModelResponse> => {
        const { signal: _signal, ...recorded } = request
        asked.push({ ...recorded, messages: [...request.messages] })
        return model.generate(request)
      }
      const stream = (request: ModelRequest): AsyncIterableIterator<ModelStreamPart, undefined, void> => {
        const answer = answers[asked.length]
        const failure = answer !== undefined && 'failure' in answer ? answer.failure : undefined
        return byTheWord(() => generate(request), request.signal, failure, underWay)
      }
      return { provider: model.provider, name: model.name, ...change({ generate, stream }) }
    },
  }
  return { provider: spoken, model: 'small', asked: () => asked, underWay: () => underWay.size }
}

/** Streams an answer word by word, and fails after the second word if it has to. */
function byTheWord(
  answer: () => Promise<ModelResponse>,
  signal: AbortSignal,
  failure: string | undefined,
  underWay: Set<object>,
): AsyncIterableIterator<ModelStreamPart, undefined, void> {
  const left = new AbortController()
  const ended = AbortSignal.any([signal, left.signal])
  const pieces = read()
  return {
    next: () => pieces.next(),
    return() {
      left.abort(new Error('Left.'))
      return pieces.return(undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }

  async function* read(): AsyncGenerator<ModelStreamPart, undefined, void> {
    underWay.add(left)
    try {
      const response = await answer()
      for (const [index, text] of response.parts.flatMap(wordsOf).entries()) {
        yield { type: 'text-delta', text }
        if (index === 1) await goWrong()
      }
      yield { type: 'finish', response }
      return undefined
    } catch (error) {
      if (left.signal.aborted) return undefined
      throw error
    } finally {
      underWay.delete(left)
    }
  }

  async function goWrong(): Promise<void> {
    if (failure === 'cut') throw Object.assign(new Error('The answer was cut.'), { isRetryable: true })
    if (failure === 'broken-off') throw Object.assign(new Error('Overloaded.'), { statusCode: 529 })
    if (failure !== 'stall') return
    await new Promise<never>((_resolve, reject) => {
      const end = (): void => reject(ended.reason)
      if (ended.aborted) end()
      else ended.addEventListener('abort', end, { once: true })
    })
  }
}

function wordsOf(part: MessagePart): readonly string[] {
  return part.type === 'text' ? (part.text.match(/\S+\s*|\s+/g) ?? []) : []
}

/** A provider that gives `answers`. */
export function scriptedSubject(answers: readonly ModelSuiteAnswer[]): ModelSuiteSubject {
  return subjectOf(answers, (right) => right)
}

/** Replaces `generate` of a broken model. */
export type BrokenGenerate = (
  request: ModelRequest,
  right: (request: ModelRequest) => Promise<unknown>,
) => Promise<unknown>

/** Replaces `stream` of a broken model. */
export type BrokenStream = (request: ModelRequest, right: Voice['stream']) => AsyncIterable<unknown>

/** The subject with its `generate`, or its `stream`, changed. */
export function brokenSubject(
  answers: readonly ModelSuiteAnswer[],
  { generate, stream }: { readonly generate?: BrokenGenerate; readonly stream?: BrokenStream },
): ModelSuiteSubject {
  return subjectOf(answers, (right) => ({
    generate:
      generate === undefined
        ? right.generate
        : (request) => generate(request, right.generate) as Promise<ModelResponse>,
    stream:
      stream === undefined
        ? right.stream
        : (request) => stream(request, right.stream) as AsyncIterable<ModelStreamPart>,
  }))
}
