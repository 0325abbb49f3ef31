/** Cases of failures: each is an error and not an answer, is tried once, and reveals no secret. */
import { Flow, FlowEngine, FlowError, type ModelSelection, Step, type StepConstructor } from '../../../src/index.js'
import { ensure, fail } from '../cases/failure.js'
import { requestOf } from './bench.js'
import type { ModelSuiteBench, ModelSuiteCase } from './suite-case.js'
import type { ModelSuiteAnswer, ModelSuiteFailure, ModelSuiteSubject } from './suite-options.js'

const failures: readonly (readonly [ModelSuiteFailure['failure'], string])[] = [
  ['rate-limit', 'too many requests (429)'],
  ['server-error', 'a broken server (500)'],
  ['overloaded', 'an overloaded server (529)'],
  ['malformed', 'an answer that is not valid JSON'],
]

class Ask extends Step {
  static override readonly id: string = 'Ask'
}

/** One turn of a conversation with the subject's model, and everything about it that is visible from outside. */
async function turnWith(subject: ModelSuiteSubject): Promise<{ error: unknown; seen: string }> {
  class Desk extends Flow {
    static override readonly id: string = 'Desk'
    override model(): ModelSelection {
      return { provider: subject.provider.provider, name: subject.model }
    }
    override steps(): readonly StepConstructor[] {
      return [Ask]
    }
  }
  const seen: unknown[] = []
  const engine = new FlowEngine({ flows: [Desk], providers: [subject.provider], modelRetry: { maxAttempts: 1 } })
  const names = ['turn:error', 'turn:end', 'model:start', 'model:end', 'session:aborted', 'session:saved'] as const
  for (const name of names) engine.on(name, (payload) => seen.push(payload))
  const result = await engine.execute({ flowName: 'Desk', sessionId: '', userMessage: 'Where is my order?' })
  seen.push(result.response)
  const { error } = result
  seen.push(...toldBy(error))
  const { session } = result.response as { readonly session?: string }
  if (session !== undefined) seen.push(await engine.getSession(session))
  await engine.close()
  return { error, seen: JSON.stringify(seen) }
}

/** Everything that a log writes about a failure, including its causes, which clients never see. */
function toldBy(error: unknown): unknown[] {
  const told: unknown[] = []
  let cause = error
  for (let depth = 0; cause instanceof Error && depth < 10; depth++) {
    told.push(cause.message, cause.stack, cause)
    cause = cause.cause
  }
  return [...told, cause]
}

/** Everything visible of a stream of the subject's model; nothing if it has no stream. */
async function seenOfStream(subject: ModelSuiteSubject, bench: ModelSuiteBench): Promise<string> {
  const seen: unknown[] = []
  try {
    for await (const piece of bench.modelOf(subject).stream?.(requestOf()) ?? []) seen.push(piece)
  } catch (error) {
    seen.push(...toldBy(error))
  }
  return JSON.stringify(seen)
}

async function expectCode(bench: ModelSuiteBench, answer: ModelSuiteAnswer, code: string): Promise<void> {
  const { error } = await turnWith(await bench.open([answer]))
  const got = FlowError.isInstance(error) ? error.code : String(error)
  if (got !== code) fail(`the turn to fail with the code ${code}`, got)
}

/** The cases, in the order in which they are registered. */
export const failureCases: readonly ModelSuiteCase[] = [
  ...failures.map(
    ([failure, what]): ModelSuiteCase => ({
      name: `failures: ${what}`,
      rule: 'A failure is a rejection after one request: the caller decides whether to try again.',
      async run(bench) {
        const subject = await bench.open([{ failure }, { text: 'The second time.' }])
        const model = bench.modelOf(subject)
        const outcome = await model.generate(requestOf()).then(
          (response) => JSON.stringify(response),
          () => undefined,
        )
        if (outcome !== undefined) fail('generate to reject', outcome)
        const { length } = subject.asked()
        ensure(length === 1, 'one request to leave the provider', `${length}`)
      },
    }),
  ),
  {
    name: 'failures: the model answers again afterwards',
    rule: 'A failed call leaves nothing behind.',
    async run(bench) {
      const subject = await bench.open([{ failure: 'server-error' }, { text: 'Here I am.' }])
      const model = bench.modelOf(subject)
      await model.generate(requestOf()).catch(() => undefined)
      const { parts } = await model.generate(requestOf())
      ensure(JSON.stringify(parts).includes('Here I am.'), "the second call to answer 'Here I am.'", parts)
    },
  },
  {
    name: 'engine: a failed call is a MODEL_ERROR',
    rule: 'A failure of a model is a MODEL_ERROR of the turn.',
    run: (bench) => expectCode(bench, { failure: 'server-error' }, 'MODEL_ERROR'),
  },
  {
    name: 'engine: a refusal is a MODEL_BLOCKED',
    rule: 'A refusal is a separate outcome and never reaches the user as text.',
    run: (bench) => expectCode(bench, { text: 'I cannot help with that.', stop: 'refusal' }, 'MODEL_BLOCKED'),
  },
  {
    name: 'secrets: the credential is seen nowhere',
    rule: 'A credential is in no error, event, document or piece of a stream.',
    needs: ['secret'],
    async run(bench) {
      const answers: readonly ModelSuiteAnswer[] = [
        { text: 'Hello.' },
        { stop: 'refusal', text: 'No.' },
        { failure: 'rate-limit' },
        { failure: 'server-error' },
        { failure: 'malformed' },
      ]
      const expectNone = (seen: string, answer: ModelSuiteAnswer): void => {
        ensure(!seen.includes(bench.secret), `no credential after ${JSON.stringify(answer)}`, 'a visible one')
      }
      for (const answer of answers) {
        expectNone((await turnWith(await bench.open([answer]))).seen, answer)
      }
      for (const answer of [...answers, { failure: 'cut' }, { failure: 'broken-off' }] as const) {
        expectNone(await seenOfStream(await bench.open([answer]), bench), answer)
      }
    },
  },
]
