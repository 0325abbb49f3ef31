/** One line of JSON for each turn, by pino. Of the conversation, only the text of an error is logged. */
import type { Logger } from 'pino'
import type { FlowEngine } from 'turnkeeper'

/** Logs turns that end, fail or are refused, and causes of delay. */
export function logTurns(engine: FlowEngine, logger: Logger): void {
  engine
    .on('turn:end', ({ at, ...turn }) => logger.info(turn, 'turn ended'))
    // `error` includes its cause: for operators, never for users.
    .on('turn:error', ({ at, error, ...turn }) => logger.error({ ...turn, err: error }, 'turn failed'))
    .on('turn:refused', ({ at, ...turn }) => logger.warn(turn, 'turn refused'))
    .on('turn:start', ({ at, ...turn }) => {
      if (turn.waitedMs !== undefined) logger.debug(turn, 'turn waited')
    })
    .on('model:retry', ({ at, ...call }) => logger.warn(call, 'model is called again'))
    .on('session:conflict', ({ at, ...turn }) => logger.warn(turn, 'session changed in another process'))
    .on('store:end', ({ at, ...operation }) => {
      if (!operation.success) logger.error(operation, 'store failed')
    })
}
