// The probe over the engine's own lock, and over locks that are wrong on purpose: each assertion must find its fault.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Flow, FlowEngine, reply, Step, type Turn, tool } from '../../src/index.js'
import type { LockHolder, Waiter } from '../../src/session/lock/lock-line.js'
import { SessionLock } from '../../src/session/lock/session-lock.js'
import { flowOf, harness } from '../contract/engine-harness.js'
import { capture, Onboarding } from '../contract/onboarding.js'
import { Conversation, ExpectationError, LockProbe, scriptedProvider, VirtualClock } from '../index.js'

afterEach(() => {
  vi.restoreAllMocks()
})

/** What a lock may do wrong. */
interface Fault {
  /** Whose lock a session's is. Default: its own. */
  readonly keyOf?: (sessionId: string) => string
  /** Who is next. Default: the first. */
  readonly next?: (line: (() => void)[]) => (() => void) | undefined
  /** Whether everybody is let in. */
  readonly isOpen?: boolean
  /** Whether it is given back. Default: yes. */
  readonly isReleased?: boolean
}

/** Puts a lock with a fault in the place of every engine's lock. */
function useLock({ keyOf = (id) => id, next = (line) => line.shift(), isOpen, isReleased = true }: Fault): void {
  const lines = new Map<string, (() => void)[]>()
  const lock = SessionLock.prototype
  vi.spyOn(lock, 'tryAcquire').mockImplementation((sessionId, holder) => {
    if (isOpen !== true && lines.has(keyOf(sessionId))) return false
    holder.sessionId = sessionId
    if (isOpen !== true) lines.set(keyOf(sessionId), [])
    return true
  })
  vi.spyOn(lock, 'holderOf').mockImplementation(() => ({ since: Number.POSITIVE_INFINITY }) as LockHolder)
  vi.spyOn(lock, 'heldLock').mockImplementation(() => ({ holder: { counted: false }, waiting: () => [] }))
  vi.spyOn(lock, 'enqueue').mockImplementation((sessionId, holder) => {
    const settled = new Promise<void>((resolve) => {
      lines.get(keyOf(sessionId))?.push(() => {
        holder.sessionId = sessionId
        resolve()
      })
    })
    return { settled, wait: {}, leave: () => undefined, nextHolder: () => new Promise(() => undefined) } as Waiter
  })
  vi.spyOn(lock, 'release').mockImplementation(({ sessionId }) => {
    if (!isReleased || sessionId === undefined) return
    const enter = next(lines.get(keyOf(sessionId)) ?? [])
    if (enter === undefined) lines.delete(keyOf(sessionId))
    else enter()
  })
}

/** IDs that count up. */
function counting(): (kind: string) => string {
  const counts: Record<string, number> = {}
  return (kind) => {
    counts[kind] = (counts[kind] ?? 0) + 1
    return `${kind}-${counts[kind]}`
  }
}

/** A flow whose turns stop at the gates, and two sessions of it. */
async function scene() {
  let probe = new LockProbe()
  const flow = flowOf('Talk', async (turn) => {
    await probe.pass(turn.session.id)
    return reply(turn.message)
  })
  const { engine, clock, start } = harness({ flows: [flow], generateId: counting() })
  const [one, other] = [await start('Talk'), await start('Talk')]
  probe = new LockProbe({ clock })
  probe.observe(engine)
  const say = (sessionId: string, userMessage = 'hello') => engine.run({ flowName: 'Talk', userMessage, sessionId })
  return { engine, clock, probe, one, other, say }
}

type Scene = Awaited<ReturnType<typeof scene>>

/** Three turns of one session, made while the first keeps the lock. */
async function threeTurns({ probe, clock, one, say }: Scene): Promise<void> {
  const gate = probe.gate(one)
  const turns = [say(one, 'a'), say(one, 'b'), say(one, 'c')]
  await gate.reached
  await clock.settle()
  gate.open()
  await Promise.all(turns)
}

