/**
 * Checks the engine's options at creation: a misspelt or wrong one would otherwise show only in the middle of a turn.
 */
import { checkMethods, checkOptionNames, invalidInput, type OptionNames } from '../util/options.js'
import type { FlowEngineOptions } from './core/engine-options.js'

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
  onTurnError: true,
  errorText: true,
  mask: true,
  outdated: true,
  busy: true,
  schedule: true,
  clock: true,
  random: true,
  generateId: true,
  logger: true,
  onListenerError: true,
}

const methods = {
  clock: ['now', 'setTimer'],
  configManager: ['get'],
  logger: ['debug', 'info', 'warn', 'error'],
} as const

const choices = {
  unknownSession: ['new', 'reject'],
  onTurnError: ['abort', 'rollback'],
  outdated: ['refuse', 'restart'],
  busy: ['queue', 'reject', 'interrupt'],
} as const

/**
 * @throws `InvalidInputError` that names the first unknown option and lists the known ones, or names the first wrong
 * one
 */
export function checkEngineOptions(options: FlowEngineOptions): void {
  checkOptionNames('FlowEngine', options, optionNames)
  for (const [name, required] of Object.entries(methods)) {
    checkMethods('FlowEngine', name, options[name as keyof typeof methods], required)
  }
  checkChoices(options)
  const { errorText } = options
  if (errorText !== undefined && errorText !== 'full' && errorText !== 'flow' && typeof errorText !== 'function') {
    throw invalidInput("FlowEngine: errorText must be 'full', 'flow' or a function.")
  }
  for (const name of ['generateId', 'mask', 'schedule', 'onListenerError'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') {
      throw invalidInput(`FlowEngine: ${name} must be a function.`)
    }
  }
}

function checkChoices(options: FlowEngineOptions): void {
  for (const [name, allowed] of Object.entries(choices)) {
    const value: unknown = options[name as keyof typeof choices]
    if (value === undefined || allowed.some((one) => one === value)) continue
    throw invalidInput(`FlowEngine: ${name} must be '${allowed.join("' or '")}'.`)
  }
}
