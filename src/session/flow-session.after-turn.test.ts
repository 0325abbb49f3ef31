import { expect, test } from 'vitest'
import { gate } from '../../testing/contract/engine-harness.js'
import { FakeSessionStore, VirtualClock } from '../../testing/index.js'
import { type AfterTurnTask, FlowSession, type LockEvent } from './flow-session.js'
import { StoreAccess } from './store-access.js'

function newSession(): FlowSession {
  return new FlowSession(
    new StoreAccess({ store: new FakeSessionStore(), clock: new VirtualClock(), storeTimeoutMs: 1_000 }),
  )
}

/** Work that leaves an after-turn task for a session, which goes on until the gate opens. */
function leaving(
  session: FlowSession,
  held: string | undefined,
  sessionId: string,
  run: AfterTurnTask['run'],
): Promise<string> {
  const turn: { afterTurnTask: AfterTurnTask | undefined } = { afterTurnTask: undefined }
  const work = (): string => {
    turn.afterTurnTask = { sessionId, run }
    return 'answered'
  }
  return session.hold(held, work, () => ({ counted: true, holder: 'turn', turnId: 't' }), turn)
}

function watch(session: FlowSession): string[] {
  const seen: string[] = []
  session.watchLocks(({ kind, sessionId, request }: LockEvent) => seen.push(`${request} ${kind} ${sessionId}`))
  return seen
}

test('an after-turn task goes on under the lock when the result is out', async () => {
  const session = newSession()
  const seen = watch(session)
  const open = gate()
  expect(await leaving(session, 'a', 'a', () => open.opened)).toBe('answered')
  const next = session.withSessionLock('a', () => 'next')
  await new VirtualClock().settle()
  expect([session.locked, seen]).toEqual([1, ['1 requested a', '1 acquired a', '2 requested a']])
  open.open()
  expect(await next).toBe('next')
  expect(seen.slice(3)).toEqual(['1 released a', '2 acquired a', '2 released a'])
})

test.each([[undefined], ['old']])(
  'an after-turn task of another session than %j takes its lock before the result is out',
  async (held) => {
    const session = newSession()
    const seen = watch(session)
    const open = gate()
    await leaving(session, held, 'new', () => open.opened)
    expect(session.locked).toBe(1)
    const before = held === undefined ? [] : ['1 requested old', '1 acquired old']
    const request = before.length / 2 + 1
    const released = held === undefined ? [] : ['1 released old']
    expect(seen).toEqual([...before, `${request} requested new`, `${request} acquired new`, ...released])
    open.open()
    await new VirtualClock().settle()
    expect([session.locked, seen.at(-1)]).toEqual([0, `${request} released new`])
  },
)

test('an after-turn task whose lock somebody has is not run', async () => {
  const session = newSession()
  const open = gate()
  const holding = session.withSessionLock('new', () => open.opened)
  let ran = false
  await leaving(session, undefined, 'new', async () => {
    ran = true
  })
  expect([ran, session.locked]).toEqual([false, 1])
  open.open()
  await holding
  expect(session.locked).toBe(0)
})

test('an after-turn task that rejects gives its lock back all the same', async () => {
  const session = newSession()
  await leaving(session, 'a', 'a', () => Promise.reject(new Error('must not')))
  expect(await session.withSessionLock('a', () => 'next')).toBe('next')
})

test.each([['a'], [undefined]])('closing waits for an after-turn task of work that held %j', async (held) => {
  const session = newSession()
  const open = gate()
  await leaving(session, held, 'a', () => open.opened)
  let isClosed = false
  const closing = session.close().then(() => {
    isClosed = true
  })
  await new VirtualClock().settle()
  expect(isClosed).toBe(false)
  open.open()
  await closing
})
