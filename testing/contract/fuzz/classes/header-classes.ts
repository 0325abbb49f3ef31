/** Headers that routes read, and sessions that requests name. */
import type { SeededRandom } from '../../seeded-random.js'
import {
  canary,
  type PlanClasses,
  type RequestPlan,
  runPlan,
  sessionMark,
  userHeader,
  visibleText,
  withHeader,
} from '../plan.js'

const sessionNames = ['CHAT_SESSION_ID', 'Chat-Session-Id', 'chat_session_id', 'CHAT-SESSION-ID'] as const
const accepts = [
  '*/*',
  'application/json',
  'text/event-stream',
  'text/event-stream;q=0',
  'text/event-stream;q=0.5, application/json',
  'application/json;q=0.1, text/event-stream;q=0.2',
  'TEXT/EVENT-STREAM',
  'text/event-stream;q=9',
  'text/event-stream;q=',
  'text/event-stream; charset="a,b;c"',
  'text/html, */*;q=0.8',
  '"text/event-stream',
  ',,,;;;q==',
  `text/${canary}`,
  '',
]
const contentTypes = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=utf-16',
  'APPLICATION/JSON',
  'application/vnd.api+json',
  'application/+json',
  'text/json',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=a',
  'application/jsonp',
  'xapplication/json',
  'application/json, text/plain',
  '',
  '/',
  ';',
  `a/b; c="${canary}`,
]
const origins = [
  'https://shop.example',
  'https://evil.example',
  'null',
  '',
  'https://shop.example.evil.example',
  canary,
]
const users = ['', 'ada', 'bob', 'nobody', 'ada\xff', 'x'.repeat(300)]

/** A route that takes a session, and the flow that a run of it asks for. */
function sessionPlan(random: SeededRandom, sessionHeaders: RequestPlan['headers'], opener?: string): RequestPlan {
  const route = random.pick(['run', 'run', 'end', 'cancel'] as const)
  const user = random.pick(['', 'ada', 'bob'])
  const flowName = random.pick(['Talk', 'Talk', 'Chat', 'Report'])
  const headers: RequestPlan['headers'] = [...(user === '' ? [] : [[userHeader, user] as const]), ...sessionHeaders]
  const plan: RequestPlan = runPlan(
    { flowName },
    { headers, route, target: `/ai/${route}`, ...(opener === undefined ? {} : { opener }) },
  )
  if (route === 'run') return plan
  const { body: _, ...bodiless } = plan
  return random.chance(0.5) ? bodiless : { ...bodiless, body: random.pick(['', '{}', '{"a":1}', '[]', 'null', '{']) }
}

/** Some of them are valid. */
function oddSessionId(random: SeededRandom): string {
  return random.pick([
    '',
    'a',
    visibleText(random, random.pick([1, 32, 255, 256, 257, 5000])),
    visibleText(random, 32).replaceAll(',', '.'),
    'a,b',
    'a b',
    '\t',
    '"',
    'é'.repeat(10),
    `${canary}\x85`,
    '__proto__',
    '../../etc/passwd',
    '%0d%0aX-Canary:%201',
    "' OR 1=1 --",
    '*',
    '{tag}',
  ])
}

function idempotencyKey(random: SeededRandom): string {
  // A small pool: the same key comes again, with the same message or another.
  const pooled = `fuzz-key-${String(random.below(40)).padStart(12, '0')}`
  return random.pick([
    pooled,
    pooled,
    pooled,
    '',
    'short',
    visibleText(random, random.pick([15, 16, 255, 256, 4000])),
    'with, a comma and more',
    'é'.repeat(20),
    `${pooled}, ${pooled}`,
    `"${pooled}"`,
    '__proto__________',
  ])
}

function keyed(random: SeededRandom): RequestPlan {
  const fields = { flowName: random.pick(['Talk', 'Chat']), message: random.pick(['one', 'two']) }
  const plan = withHeader(runPlan(fields), 'Idempotency-Key', idempotencyKey(random))
  return random.chance(0.3) ? withHeader(plan, 'Accept', 'text/event-stream') : plan
}

function lastEventId(random: SeededRandom): RequestPlan {
  return withHeader(
    withHeader(keyed(random), 'Accept', 'text/event-stream'),
    'Last-Event-ID',
    random.pick([
      '',
      '0',
      '1',
      '-1',
      '999999',
      'a:1',
      `${sessionMark}:1`,
      ':',
      '1:2:3',
      visibleText(random, 600),
      `${canary}\xff`,
      '\u00e9:1',
    ]),
  )
}

/** The classes of headers. */
export const headerClasses: PlanClasses = {
  'own and foreign sessions': (random) =>
    sessionPlan(random, [[random.pick(sessionNames), sessionMark]], random.pick(['', 'ada', 'bob'])),
  'odd sessions': (random) => sessionPlan(random, [[random.pick(sessionNames), oddSessionId(random)]]),
  'both session headers': (random) => {
    const values = [sessionMark, sessionMark, '', oddSessionId(random), visibleText(random, 32)]
    const headers: RequestPlan['headers'] = [
      ['CHAT_SESSION_ID', random.pick(values)],
      ['Chat-Session-Id', random.pick(values)],
    ]
    return sessionPlan(random, headers, 'ada')
  },
  'duplicate headers': (random) => {
    const [name, values] = random.pick([
      ['CHAT_SESSION_ID', [sessionMark, 'a', '']],
      ['Idempotency-Key', ['fuzz-key-of-two-headers', 'fuzz-key-of-two-headers-2']],
      ['Accept', accepts],
      ['Content-Type', contentTypes],
      ['Origin', origins],
      ['Last-Event-ID', ['1', '2']],
      ['Chat-Request-Id', ['one', 'two']],
      [userHeader, users],
    ] as const)
    const plan = runPlan({}, { opener: 'ada' })
    return withHeader(withHeader(plan, name, random.pick<string>(values)), name, random.pick<string>(values))
  },
  'idempotency keys': keyed,
  'last event IDs': lastEventId,
  accepts: (random) =>
    withHeader(runPlan({ flowName: random.pick(['Talk', 'Chat', 'Report']) }), 'Accept', random.pick(accepts)),
  'content types': (random) => {
    const plan = withHeader(runPlan(), 'Content-Type', random.pick(contentTypes))
    return random.chance(0.5) ? withHeader(plan, 'Origin', random.pick(origins)) : plan
  },
  origins: (random) => withHeader(runPlan(), 'Origin', random.pick(origins)),
  callers: (random) => withHeader(runPlan(), userHeader, random.pick(users)),
  'request IDs': (random) =>
    withHeader(
      runPlan(),
      'Chat-Request-Id',
      random.pick(['', 'a', 'a b', 'é', visibleText(random, 128), 'x'.repeat(129), `${canary}<>`]),
    ),
  'unknown headers': (random) =>
    withHeader(runPlan(), `X-${visibleText(random, 8).replace(/[^A-Za-z0-9]/g, 'a')}`, canary),
}
