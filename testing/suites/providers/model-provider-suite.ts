/**
 * What every model provider must do, as tests for any runner. The cases say what the model has to answer and what the
 * engine must get; the caller supplies a provider whose model gives these answers, over a fake service or from a
 * script.
 */

import { withDeadline } from '../cases/failure.js'
import { registerCases, type SuiteTest } from '../cases/register-cases.js'
import { answerCases } from './answer-cases.js'
import { createBench } from './bench.js'
import { contentCases } from './content-cases.js'
import { failureCases } from './failure-cases.js'
import { requestCases } from './request-cases.js'
import { streamCases } from './stream-cases.js'
import type { ModelSuiteCase } from './suite-case.js'
import type { ModelProviderSuiteOptions, ModelSuiteAnswer, ModelSuiteSubject } from './suite-options.js'

export type {
  ModelProviderSuiteOptions,
  ModelSuiteAnswer,
  ModelSuiteCall,
  ModelSuiteFailure,
  ModelSuiteReply,
  ModelSuiteSubject,
} from './suite-options.js'

const defaultDeadlineMs = 30_000

const allCases: readonly ModelSuiteCase[] = [
  ...answerCases,
  ...requestCases,
  ...contentCases,
  ...streamCases,
  ...failureCases,
]

/**
 * Registers the tests that a model provider must pass.
 *
 * @param test - Registers one test: that of vitest, Jest, Bun or `node:test`, or `Deno.test`.
 * @param createProvider - Makes a provider with a model that gives `answers`, one for each request, in order.
 * @param options - The credential to look for, and the cases to leave out.
 * @throws Error if `options.leaveOut` names no case, or gives no reason.
 *
 * @example
 * ```ts
 * import { describe, test } from 'vitest'
 *
 * describe('our gateway', () => {
 *   modelProviderSuite(test, (answers) => {
 *     const wire = fakeGateway(answers)
 *     const provider = gatewayProvider({ fetch: wire.fetch, apiKey: canary })
 *     return { provider, model: 'small', asked: () => wire.bodies }
 *   }, { secret: canary })
 * })
 * ```
 */
export function modelProviderSuite(
  test: SuiteTest,
  createProvider: (answers: readonly ModelSuiteAnswer[]) => ModelSuiteSubject | Promise<ModelSuiteSubject>,
  options: ModelProviderSuiteOptions = {},
): void {
  registerCases(test, 'modelProviderSuite', allCases, options, ({ name, rule, run }) => runCase(name, rule, run))

  async function runCase(name: string, rule: string, run: ModelSuiteCase['run']): Promise<void> {
    const { deadlineMs = defaultDeadlineMs } = options
    const bench = createBench(createProvider, options)
    try {
      await withDeadline(run(bench), deadlineMs, { settled: 0, hanging: 'the case' })
    } catch (error) {
      const { message } = error instanceof Error ? error : new Error(String(error))
      throw new Error(`${name}: ${message}\nThe rule: ${rule}`, { cause: error })
    } finally {
      await bench.clear()
    }
  }
}
