// A scripted provider as a subject of the suite: right by itself, and easily broken by the tests of the suite.
import type { ModelProviderAdapter, ModelRequest } from '../../../src/index.js'
import { type ModelSuiteAnswer, type ModelSuiteSubject, type ScriptedAnswer, scriptedProvider } from '../../index.js'

const notScripted = 'A script has no wire, and says a tool call as JSON.'

/** What a scripted provider cannot be asked. */
export const scriptedLeaveOut: Readonly<Record<string, string>> = {
  'answers: reasoning is kept apart from the text': 'A script has no reasoning.',
  'failures: a tool call with arguments that are no JSON': notScripted,
}

/** The script for an answer of the suite. */
function scriptOf(answer: ModelSuiteAnswer): ScriptedAnswer {
  if ('failure' in answer) {
    return answer.failure === 'never' ? { text: 'Never.', delayMs: Infinity } : { error: new Error(answer.failure) }
  }
  const { text, toolCalls, stop, usage } = answer
  if (stop === 'refusal') return { refusal: text ?? '' }
  return {
    ...(text === undefined ? {} : { text }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
    ...(stop === undefined ? {} : { finishReason: stop }),
    ...(usage === undefined ? {} : { usage }),
  }
}

/** A provider that gives `answers`. */
export function scriptedSubject(answers: readonly ModelSuiteAnswer[]): ModelSuiteSubject {
  const provider = scriptedProvider(answers.map(scriptOf))
  return { provider, model: 'small', asked: () => provider.requests }
}

/** The subject with its `generate` changed. */
export function brokenSubject(
  answers: readonly ModelSuiteAnswer[],
  generate: (request: ModelRequest, right: (request: ModelRequest) => Promise<unknown>) => Promise<unknown>,
): ModelSuiteSubject {
  const { provider, ...subject } = scriptedSubject(answers)
  const broken: ModelProviderAdapter = {
    provider: provider.provider,
    resolve(selection) {
      const model = provider.resolve(selection)
      const right = (request: ModelRequest): Promise<unknown> => model.generate(request)
      return {
        provider: model.provider,
        name: model.name,
        generate: (request) => generate(request, right) as ReturnType<typeof model.generate>,
      }
    },
  }
  return { provider: broken, ...subject }
}
