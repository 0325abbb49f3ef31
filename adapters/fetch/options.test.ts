import { describe, expect, test } from 'vitest'
import { InvalidInputError } from '../../src/index.js'
import { createFakeEngine } from '../../testing/contract/http/fake-engine.js'
import { flowRoutes } from '../hono/index.js'
import { createFetchHandler, type FetchHandlerOptions } from './index.js'

function create(options: unknown): () => unknown {
  return () => createFetchHandler(createFakeEngine(), options as FetchHandlerOptions)
}

describe('wrong options fail at creation', () => {
  test.each<[unknown, string]>([
    [null, 'the options must be an object.'],
    [
      { maxBodySize: 1 },
      "there is no option 'maxBodySize'. The options are basePath, maxBodyBytes, bodyTimeoutMs, maxJsonValues, attachments, cors, authorize, authorizeFlow, requirePrincipal, statuses, rawHeaders, stream, streamDetails, heartbeatMs, onDisconnect, waitUntil, health, session, tickets, openApi, onError.",
    ],
    [{ maxBodyBytes: 0 }, 'maxBodyBytes must be a whole number above 0, or Infinity for no bound; got 0.'],
    [{ maxBodyBytes: 1.5 }, 'maxBodyBytes must be a whole number above 0, or Infinity for no bound; got 1.5.'],
    [
      { maxBodyBytes: '1mb' },
      "maxBodyBytes must be a whole number above 0, or Infinity for no bound; got the text '1mb'.",
    ],
    [{ maxBodyBytes: Number.NaN }, 'maxBodyBytes must be a whole number above 0, or Infinity for no bound; got NaN.'],
    [{ statuses: 'exact' }, "statuses must be 'contract' or 'precise'."],
    ...[0, -1, 0.5, 2_147_483_648, Number.NaN].map((heartbeatMs): [unknown, string] => [
      { heartbeatMs },
      `heartbeatMs must be a number from 1 to 2147483647, or Infinity for no bound; got ${heartbeatMs}.`,
    ]),
    [
      { heartbeatMs: '15s' },
      "heartbeatMs must be a number from 1 to 2147483647, or Infinity for no bound; got the text '15s'.",
    ],
    [{ maxJsonValues: 0.5 }, 'maxJsonValues must be a whole number above 0, or Infinity for no bound; got 0.5.'],
    [{ attachments: true }, "attachments must be false, 'bytes' or { addresses, mediaTypes }."],
    [
      { attachments: { hosts: [] } },
      "there is no option 'attachments.hosts'. The options of attachments are addresses, mediaTypes.",
    ],
    [{ attachments: { addresses: ['a.example'] } }, 'attachments.addresses must be a function of a URL.'],
    ...[['*/*'], ['image'], 'image/png', [7]].map((mediaTypes): [unknown, string] => [
      { attachments: { mediaTypes } },
      "attachments.mediaTypes must be a list of types such as 'image/heic' or 'video/*'.",
    ]),
    [{ authorize: true }, "authorize must be a function, or 'none'."],
    [{ authorize: 'none', requirePrincipal: true }, 'requirePrincipal needs authorize, which names the principal.'],
    [{ requirePrincipal: 'yes', authorize: () => undefined }, 'requirePrincipal must be true or false.'],
    [{ requirePrincipal: true }, 'requirePrincipal needs authorize, which names the principal.'],
    [{ onError: 'log' }, 'onError must be a function.'],
    [{ basePath: 'ai' }, "basePath must be '/' or a path such as '/ai', with no slash at its end."],
    [{ basePath: '/ai/' }, "basePath must be '/' or a path such as '/ai', with no slash at its end."],
    [{ basePath: '' }, "basePath must be '/' or a path such as '/ai', with no slash at its end."],
    [{ basePath: '/a?b' }, "basePath must be '/' or a path such as '/ai', with no slash at its end."],
    [{ basePath: 5 }, "basePath must be '/' or a path such as '/ai', with no slash at its end."],
    [{ cors: true }, 'cors must be an object.'],
    [{ cors: {} }, "cors.origin must be an origin, a list of origins, '*' or a function."],
    [{ cors: { origin: 5 } }, "cors.origin must be an origin, a list of origins, '*' or a function."],
    [
      { cors: { origin: '*', headers: [] } },
      "there is no option 'cors.headers'. The options of cors are origin, credentials.",
    ],
    [{ cors: { origin: 'https://a.example', credentials: 'yes' } }, 'cors.credentials must be true or false.'],
    [
      { cors: { origin: '*', credentials: true } },
      "cors.origin '*' cannot be combined with credentials. List the origins.",
    ],
    [
      { cors: { origin: 'a.example' } },
      "cors.origin 'a.example' is not an origin as browsers send it, such as 'https://shop.example' or 'http://localhost:5173'.",
    ],
    [
      { cors: { origin: 'null' } },
      "cors.origin 'null' is not an origin as browsers send it, such as 'https://shop.example' or 'http://localhost:5173'.",
    ],
    [
      { cors: { origin: ['https://a.example', '*'] } },
      "cors.origin '*' is not an origin as browsers send it, such as 'https://shop.example' or 'http://localhost:5173'.",
    ],
    [
      { cors: { origin: [7] } },
      "cors.origin 7 is not an origin as browsers send it, such as 'https://shop.example' or 'http://localhost:5173'.",
    ],
    [
      { cors: { origin: 'https://a.example/' } },
      "cors.origin 'https://a.example/' is not an origin as browsers send it, such as 'https://shop.example' or 'http://localhost:5173'.",
    ],
    [
      { cors: { origin: 'https://A.example' } },
      "cors.origin 'https://A.example' is not an origin as browsers send it; it would be 'https://a.example'.",
    ],
    [
      { cors: { origin: 'https://a.example:443' } },
      "cors.origin 'https://a.example:443' is not an origin as browsers send it; it would be 'https://a.example'.",
    ],
    [
      { cors: { origin: 'https://a:b:c' } },
      "cors.origin 'https://a:b:c' is not an origin as browsers send it, such as 'https://shop.example'.",
    ],
    [
      { cors: { origin: 'https://a.example, https://b.example'.split(',') } },
      "cors.origin ' https://b.example' is not an origin as browsers send it, such as 'https://shop.example' or 'http://localhost:5173'.",
    ],
    [
      { cors: { origin: [['app://a.example']] } },
      "cors.origin app://a.example is not an origin as browsers send it, such as 'https://shop.example' or 'http://localhost:5173'.",
    ],
    [
      { cors: { origin: 'http://LOCALHOST:5173' } },
      "cors.origin 'http://LOCALHOST:5173' is not an origin as browsers send it; it would be 'http://localhost:5173'.",
    ],
    [{ onDisconnect: 'stop' }, "onDisconnect must be 'cancel' or 'finish'."],
    [{ onDisconnect: null }, "onDisconnect must be 'cancel' or 'finish'."],
    [{ rawHeaders: null }, 'rawHeaders must be an object.'],
    [{ rawHeaders: 'none' }, 'rawHeaders must be an object.'],
    [{ rawHeaders: { 'Content-Type': 'text/html' } }, "rawHeaders cannot set 'Content-Type'."],
    [{ rawHeaders: { chat_session_id: 'x' } }, "rawHeaders cannot set 'chat_session_id'."],
    [{ rawHeaders: { 'chat-reply': 'x' } }, "rawHeaders cannot set 'chat-reply'."],
    [{ rawHeaders: { 'Access-Control-Allow-Origin': '*' } }, "rawHeaders cannot set 'Access-Control-Allow-Origin'."],
    [{ rawHeaders: { 'X-A': 'a\r\nX-B: b' } }, "rawHeaders 'X-A' is not a valid header."],
    [{ rawHeaders: { 'X A': 'a' } }, "rawHeaders 'X A' is not a valid header."],
    [{ rawHeaders: { 'X-A': 5 } }, "rawHeaders 'X-A' is not a valid header."],
  ])('%j', (options, problem) => {
    expect(create(options)).toThrow(new InvalidInputError({ message: `createFetchHandler: ${problem}` }))
  })

  test('an argument that is not an engine', () => {
    expect(() => createFetchHandler(undefined as never)).toThrow(
      new InvalidInputError({ message: 'createFetchHandler: the first argument must be a FlowEngine.' }),
    )
    expect(() => flowRoutes({} as never)).toThrow(
      new InvalidInputError({ message: 'flowRoutes: the first argument must be a FlowEngine.' }),
    )
  })

  test('health, over an engine without isReady', () => {
    const { isReady: _, ...engine } = createFakeEngine()
    expect(() => createFetchHandler(engine, { health: true })).toThrow(
      new InvalidInputError({ message: 'createFetchHandler: health needs an engine with the method isReady.' }),
    )
    expect(() => createFetchHandler(engine, { health: 'yes' as never })).toThrow(
      new InvalidInputError({ message: 'createFetchHandler: health must be true or false.' }),
    )
    expect(() => createFetchHandler(engine, { health: false })).not.toThrow()
  })

  test('the Hono app names its own options, and takes no basePath', () => {
    expect(() => flowRoutes(createFakeEngine(), { basePath: '/ai' } as never)).toThrow(
      new InvalidInputError({
        message:
          "flowRoutes: there is no option 'basePath'. The options are maxBodyBytes, bodyTimeoutMs, maxJsonValues, attachments, cors, authorize, authorizeFlow, requirePrincipal, statuses, rawHeaders, stream, streamDetails, heartbeatMs, onDisconnect, waitUntil, health, session, tickets, openApi, onError.",
      }),
    )
  })
})

describe('good options', () => {
  test.each<[FetchHandlerOptions]>([
    [{}],
    [{ basePath: '/' }],
    [{ basePath: '/v1/chat' }],
    [{ maxBodyBytes: Number.POSITIVE_INFINITY }],
    [{ cors: { origin: '*' } }],
    [{ cors: { origin: '*', credentials: false } }],
    [{ cors: { origin: [] } }],
    [{ cors: { origin: ['http://localhost:5173', 'http://[::1]:8080'], credentials: true } }],
    [{ cors: { origin: ['capacitor://localhost', 'chrome-extension://abcdefgh', 'app-https://localhost'] } }],
    [{ cors: { origin: () => true, credentials: true } }],
    [{ rawHeaders: { 'Content-Security-Policy': null, 'Cache-Control': 'private' } }],
    [{ heartbeatMs: 1 }],
    [{ heartbeatMs: 2_147_483_647 }],
    [{ heartbeatMs: Number.POSITIVE_INFINITY }],
    [{ requirePrincipal: false }],
    [{ requirePrincipal: true, authorize: () => undefined }],
    [{ statuses: 'precise', authorize: () => undefined, onError: () => undefined }],
  ])('%j', (options) => {
    expect(create(options)).not.toThrow()
  })
})
