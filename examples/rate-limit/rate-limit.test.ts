import { Flow, FlowEngine, LogicStep, reply } from 'turnkeeper'
import { afterEach, expect, test } from 'vitest'
import { type Caller, createLimitedHandler, RateLimit } from './rate-limit.js'

let turns = 0

class Answer extends LogicStep {
  static override readonly id = 'Answer'
  override run() {
    turns++
    return reply('Hello.')
  }
}

class Talk extends Flow {
  static override readonly id = 'Talk'
  override steps() {
    return [Answer]
  }
}

const engines: FlowEngine[] = []

afterEach(async () => {
  turns = 0
  for (const engine of engines.splice(0)) await engine.close()
})

function limited(each: number, strangers: number) {
  const engine = new FlowEngine({ flows: [Talk] })
  engines.push(engine)
  let time = 0
  const callerOf = (request: Request): Caller => {
    const principal = request.headers.get('Test-User')
    const address = request.headers.get('Test-Address') ?? 'somewhere'
    return principal === null ? { address } : { principal, address }
  }
  const handle = createLimitedHandler(engine, callerOf, {
    each: { requests: each, windowMs: 60_000 },
    strangers: { requests: strangers, windowMs: 60_000 },
    now: () => time,
  })
  const send = (headers: Record<string, string>): Promise<Response> =>
    handle(
      new Request('http://localhost/ai/run', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify({ flowName: 'Talk', message: 'Hi' }),
      }),
    )
  return {
    send,
    pass: (ms: number) => {
      time += ms
    },
  }
}

test('a caller who sends too many requests is refused with 429, and no turn runs', async () => {
  const { send } = limited(2, 100)
  const ada = { 'Test-User': 'ada' }
  expect((await send(ada)).status).toBe(200)
  expect((await send(ada)).status).toBe(200)
  const refused = await send(ada)
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '30'])
  expect(await refused.json()).toEqual({
    success: false,
    completed: true,
    message: 'Too many messages. Please wait a moment.',
    session: '',
    contentType: 'text/plain',
  })
  expect(turns).toBe(2)
  expect((await send({ 'Test-User': 'bob' })).status).toBe(200)
})

test('the same request passes after the time in Retry-After', async () => {
  const { send, pass } = limited(1, 100)
  const ada = { 'Test-User': 'ada' }
  await send(ada)
  pass(59_999)
  expect((await send(ada)).headers.get('Retry-After')).toBe('1')
  pass(1)
  expect((await send(ada)).status).toBe(200)
})

test('3 000 anonymous requests, each from another address, run only as many turns as all anonymous callers may have', async () => {
  const { send } = limited(10, 50)
  const statuses: number[] = []
  for (let address = 0; address < 3_000; address++) {
    statuses.push((await send({ 'Test-Address': String(address) })).status)
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(50)
  expect(turns).toBe(50)
  expect((await send({ 'Test-User': 'ada' })).status).toBe(200)
})

test('remembers a bounded number of callers', () => {
  let time = 0
  const limit = new RateLimit({ requests: 1, windowMs: 1_000 }, 2, () => time)
  expect(['a', 'b', 'a', 'c'].map((caller) => limit.take(caller))).toEqual([0, 0, 1, 0])
  // `b` called longest ago, and is forgotten.
  expect(['a', 'c', 'b'].map((caller) => limit.take(caller))).toEqual([1, 1, 0])
  time += 1_000
  expect(limit.take('a')).toBe(0)
})
