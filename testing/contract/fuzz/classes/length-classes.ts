/** How long a body says it is: lengths that lie, chunks, and requests that hide in the bodies of others. */
import type { SeededRandom } from '../../seeded-random.js'
import { type RequestPlan, runPlan } from '../plan.js'
import { dueFor, encodePlan, type MakeWire, perhaps, type WireCase, wireOf } from '../wire-case.js'

const plan: RequestPlan = runPlan()
const body: string = plan.body ?? ''
/** The server of the fuzzer reports a request for this path: it is only ever sent inside the body of another. */
const hidden = 'GET /smuggled HTTP/1.1\r\nHost: chat.example\r\n\r\n'
const chunked = ['Transfer-Encoding', 'chunked'] as const

function chunksOf(random: SeededRandom, text: string): string {
  let chunks = ''
  for (let at = 0; at < text.length; ) {
    const size = 1 + random.below(random.pick([1, 8, text.length]))
    const piece = text.slice(at, at + size)
    const hex = random.pick(['', '0', '000']) + piece.length.toString(16)
    const extension = random.pick(['', '', ';a', ';a=b', ';a="b;c"'])
    chunks += `${random.chance(0.5) ? hex.toUpperCase() : hex}${extension}\r\n${piece}\r\n`
    at += size
  }
  return chunks
}

const lastChunks = ['0\r\n\r\n', '000\r\n\r\n', '0;a=b\r\n\r\n', '0\r\nX-Canary: fuzz-canary\r\n\r\n']
const badChunks = [
  '0\r\nContent-Length: 1\r\n\r\n',
  'zz\r\nabc\r\n0\r\n\r\n',
  '-1\r\nabc\r\n0\r\n\r\n',
  '+3\r\nabc\r\n0\r\n\r\n',
  '0x3\r\nabc\r\n0\r\n\r\n',
  '3\nabc\n0\n\n',
  '3\r\nabcd\r\n0\r\n\r\n',
  '3\r\nab\r\n0\r\n\r\n',
  '3 \r\nabc\r\n0\r\n\r\n',
  'ffffffffffffffff\r\nabc\r\n',
  '10000000000000000\r\nabc\r\n',
  '7fffffff\r\nabc\r\n',
  '\r\n\r\n',
  '0\r\n',
  '3\r\nabc',
  `3;${'a'.repeat(17_000)}\r\nabc\r\n0\r\n\r\n`,
  `0\r\nX-Trailer: ${'a'.repeat(17_000)}\r\n\r\n`,
  `0\r\n${'X-Trailer: a\r\n'.repeat(3000)}\r\n`,
  '0\r\nbad trailer\r\n\r\n',
]

/** Each of these has two readings. A server must refuse it, or read the one that RFC 9112 names. */
function smuggle(random: SeededRandom): WireCase {
  const inner = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n${hidden}`
  const whole = String(inner.length)
  const headers = random.pick<readonly (readonly [string, string])[]>([
    [['Content-Length', whole], chunked],
    [chunked, ['Content-Length', whole]],
    [['Content-Length', '4'], chunked],
    [chunked, chunked, ['Content-Length', whole]],
    [
      ['Transfer-Encoding', 'xchunked'],
      ['Content-Length', whole],
    ],
    [
      ['Transfer-Encoding', 'chunked, identity'],
      ['Content-Length', whole],
    ],
    [
      ['Transfer-Encoding', 'identity, chunked'],
      ['Content-Length', whole],
    ],
    [
      ['Transfer-Encoding', '\x0bchunked'],
      ['Content-Length', whole],
    ],
    [
      ['Transfer-Encoding', '"chunked"'],
      ['Content-Length', whole],
    ],
    [
      ['Transfer-Encoding', 'chunked\r\n , identity'],
      ['Content-Length', whole],
    ],
    [
      ['Transfer-Encoding ', 'chunked'],
      ['Content-Length', whole],
    ],
    [
      ['X-Header: a\nTransfer-Encoding', 'chunked'],
      ['Content-Length', whole],
    ],
    [
      ['Content-Length', whole],
      ['Content-Length', String(body.length)],
    ],
    [['Content-Length', `${whole}, ${body.length}`]],
    [['Content-Length', `+${whole}`]],
    [['Content-Length', `${whole} 1`]],
    [
      ['Content_Length', '3'],
      ['Content-Length', whole],
    ],
  ])
  return perhaps(encodePlan({ ...plan, body: inner }, headers), plan)
}

function lyingLength(random: SeededRandom): WireCase {
  const length = random.pick([
    '0',
    '1',
    '5',
    String(body.length - 1),
    String(body.length + 1),
    '100000',
    '131073',
    '999999999',
    '99999999999999999999',
    '-1',
    '+3',
    '0x10',
    '1e2',
    '3.5',
    ' ',
    '',
    'abc',
    `${body.length} `,
    `0${body.length}`,
    '\xb2',
    `${body.length}\0`,
  ])
  return perhaps(encodePlan(plan, [['Content-Length', length]]), plan)
}

/** The classes of lengths. */
export const lengthClasses: Readonly<Record<string, MakeWire>> = {
  'lying Content-Length': lyingLength,
  'duplicate Content-Length': (random) => {
    const lengths = ['0', '1', String(body.length), '999']
    const both = [random.pick(lengths), random.pick(lengths)] as const
    return perhaps(
      encodePlan(
        plan,
        both.map((length) => ['Content-Length', length] as const),
      ),
      plan,
    )
  },
  'odd chunks': (random) => {
    const text = encodePlan({ ...plan, body: chunksOf(random, body) + random.pick(lastChunks) }, [chunked])
    return wireOf(plan, { pieces: [text], due: [{ ...dueFor(plan), expects: 'success' }] })
  },
  'chunks over the limit': (random) => {
    const size = random.pick([131_072, 131_073, 200_000, 400_000])
    const text = encodePlan({ ...plan, body: `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n0\r\n\r\n` }, [chunked])
    return perhaps(text, plan)
  },
  'bad chunks': (random) => perhaps(encodePlan({ ...plan, body: random.pick(badChunks) }, [chunked]), plan),
  smuggling: smuggle,
}