/** A turn of each of two sessions; the first keeps its lock until the second has ended, or cannot continue. */
async function twoSessions({ probe, clock, one, other, say }: Scene): Promise<void> {
  const gate = probe.gate(one)
  const turns = [say(one)]
  await gate.reached
  turns.push(say(other))
  await clock.settle()
  gate.open()
  await Promise.all(turns)
}

describe("over the engine's own lock", () => {
  test('turns of one session are serial, first in first out, and leave the lock free', async () => {
    const made = await scene()
    await threeTurns(made)
    made.probe.assertSerialized()
    made.probe.assertSerialized(made.one)
    made.probe.assertFirstInFirstOut()
    made.probe.assertFirstInFirstOut(made.one)
    await made.probe.assertReleased()
  })

  test('turns of two sessions overlap', async () => {
    const made = await scene()
    await twoSessions(made)
    made.probe.assertOverlaps(made.one, made.other)
    made.probe.assertOverlaps(made.other, made.one)
  })

  test("sees deletes, and the application's own work", async () => {
    const { engine, clock, probe, one, other, say } = await scene()
    const gate = probe.gate(one)
    const work = engine.getFlowSession().withSessionLock(one, () => probe.pass(one))
    const rest = [engine.deleteSession(one), say(one)]
    await gate.reached
    expect(gate.waiting).toBe(1)
    await clock.settle()
    await engine.getFlowSession().withSessionLock(other, () => probe.pass(other))
    gate.open()
    await Promise.all([work, ...rest])
    expect(gate.waiting).toBe(0)
    probe.assertOverlaps(one, other)
    probe.assertSerialized(one)
    probe.assertFirstInFirstOut(one)
    await probe.assertReleased()
  })

  test('sees streamed turns, also one that its reader stops', async () => {
    const { engine, clock, probe, one, say } = await scene()
    const gate = probe.gate(one)
    const stream = engine.stream({ flowName: 'Talk', userMessage: 'a', sessionId: one })
    await stream.next()
    await gate.reached
    const turns = [say(one, 'b'), say(one, 'c')]
    await clock.settle()
    const left = stream.return()
    gate.open()
    await Promise.all([left, ...turns])
    probe.assertSerialized(one)
    probe.assertFirstInFirstOut(one)
    await probe.assertReleased()
  })

  test('does not count its own request, and treats a closed engine as free', async () => {
    const { engine, probe, one, other, say } = await scene()
    await Promise.all([say(one), say(one)])
    await probe.assertReleased(one)
    expect(() => probe.assertFirstInFirstOut(one)).not.toThrow(/#3/)
    await say(other)
    await engine.close()
    await probe.assertReleased(one)
    await probe.assertReleased(other)
  })
})

describe('assertSerialized', () => {
  test('shows a lock that does not lock', async () => {
    useLock({ isOpen: true })
    const made = await scene()
    await threeTurns(made)
    expect(() => made.probe.assertSerialized()).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: Two holders had the lock of session 'session-1': #2 turn of flow 'Talk' acquired it before #1 turn of flow 'Talk' released it.
      What happened at the lock of session 'session-1':
        #1 turn of flow 'Talk' requests and acquires the lock
        #2 turn of flow 'Talk' requests and acquires the lock
        #3 turn of flow 'Talk' requests and acquires the lock
        #1 turn of flow 'Talk' releases it
        #2 turn of flow 'Talk' releases it
        #3 turn of flow 'Talk' releases it]
    `)
  })

  test('fails if no request waited while another one held the lock', async () => {
    const { probe, one, other, say } = await scene()
    expect(() => probe.assertSerialized()).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The test shows nothing about the lock: no request waited for the lock while another one held it.
      There was no request for the lock.
      Keep the lock with a gate, and start two turns of one session before you open it.]
    `)
    await say(one)
    await say(one)
    await say(other)
    expect(() => probe.assertSerialized()).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The test shows nothing about the lock: no request waited for the lock while another one held it.
      What happened at the locks of session 'session-1' and session 'session-2':
        #1 turn of flow 'Talk' requests and acquires the lock (session 'session-1')
        #1 turn of flow 'Talk' releases it (session 'session-1')
        #2 turn of flow 'Talk' requests and acquires the lock (session 'session-1')
        #2 turn of flow 'Talk' releases it (session 'session-1')
        #3 turn of flow 'Talk' requests and acquires the lock (session 'session-2')
        #3 turn of flow 'Talk' releases it (session 'session-2')
      Keep the lock with a gate, and start two turns of one session before you open it.]
    `)
  })
})

describe('assertFirstInFirstOut', () => {
  test('shows a lock that serves the last request first', async () => {
    useLock({ next: (line) => line.pop() })
    const made = await scene()
    await threeTurns(made)
    made.probe.assertSerialized()
    expect(() => made.probe.assertFirstInFirstOut()).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The lock of session 'session-1' went to #3 turn of flow 'Talk' before #2 turn of flow 'Talk', which had requested it earlier.
      What happened at the lock of session 'session-1':
        #1 turn of flow 'Talk' requests and acquires the lock
        #2 turn of flow 'Talk' requests the lock
        #3 turn of flow 'Talk' requests the lock
        #1 turn of flow 'Talk' releases it
        #3 turn of flow 'Talk' acquires it
        #3 turn of flow 'Talk' releases it
        #2 turn of flow 'Talk' acquires it
        #2 turn of flow 'Talk' releases it]
    `)
  })

  test('fails if two requests never waited at the same time', async () => {
    const { probe, one, say } = await scene()
    await Promise.all([say(one), say(one)])
    expect(() => probe.assertFirstInFirstOut(one)).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The test shows nothing about the lock: two requests never waited at the same time.
      What happened at the lock of session 'session-1':
        #1 turn of flow 'Talk' requests and acquires the lock
        #2 turn of flow 'Talk' requests the lock
        #1 turn of flow 'Talk' releases it
        #2 turn of flow 'Talk' acquires it
        #2 turn of flow 'Talk' releases it
      Keep the lock with a gate, start three turns or more, of which one has the lock and the others wait, then open the gate.]
    `)
  })
})

describe('assertOverlaps', () => {
  test('shows one lock for all sessions', async () => {
    useLock({ keyOf: () => 'all' })
    const made = await scene()
    await twoSessions(made)
    expect(() => made.probe.assertOverlaps(made.one, made.other)).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The locks of sessions 'session-1' and 'session-2' were never held at the same time. Different sessions must not wait for each other.
      What happened at the locks of session 'session-1' and session 'session-2':
        #1 turn of flow 'Talk' requests and acquires the lock (session 'session-1')
        #2 turn of flow 'Talk' requests the lock (session 'session-2')
        #1 turn of flow 'Talk' releases it (session 'session-1')
        #2 turn of flow 'Talk' acquires it (session 'session-2')
        #2 turn of flow 'Talk' releases it (session 'session-2')
      If the test itself ran one after the other: keep the lock of one session with a gate while the other one runs.]
    `)
  })

  test('fails with one session twice, whose lock always overlaps with itself', async () => {
    const { probe, one, say } = await scene()
    await say(one)
    expect(() => probe.assertOverlaps(one, one)).toThrow(
      "assertOverlaps needs the IDs of two sessions; got 'session-1' twice, and a lock always overlaps with itself.",
    )
  })
})

