/** One conversation with an engine, without HTTP: for the tests of the flows. */
import type { FlowEngine, JsonObject, RunResponseType } from 'turnkeeper'

/** @returns A function that says one thing in one conversation, and resolves to the reply. */
export function talkTo(engine: FlowEngine, flowName: string, config?: JsonObject) {
  let sessionId = ''
  return async function say(userMessage: string): Promise<RunResponseType> {
    const isFirst = sessionId === ''
    const reply = await engine.run({
      flowName,
      userMessage,
      sessionId,
      ...(isFirst && config !== undefined ? { config } : {}),
    })
    sessionId = reply.session
    return reply
  }
}
