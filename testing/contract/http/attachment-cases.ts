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
    const invoice = { type: 'file', mediaType: 'application/pdf', data: 'JVBERg==', name: '1.pdf' }
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
      [[{ type: 'image', mediaType: 'image/png' }], 'attachments[0] must have either data or url.'],
      [[{ ...photo, data: undefined, url: 'https://shop.example/a.png' }], 'must be sent as bytes in base64, not as'],
      [[{ ...photo, mediaType: 'image/svg+xml' }], 'Files of this type cannot be sent here.'],
      [[7], 'attachments[0] must be a plain object.'],
    ] as const) {
      const { reply, envelope } = await runTurn(send, { flowName: 'Gallery', attachments })
      expect(envelope).toEqual({ ...failure(''), message: expect.stringContaining(sentence) })
      expect([reply.status, reply.headers.get('Chat-Error')]).toEqual([400, 'INVALID_INPUT'])
    }
  })

  test('an address is taken only if the application allows it, and it never names a host inside the network', async () => {
    const asked: string[] = []
    const addresses = ({ hostname }: URL): boolean => {
      asked.push(hostname)
      return hostname === 'files.example'
    }
    const engine = createEngine({ flows: [Gallery] })
    let turns = 0
    engine.on('turn:start', () => turns++)
    const send = await serve(engine, { attachments: { addresses } })
    const ask = async (url: string) => {
      const attachments = [{ type: 'file', mediaType: 'application/pdf', url, name: '../../etc/passwd' }]
      return (await runTurn(send, { flowName: 'Gallery', attachments })).envelope
    }
    const allowed = await ask('https://FILES.example\\@169.254.169.254/')
    expect(JSON.parse(allowed.message)).toEqual([
      {
        type: 'file',
        mediaType: 'application/pdf',
        url: 'https://files.example/@169.254.169.254/',
        name: 'passwd',
      },
    ])
    const inside = ['https://169.254.169.254/', 'https://[::1]/', 'https://2130706433/', 'https://localhost/']
    for (const url of [
      ...inside,
      'https://metadata.google.internal/',
      'http://files.example/',
      'https://evil.example/',
    ]) {
      expect(await ask(url)).toEqual(failure('This address cannot be sent as an attachment.'))
    }
    expect([asked, turns]).toEqual([['files.example', 'evil.example'], 1])
  })

  test('with attachments: false none is taken', async () => {
    const send = await serve(createEngine({ flows: [Gallery] }), { attachments: false })
    const { envelope } = await runTurn(send, { flowName: 'Gallery', attachments: [photo] })
    expect(envelope).toEqual(failure('Attachments cannot be sent here.'))
    expect((await runTurn(send, { flowName: 'Gallery', attachments: [] })).envelope.message).toBe('[]')
  })
}
