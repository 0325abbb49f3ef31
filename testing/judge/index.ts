/**
 * The entry point `turnkeeper/testing/judge`: what a reply means, judged by a model, and recorded so that tests run
 * without it.
 *
 * @module turnkeeper/testing/judge
 */

export { Judge } from './judge.js'
export type { JudgeOptions } from './judge-options.js'
