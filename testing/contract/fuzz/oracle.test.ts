// What the oracle of the fuzzer finds wrong, and what it must not.
import { describe, expect, test } from 'vitest'
import { judgeEvents } from './event-oracle.js'
import { judgeReply, type SeenReply } from './oracle.js'
import { ReplyReader } from './reply-reader.js'
import type { AppName } from './served-app.js'
import type { DueReply } from './wire-case.js'

const safe: SeenReply['headers'] = [
  ['Cache-Control', 'no-store'],
  ['X-Content-Type-Options', 'nosniff'],
  ['Chat-Request-Id', 'r:1'],
]
const json: SeenReply['headers'] = [['Content-Type', 'application/json'], ['Chat-Error', 'INVALID_INPUT'], ...safe]
const envelope = { success: true, completed: false, message: 'Hi.', session: 's', contentType: 'text/plain' }
const failure = { ...envelope, success: false, completed: true, session: '' }
const run: DueReply = { method: 'POST', route: 'run', expects: undefined }

function replyOf(status: number, body: unknown, headers: SeenReply['headers'] = json): SeenReply {
  return { status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

function judge(
  reply: SeenReply,
  due: Partial<DueReply> = {},
  app: AppName = 'plain',
  byServer = false,
): readonly string[] {
  return judgeReply(reply, { ...run, ...due }, { app, byServer })
}

test.each<[string, readonly string[]]>([
  ['an envelope', judge(replyOf(200, envelope))],
  ['a failure', judge(replyOf(400, failure), { expects: 'refusal' })],
  ['a list of flows', judge(replyOf(200, ['Talk', 'Context', 'Report', 'Wait', 'Chat']), { route: 'flows' })],
  ['an end', judge(replyOf(200, { success: true, session: '' }), { route: 'end' })],
  ['a cancel', judge(replyOf(200, { success: true, session: '', cancelled: false }), { route: 'cancel' })],
  ['a preflight', judge(replyOf(204, '', safe), { method: 'OPTIONS' }, 'strict')],
  ['a refusal of the server', judge(replyOf(431, '', []), {}, 'strict', true)],
  ['a busy engine', judge(replyOf(503, failure, [...json, ['Retry-After', '1']]), {}, 'strict')],
])('%s is fine', (_name, problems) => {
  expect(problems).toEqual([])
})

test.each<[string, readonly string[], string]>([
  ['a status 500', judge(replyOf(500, failure)), 'undocumented status 500'],
  ['a precise status where the contract has 400', judge(replyOf(422, failure)), 'undocumented status 422'],
  ['503 without Retry-After', judge(replyOf(503, failure), {}, 'strict'), 'without Retry-After'],
  ['a sixth field', judge(replyOf(200, { ...envelope, debug: 1 })), 'wrong envelope'],
  ['a missing field', judge(replyOf(200, { ...envelope, session: undefined })), 'wrong envelope'],
  ['a field of another type', judge(replyOf(200, { ...envelope, completed: 'no' })), 'wrong envelope'],
  ['the form of another route', judge(replyOf(200, { success: true, session: '' })), 'wrong envelope'],
  ['a success with a failure', judge(replyOf(400, envelope)), 'success is true with status 400'],
  [
    'a failure without a code',
    judge(replyOf(400, failure, [['Content-Type', 'application/json']])),
    'without Chat-Error',
  ],
  ['a failure that goes on', judge(replyOf(400, { ...failure, completed: false })), 'not completed plain text'],
  ['a valid request refused', judge(replyOf(400, failure), { expects: 'success' }), 'a valid request'],
  ['a bad request let in', judge(replyOf(200, envelope), { expects: 'refusal' }), 'not valid was answered with 200'],
  ['an unknown header', judge(replyOf(200, envelope, [...json, ['X-Canary', 'a']])), 'injected header: x-canary'],
  ['a canary in a header', judge(replyOf(200, envelope, [...json, ['Allow', 'fuzz-canary']])), 'what a client sent'],
  ['a session ID of another form', judge(replyOf(200, envelope, [...json, ['CHAT_SESSION_ID', 'a b']])), 'malformed'],
  ['a header twice', judge(replyOf(200, envelope, [...json, ['chat-error', 'A']])), 'comes twice'],
  ['a body that is not JSON', judge(replyOf(200, '<p>')), 'not JSON'],
  ['another type', judge(replyOf(200, 'a', [['Content-Type', 'text/html']])), 'a reply of the type text/html'],
  [
    'an empty 400 of the application',
    judge(replyOf(400, '', [['X-Fuzz-App', '1']]), {}, 'strict', true),
    'type undefined',
  ],
  ['an empty 400 without a server', judge(replyOf(400, '', [])), 'type undefined'],
  ['a body after HEAD', judge(replyOf(200, '[]'), { method: 'HEAD' }), 'a body that must be empty'],
  ['a reply that may be stored', judge(replyOf(204, '', safe.slice(1)), {}, 'strict'), 'without Cache-Control'],
  ['a reply whose type may be guessed', judge(replyOf(204, '', safe.slice(0, 1)), {}, 'strict'), 'nosniff'],
  ['a reply without its request', judge(replyOf(204, '', safe.slice(0, 2)), {}, 'strict'), 'without Chat-Request-Id'],
  [
    'a raw reply to a list',
    judge(replyOf(200, 'a', [['Chat-Reply', 'raw'], ...safe]), { route: 'flows' }),
    'a raw reply to flows',
  ],
])('%s is found', (_name, problems, found) => {
  expect(problems.join('\n')).toContain(found)
})

describe('a stream', () => {
  const session = 'event: session\nid: t:1\ndata: {"session":"s"}\n\n'
  const result = `event: result\nid: t:2\ndata: ${JSON.stringify({ ...envelope, sessionState: 'running' })}\n\n`

  test('with one result at its end is fine, with comments between', () => {
    expect(judgeEvents(`${session}: keep-alive\n\n${result}`)).toEqual([])
  })

  test.each([
    ['cut', session + result.slice(0, -1)],
    ['without a result', session],
    ['with two', session + result + result],
    ['with an injected line', session.replace('data', 'retry: 1\ndata') + result],
    ['with another field', session + result.replace('"sessionState"', '"debug"')],
    ['without a field', session + result.replace('"contentType":"text/plain",', '')],
    ['with data that is not JSON', session.replace('{', '') + result],
  ])('%s is found', (_name, body) => {
    expect(judgeEvents(body)).not.toEqual([])
  })
})

describe('replies on a connection', () => {
  test('are taken one after the other, as they come', () => {
    const reader = new ReplyReader()
    const sent =
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'
    const bodies: (string | undefined)[] = []
    for (const byte of sent) {
      reader.push(byte)
      const reply = reader.take('POST', false)
      if (reply !== undefined) bodies.push(reply.body)
    }
    expect([bodies, reader.rest]).toEqual([['ab', 'abc'], ''])
  })

  test.each([
    'HTTP/1.0 200 OK\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX Y: 1\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX: 1\rY: 2\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  ])('that a client could misread are errors: %j', (sent) => {
    const reader = new ReplyReader()
    reader.push(sent)
    expect(() => reader.take('POST', false)).toThrow(/a (?:malformed|reply with both)/)
  })
})
