/** Request lines and header lines that no client would write. */
import type { SeededRandom } from '../../seeded-random.js'
import { anyBytes, canary, type RequestPlan, runPlan, userHeader, withByteEdits, withHeader } from '../plan.js'
import { encodePlan, type MakeWire, perhaps, type WireCase } from '../wire-case.js'

const requestLines = [
  '',
  ' ',
  'POST',
  'POST /ai/run',
  'POST  /ai/run HTTP/1.1',
  'POST /ai/run HTTP/1.1 ',
  'POST\t/ai/run\tHTTP/1.1',
  'post /ai/run HTTP/1.1',
  'P\0ST /ai/run HTTP/1.1',
  'POST /ai/run HTTP/0.9',
  'POST /ai/run HTTP/1.0',
  'POST /ai/run HTTP/1.2',
  'POST /ai/run HTTP/2.0',
  'POST /ai/run HTTP/11',
  'POST /ai/run http/1.1',
  'POST /ai/run ICE/1.0',
  'POST /ai run HTTP/1.1',
  'POST ai/run HTTP/1.1',
  'POST * HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'POST http://chat.example/ai/run HTTP/1.1',
  'POST http://other.example/ai/run HTTP/1.1',
  'POST http://[::1/ai/run HTTP/1.1',
  'POST file:///ai/run HTTP/1.1',
  'POST //other.example/ai/run HTTP/1.1',
  'POST /\\evil.example/ai/run HTTP/1.1',
  'POST /ai/\xff\x00 HTTP/1.1',
  `POST /ai/run\rX-Canary: ${canary} HTTP/1.1`,
  'CONNECT chat.example:80 HTTP/1.1',
  'TRACE /ai/run HTTP/1.1',
  'PRI * HTTP/2.0',
  `POST /ai/run?${'a'.repeat(17_000)} HTTP/1.1`,
  `${'X'.repeat(300)} /ai/run HTTP/1.1`,
  'HTTP/1.1 200 OK',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
]
const namesToInject = [
  'CHAT_SESSION_ID',
  'Chat-Session-Id',
  'Idempotency-Key',
  'Last-Event-ID',
  'Origin',
  'Accept',
  'Content-Type',
  'Chat-Request-Id',
  'Access-Control-Request-Headers',
  userHeader,
]
const breaks = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  '\r\n ',
  '\r\n\t',
  '\n ',
  '\x0b',
  '\x0c',
  '\x85',
  '\x7f',
  '\xe5\x98\x8a\xe5\x98\x8d',
  '%0d%0a',
  '\\r\\n',
]
const headerLines = [
  'X-Canary : fuzz-canary',
  ' X-Canary: fuzz-canary',
  ': fuzz-canary',
  'X-Canary',
  'X-Can\0ary: a',
  'X-Can ary: a',
  'X-Can\xe9ry: a',
  'Host: chat.example',
  'Host: other.example:99999',
  'Host: \xff',
  'Host: chat.example/ai/../',
  'Host: user@chat.example',
  'Host:',
  'Expect: 100-continue',
  'Expect: something',
  'Upgrade: websocket\r\nConnection: Upgrade',
  'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__',
  'Connection: close, keep-alive, CHAT_SESSION_ID',
  'Connection: close',
  'Proxy-Connection: keep-alive',
  'Content-Encoding: gzip',
  'TE: trailers',
  'Trailer: X-Canary',
  'X-HTTP-Method-Override: DELETE',
  'X-Forwarded-Host: evil.example',
  'Forwarded: for=1;host=evil.example',
  'Cookie: CHAT_SESSION_ID=fuzz-canary',
  'Range: bytes=0-1',
  'If-None-Match: *',
]

/** The plan with a line in front of its others, or after them. */
function withLine(random: SeededRandom, plan: RequestPlan, line: string): WireCase {
  const text = encodePlan(plan)
  const at = random.chance(0.5) ? text.indexOf('\r\n') : text.indexOf('\r\n\r\n')
  return perhaps(`${text.slice(0, at)}\r\n${line}${text.slice(at)}`, plan)
}

/** The classes of lines. */
export const lineClasses: Readonly<Record<string, MakeWire>> = {
  'request lines': (random) => {
    const plan = runPlan()
    const text = encodePlan(plan)
    const before = random.chance(0.1) ? random.pick(['\r\n', '\n\n', '\0', ' ']) : ''
    return perhaps(before + random.pick(requestLines) + text.slice(text.indexOf('\r\n')), plan)
  },
  'header injection': (random) => {
    const value = `a${random.pick(breaks)}X-Canary: ${canary}${random.pick(['', '\r\n', '\r\n\r\n'])}`
    const plan = withHeader(runPlan(), random.pick(namesToInject), value)
    return perhaps(encodePlan(plan), plan)
  },
  'header bytes': (random) => {
    const plan = withHeader(runPlan(), random.pick(namesToInject), anyBytes(random, random.pick([1, 8, 40])))
    return perhaps(encodePlan(plan), plan)
  },
  'header lines': (random) => withLine(random, runPlan(), random.pick(headerLines)),
  'oversized headers': (random) => {
    const size = random.pick([1000, 8000, 15_900, 16_384, 40_000])
    return withLine(random, runPlan(), `${random.pick([...namesToInject, 'X-Large'])}: ${'x'.repeat(size)}`)
  },
  'many headers': (random) => {
    const name = random.pick(['X-Many', 'CHAT_SESSION_ID', 'Cookie', '__proto__'])
    const count = random.pick([10, 100, 500, 2500])
    return withLine(
      random,
      runPlan(),
      Array.from({ length: count }, (_, n) => `${name}${random.chance(0.5) ? n : ''}: ${n}`).join('\r\n'),
    )
  },
  'line ends': (random) => {
    const plan = runPlan()
    return perhaps(encodePlan(plan).replaceAll('\r\n', random.pick(['\n', '\r', '\n\r', '\r\r\n'])), plan)
  },
  'edited requests': (random) => {
    const plan = runPlan({ flowName: random.pick(['Talk', 'Chat', 'Report']) })
    return perhaps(withByteEdits(random, encodePlan(plan)), plan)
  },
  'random bytes on a socket': (random) => perhaps(anyBytes(random, random.pick([1, 20, 400])), runPlan()),
}
