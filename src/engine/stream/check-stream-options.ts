/** The check of the options of `engine.stream`. */
import { checkOptionNames, invalidInput, type OptionNames } from '../../util/options.js'
import type { StreamOptions } from '../core/flow-stream.js'

const names: OptionNames<StreamOptions> = { lastEventId: true, onDisconnect: true }

/** @throws `InvalidInputError` that names the first option that is wrong. */
export function checkStreamOptions(options: StreamOptions): StreamOptions {
  checkOptionNames('stream', options, names)
  const { lastEventId, onDisconnect } = options
  if (lastEventId !== undefined && typeof lastEventId !== 'string') {
    throw invalidInput('stream: lastEventId must be a string.')
  }
  if (onDisconnect !== undefined && onDisconnect !== 'cancel' && onDisconnect !== 'finish') {
    throw invalidInput("stream: onDisconnect must be 'cancel' or 'finish'.")
  }
  return {
    ...(lastEventId === undefined ? {} : { lastEventId }),
    ...(onDisconnect === undefined ? {} : { onDisconnect }),
  }
}
