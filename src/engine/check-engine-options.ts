/** The names of the engine's options: any other is refused, for a misspelt option would be ignored in silence. */
import { checkOptionNames, type OptionNames } from '../util/options.js'
import type { FlowEngineOptions } from './engine-options.js'

const optionNames: OptionNames<FlowEngineOptions> = {
  configManager: true,
  flows: true,
  models: true,
  providers: true,
  sessionStore: true,
  limits: true,
  modelRetry: true,
  circuitBreaker: true,
  budgets: true,
  services: true,
  unknownSession: true,
  clock: true,
  random: true,
  generateId: true,
  logger: true,
  onListenerError: true,
}

/** @throws `InvalidInputError` that names the first unknown option, and lists the known ones. */
export function checkEngineOptions(options: FlowEngineOptions): void {
  checkOptionNames('FlowEngine', options, optionNames)
}
