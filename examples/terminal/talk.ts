/**
 * A streamed conversation in a terminal: the answer appears while it is generated, and text that does not count is
 * discarded. It takes lines to read and a place to write to, so that a test can replace the terminal. What to look at:
 *
 * - It continues in the session of the last event, even after a failure, unless the session has ended. A first turn
 *   that was stopped has not stored its session.
 * - All text is shown as plain text, because some characters are commands to a terminal.
 */
import type { ExecuteResult, FlowEngine, FlowStream } from 'turnkeeper'

/** A terminal, or its replacement in a test. */
export interface Terminal {
  /** What the user says, line by line. */
  readonly lines: AsyncIterable<string>
  write(text: string): void
  /** Called with a function that stops the answer under way, and without one when it has ended. */
  whileAnswering?(stop: (() => void) | undefined): void
}

/** Runs until the conversation is completed, or there are no more lines. */
export async function talk(engine: FlowEngine, flowName: string, terminal: Terminal): Promise<void> {
  let sessionId = ''
  terminal.write('> ')
  for await (const userMessage of terminal.lines) {
    const stopping = new AbortController()
    terminal.whileAnswering?.(() => stopping.abort())
    const result = await show(engine.stream({ flowName, userMessage, sessionId, signal: stopping.signal }), terminal)
    terminal.whileAnswering?.(undefined)
    terminal.write('\n')
    if (result?.sessionState === 'completed') return
    if (result !== undefined) sessionId = nextSession(result, sessionId)
    terminal.write('> ')
  }
}

/** The session of the next turn: the same one, also after a failure, unless it has ended. */
function nextSession({ response, sessionState }: ExecuteResult, sessionId: string): string {
  if (sessionState === 'aborted' || sessionState === 'none') return ''
  return response.session === '' ? sessionId : response.session
}

/** Shows an answer while it is generated. Resolves to its last event. */
async function show(answer: FlowStream, terminal: Terminal): Promise<ExecuteResult | undefined> {
  let hasText = false
  let result: ExecuteResult | undefined
  for await (const event of answer) {
    switch (event.type) {
      case 'text-delta':
        hasText = true
        terminal.write(plain(event.text))
        break
      case 'tool-start':
        terminal.write(`[${event.tool}]\n`)
        break
      case 'reset':
        hasText = false
        terminal.write(' (taken back)\n')
        break
      case 'result':
        // A reply without a model comes whole.
        if (!hasText) terminal.write(plain(event.response.message))
        result = event
        break
      case 'error':
        terminal.write(`\n${plain(event.response.message)}`)
        result = event
    }
  }
  return result
}

/** A text without control characters, except those that make lines and columns. */
function plain(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '')
}
