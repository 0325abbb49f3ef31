import { pino } from 'pino'
import { Flow, FlowEngine, LogicStep, reply } from 'turnkeeper'
import { expect, test } from 'vitest'
import { logTurns } from './pino.js'

class Answer extends LogicStep {
  static override readonly id = 'Answer'
  override run(turn: { readonly message: string }) {
    if (turn.message === 'fail') throw new Error('It broke.')
    return reply('A secret reply.')
  }
}

class Talk extends Flow {
  static override readonly id = 'Talk'
  override steps() {
    return [Answer]
  }
}

test('a turn is one line, and a failure two, without texts of the conversation', async () => {
  const lines: Record<string, unknown>[] = []
  const logger = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const engine = new FlowEngine({ flows: [Talk] })
  logTurns(engine, logger)
  const { session: sessionId } = await engine.run({ flowName: 'Talk', userMessage: 'A secret message.' })
  await engine.run({ flowName: 'Talk', userMessage: 'fail', sessionId })
  expect(lines).toMatchObject([
    { level: 30, msg: 'turn ended', flowName: 'Talk', sessionId, success: true },
    {
      level: 50,
      msg: 'turn failed',
      code: 'FLOW_ERROR',
      err: { type: 'FlowCodeError', message: expect.stringContaining('It broke.') },
    },
    { level: 30, msg: 'turn ended', success: false },
  ])
  expect(JSON.stringify(lines)).not.toContain('secret')
  await engine.close()
})