describe('every assertion', () => {
  test('fails for a gate at which no code waited', async () => {
    const { probe, one, other, say } = await scene()
    const late = probe.gate(other)
    await Promise.all([say(one), say(one), say(one)])
    late.open()
    await say(other)
    const problem = "No code came to the gate of session 'session-2' while it was closed.\n"
    expect(() => probe.assertSerialized(one)).toThrow(problem)
    expect(() => probe.assertFirstInFirstOut(one)).toThrow(problem)
    expect(() => probe.assertOverlaps(one, other)).toThrow(problem)
    await expect(probe.assertReleased(one)).rejects.toThrow(problem)
  })
})

describe('assertReleased', () => {
  test('shows a lock that is not released', async () => {
    const made = await scene()
    useLock({ isReleased: false })
    await made.say(made.one)
    await expect(made.probe.assertReleased()).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The lock of session 'session-1' was not released: #1 turn of flow 'Talk' had it last, and a new request does not acquire it.
      What happened at the lock of session 'session-1':
        #1 turn of flow 'Talk' requests and acquires the lock
        #1 turn of flow 'Talk' releases it]
    `)
  })

  test('shows who holds the lock and who waits', async () => {
    const { engine, probe, one, say } = await scene()
    const gate = probe.gate(one)
    const turns = [say(one), engine.deleteSession(one)]
    await gate.reached
    await expect(probe.assertReleased(one)).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The lock of session 'session-1' is not free.
        holding  #1 turn of flow 'Talk', in step 'Only'
        waiting  #2 delete
      Await what was started before this assertion, and open the gates.]
    `)
    gate.open()
    await Promise.all(turns)
    await probe.assertReleased(one)
  })

  test('fails for a session without a request, and names sessions that had one', async () => {
    const { engine, probe, one, say } = await scene()
    await expect(probe.assertReleased()).rejects.toThrowErrorMatchingInlineSnapshot(
      `[ExpectationError: The test shows nothing about the lock: no request for the lock of any session was seen. Let a turn run in the engine that this probe observes, before this assertion.]`,
    )
    await expect(probe.assertReleased('x')).rejects.toThrow('no request for the lock of any session was seen.')
    await say(one)
    await probe.assertReleased()
    await expect(probe.assertReleased('x')).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The test shows nothing about the lock: no request for the lock of session 'x' was seen.
      Sessions with requests: 'session-1'.
      Pass the ID of one of them, or let a turn of this session run before this assertion.]
    `)
    await expect(probe.assertReleased('x'), 'its own request is none').rejects.toThrow('nothing about the lock')
    for (const id of ['a', 'b', 'c', 'd', 'e']) await engine.getFlowSession().withSessionLock(id, () => undefined)
    await expect(probe.assertReleased('x')).rejects.toThrow("'session-1', 'a', 'b', 'c', 'd', and 1 more.")
  })

  test('forgets a request that was cancelled', async () => {
    const { engine, clock, probe, one, say } = await scene()
    const gate = probe.gate(one)
    const first = say(one)
    await gate.reached
    const client = new AbortController()
    const second = engine.run({ flowName: 'Talk', userMessage: 'b', sessionId: one, signal: client.signal })
    await clock.settle()
    client.abort()
    await second
    await expect(probe.assertReleased(one)).rejects.not.toThrow('waiting')
    gate.open()
    await first
    await probe.assertReleased(one)
    expect(() => probe.assertFirstInFirstOut(one)).toThrow("#2 turn of flow 'Talk' is refused")
  })
})

describe('a probe that observes no engine', () => {
  const problem =
    'This LockProbe observes no engine: call observe(engine) before the turns, or pass it to a conversation as onEngine: (engine) => probe.observe(engine).'

  test.each<[string, (probe: LockProbe) => unknown]>([
    ['assertSerialized', (probe) => probe.assertSerialized()],
    ['assertFirstInFirstOut', (probe) => probe.assertFirstInFirstOut()],
    ['assertOverlaps', (probe) => probe.assertOverlaps('a', 'b')],
    ['assertReleased', (probe) => probe.assertReleased()],
    ['assertReleased of a session', (probe) => probe.assertReleased('a')],
  ])('fails %s with that reason', async (_name, check) => {
    await expect(async () => check(new LockProbe())).rejects.toThrow(new ExpectationError(problem))
  })

  test('names it where no code came to a gate', async () => {
    await expect(new LockProbe({ hangAfterMs: 1 }).gate().reached).rejects.toThrow(problem)
  })
})

describe('watch', () => {
  /** A flow with a tool, `ask_myself`, that runs the engine on the session of its own turn and waits for the answer. */
  async function nested() {
    let engine: FlowEngine | undefined
    class Ask extends Step {
      static override readonly id = 'Ask'
      override tools(turn: Turn) {
        const sessionId = turn.session.id
        const execute = async () => (await engine?.run({ flowName: 'Nested', userMessage: 'Me?', sessionId }))?.message
        return [tool({ name: 'ask_myself', description: 'Asks itself.', execute })]
      }
    }
    class Nested extends Flow {
      static override readonly id = 'Nested'
      override model() {
        return { provider: 'scripted', name: 'scripted' }
      }
      override steps() {
        return [Ask]
      }
    }
    const provider = scriptedProvider(({ origin, messages }) => {
      const isAsked = origin.turnNumber === 2 && messages.at(-1)?.role === 'user'
      return isAsked ? { toolCalls: [{ name: 'ask_myself' }] } : 'Hello.'
    })
    const made = harness({ flows: [Nested], providers: [provider], generateId: counting(), limits })
    engine = made.engine
    const probe = new LockProbe({ clock: made.clock })
    probe.observe(engine)
    return { ...made, probe, session: await made.start('Nested') }
  }
  const limits = { toolTimeoutMs: 60_000 }

  test('reports a turn that runs the engine on its own session, and waits for itself', async () => {
    const { engine, clock, probe, session } = await nested()
    const turn = engine.run({ flowName: 'Nested', userMessage: 'Go', sessionId: session })
    const watched = clock.runUntil(probe.watch(turn))
    await expect(watched).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The lock of session 'session-1' made no progress for 10000 ms.
        holding  #2 turn of flow 'Nested', in step 'Ask', in tool 'ask_myself', for 10000 ms
        waiting  #3 turn of flow 'Nested', for 10000 ms
      If the holder waits for a waiting request, it waits for itself: for example flow code, or work under withSessionLock,
      that runs the engine on its own session and awaits it. Do that after the turn, or on another session.]
    `)
    // The engine ends it by itself: the tool has a deadline.
    await clock.runUntil(turn)
    await clock.advance(120_000)
    await probe.assertReleased()
  })

  test("reports the application's own work that does so, and all requests behind it", async () => {
    const { engine, clock, probe, session } = await nested()
    const sessions = engine.getFlowSession()
    const work = sessions.withSessionLock(session, () => engine.deleteSession(session))
    await clock.advance(1_000)
    const other = sessions.withSessionLock(session, () => 'other')
    await expect(clock.runUntil(probe.watch(work))).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The lock of session 'session-1' made no progress for 10000 ms.
        holding  #2 application, for 11000 ms
        waiting  #3 delete, for 11000 ms
        waiting  #4 application, for 10000 ms
      If the holder waits for a waiting request, it waits for itself: for example flow code, or work under withSessionLock,
      that runs the engine on its own session and awaits it. Do that after the turn, or on another session.]
    `)
    await clock.runUntil(Promise.all([work, other]))
  })

  test('reports a lock that was not passed on', async () => {
    const { probe, clock, one, say } = await scene()
    useLock({ isReleased: false })
    await say(one)
    const turn = say(one)
    await expect(clock.runUntil(probe.watch(turn))).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The lock of session 'session-1' made no progress for 10000 ms.
        holding  none: the lock was not passed on
        waiting  #2 turn of flow 'Talk', for 10000 ms]
    `)
  })

  test('reports a gate that nobody opens', async () => {
    const { probe, clock, one, say } = await scene()
    const gate = probe.gate()
    const turns = [say(one), say(one)]
    await gate.reached
    await expect(clock.runUntil(probe.watch(Promise.all(turns)))).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The lock of session 'session-1' made no progress for 10000 ms.
        holding  #1 turn of flow 'Talk', in step 'Only', for 10000 ms
        waiting  #2 turn of flow 'Talk', for 10000 ms
      A gate of this session is closed: open it, and the lock makes progress.]
    `)
    gate.open()
    await Promise.all(turns)
  })

  test('settles as the promise does, and leaves no timer', async () => {
    const { probe, clock, one, say } = await scene()
    const both = Promise.all([say(one, 'a'), say(one, 'b')])
    expect((await probe.watch(both)).map(({ message }) => message)).toEqual(['a', 'b'])
    await expect(probe.watch(Promise.reject(new Error('broke')))).rejects.toThrow('broke')
    expect(clock.pending).toBe(0)
  })

  test('does not report a lock that makes progress', async () => {
    const { engine, probe, clock, one } = await scene()
    const work = () => new Promise<void>((resolve) => clock.setTimer(resolve, 9_000))
    const works = [1, 2, 3].map(() => engine.getFlowSession().withSessionLock(one, work))
    await clock.runUntil(probe.watch(Promise.all(works)))
    expect(clock.iso).toBe('2026-01-01T00:00:27.000Z')
  })

  test('waits for stuckAfterMs, and for ever for a lock without waiting requests', async () => {
    const { engine, clock, one } = await scene()
    const probe = new LockProbe({ clock, stuckAfterMs: 100 })
    probe.observe(engine)
    const work = () => new Promise<void>((resolve) => clock.setTimer(resolve, 20_000))
    const first = engine.getFlowSession().withSessionLock(one, work)
    const watched = probe.watch(first)
    await clock.advance(19_000)
    const second = engine.getFlowSession().withSessionLock(one, () => 'second')
    const failing = expect(watched).rejects.toThrow('made no progress for 100 ms')
    await clock.advance(100)
    await failing
    await clock.runUntil(Promise.all([first, second]))
  })
})

describe('a probe of several engines', () => {
  test('observes one at a time', async () => {
    const { engine, probe } = await scene()
    expect(() => probe.observe(engine)).toThrow(
      'A LockProbe observes one engine at a time. Make another probe for this one, or close the other engine.',
    )
    await engine.close()
    const next = new FlowEngine()
    expect(probe.observe(next)).toBe(next)
  })

  test('survives the restart of a conversation', async () => {
    const clock = new VirtualClock()
    const probe = new LockProbe({ clock })
    await using conversation = new Conversation(Onboarding, {
      clock,
      onEngine: (engine) => probe.observe(engine),
      script: async ({ origin }) => {
        await probe.pass(origin.sessionId)
        return { delayMs: 1000, text: 'What is your name?' }
      },
    })
    await conversation.say('Hello')
    await conversation.atOnce(['one', 'two'])
    await conversation.restart()
    const gate = probe.gate(conversation.sessionId)
    const both = conversation.atOnce(['three', 'four', 'five'])
    await gate.reached
    gate.open()
    await both
    probe.assertSerialized(conversation.sessionId)
    probe.assertFirstInFirstOut()
    await probe.assertReleased()
  })

  test('counts what the first one still had when it closed as over', async () => {
    const probe = new LockProbe()
    const first = probe.observe(new FlowEngine())
    const never = new Promise<void>(() => undefined)
    void first.getFlowSession().withSessionLock('a', () => never)
    first
      .getFlowSession()
      .withSessionLock('a', () => never)
      .catch(() => undefined)
    void first.close()
    const next = probe.observe(new FlowEngine())
    await Promise.all(
      ['b', 'b', 'a', 'a'].map((id) => next.getFlowSession().withSessionLock(id, () => Promise.resolve())),
    )
    probe.assertSerialized('b')
    probe.assertSerialized('a')
    await probe.assertReleased('a')
  })

  test('follows a conversation whose process dies', async () => {
    const probe = new LockProbe()
    await using conversation = new Conversation(Onboarding, {
      onEngine: (engine) => probe.observe(engine),
      script: ['What is your name?', capture('Ada'), 'Which Ada?', capture('Ada Lovelace')],
    })
    await conversation.say('Hello')
    conversation.dieAfterEffect('capture_name')
    await conversation.say('Ada')
    await conversation.atOnce(['Hm', 'Ada Lovelace'])
    conversation.expectCompleted()
    probe.assertSerialized()
    await probe.assertReleased()
  })
})
