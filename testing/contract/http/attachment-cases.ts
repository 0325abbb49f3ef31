// Attachments of POST /run: the flow gets them as the engine checked them; a wrong one is refused before anything runs.
import { expect } from 'vitest'
import { Flow, LogicStep, reply, type Turn } from '../../../src/index.js'
import { createEngine, failure, runTurn, type Serve, type TestFunction } from './serve.js'

class Look extends LogicStep {
  static override readonly id = 'Look'
  override run(turn: Turn) {
    return reply(JSON.stringify(turn.attachments))
  }
}
class Gallery extends Flow {
  static override readonly id = 'Gallery'
  override steps() {
    return [Look]
  }
}

const photo = { type: 'image', mediaType: 'image/png', data: 'AAEC' }

export function attachmentCases(test: TestFunction, serve: Serve): void {
  test('attachments reach the flow', async () => {
    const send = await serve(createEngine({ flows: [Gallery] }))
    const invoice = { type: 'file', mediaType: 'application/pdf', url: 'https://shop.example/1.pdf', name: '1.pdf' }
    const { envelope } = await runTurn(send, { flowName: 'Gallery', attachments: [photo, invoice] })
    expect(JSON.parse(envelope.message)).toEqual([photo, invoice])
    expect(JSON.parse((await runTurn(send, { flowName: 'Gallery' })).envelope.message)).toEqual([])
  })

  test('a wrong one is refused with its place', async () => {
    const send = await serve(createEngine({ flows: [Gallery] }))
    for (const [attachments, sentence] of [
      [{}, "The field 'attachments' must be a list."],
      [null, "The field 'attachments' must be a list."],
      [[photo, { ...photo, data: '?' }], 'attachments[1].data must be bytes in base64'],
      [[{ ...photo, url: 'https://shop.example/a.png' }], 'attachments[0] must have either data or url.'],
      [[7], 'attachments[0] must be a plain object.'],
    ] as const) {
      const { reply, envelope } = await runTurn(send, { flowName: 'Gallery', attachments })
      expect(envelope).toEqual({ ...failure(''), message: expect.stringContaining(sentence) })
      expect([reply.status, reply.headers.get('Chat-Error')]).toEqual([400, 'INVALID_INPUT'])
    }
  })
}
