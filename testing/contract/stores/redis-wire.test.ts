/** Decides which commands a turn sends to Redis, how long a session lives there, and what closing does. */
import { createClient, createSentinel } from '@keyv/redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  Flow,
  FlowEngine,
  LogicStep,
  type ModelResponse,
  reply,
  type SessionDocument,
  Step,
  type Turn,
  type UnderReplicatedReport,
} from '../../../src/index.js'
import { shareList } from '../../../src/session/lists/shared-lists.js'
import { createRedisKeyv, KeyvSessionStore, type RedisKeyvOptions } from '../../../src/stores/keyv/index.js'
import { isRedisMissing, type RedisServer, startRedis } from '../servers/redis-server.js'
import { startTcpProxy } from '../servers/tcp-proxy.js'
import { newSession, turnOn } from './turns.js'

let server: RedisServer

async function open(options: RedisKeyvOptions = {}): Promise<KeyvSessionStore> {
  return new KeyvSessionStore({ keyv: await createRedisKeyv(server.url, options) })
}

/** Connections to the server, this question's own not counted. */
async function connections(): Promise<number> {
  const list = await server.command('CLIENT', 'LIST')
  return list.split('\n').filter((line) => line.includes('addr=')).length - 1
}

async function isLeased(sessionId: string): Promise<boolean> {
  return (await server.command('EXISTS', `turnkeeper::~lease-${sessionId}`)).startsWith(':1')
}

class Echo extends LogicStep {
  override run() {
    return reply('x'.repeat(200))
  }
}
class Talk extends Flow {
  override steps() {
    return [Echo]
  }
}

describe.skipIf(isRedisMissing)('over Redis', () => {
  beforeAll(async () => {
    server = await startRedis({ settings: { 'repl-diskless-sync-delay': '0' } })
  })
  afterAll(() => server?.close())

  test('a warm turn is two commands, and its bytes do not grow with the conversation', async () => {
    const proxy = await startTcpProxy(server.port)
    const keyv = await createRedisKeyv(`redis://127.0.0.1:${proxy.port}`, { replyTimeoutMs: 60_000 })
    const engine = new FlowEngine({ flows: [Talk], sessionStore: new KeyvSessionStore({ keyv }) })
    let sessionId = ''
    const turn = async (): Promise<{ commands: readonly string[]; bytes: number }> => {
      proxy.takeTraffic()
      const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId })
      if (error !== undefined) throw error
      sessionId = response.session
      return proxy.takeTraffic()
    }
    const turns: Awaited<ReturnType<typeof turn>>[] = []
    for (let count = 0; count < 300; count++) turns.push(await turn())
    await engine.close()
    await proxy.close()
    // The first two turns also send the handshake and the script's source.
    expect(new Set(turns.slice(2).map(({ commands }) => commands.join(' ')))).toEqual(new Set(['HGET EVALSHA']))
    const [early, late] = [turns[9]?.bytes ?? 0, turns[299]?.bytes ?? 0]
    console.log(`bytes of a warm turn: ${early} at 10 turns, ${late} at 300`)
    expect(late).toBeLessThan(early * 1.3)
  })

  test('a warm turn is five calls in the server, scripts included, and a first turn four', async () => {
    const engine = new FlowEngine({ flows: [Talk], sessionStore: await open({ namespace: 'counted' }) })
    const calls = async (sessionId?: string): Promise<{ session: string; counted: object }> => {
      await server.command('CONFIG', 'RESETSTAT')
      const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello', ...(sessionId && { sessionId }) })
      const stats = await server.command('INFO', 'commandstats')
      const found = [...stats.matchAll(/cmdstat_([a-z]+):calls=(\d+)/g)].map(([, name, count]) => [name, Number(count)])
      return { session, counted: Object.fromEntries(found.filter(([name]) => name !== 'config')) }
    }
    // The first one of all also sends the handshake and the script's source.
    await calls()
    const { session, counted } = await calls()
    expect(counted).toEqual({ evalsha: 1, hget: 1, exists: 1, hset: 1 })
    await calls(session)
    expect((await calls(session)).counted).toEqual({ hget: 2, evalsha: 1, hset: 1, persist: 1 })
    await engine.close()
  })

  test('what a stranger asks for is as many commands as for an unknown ID, whatever the session holds and who has read it', async () => {
    const proxy = await startTcpProxy(server.port)
    const open = async (): Promise<FlowEngine> => {
      const keyv = await createRedisKeyv(`redis://127.0.0.1:${proxy.port}`, { replyTimeoutMs: 60_000 })
      const sessionStore = new KeyvSessionStore({ keyv })
      return new FlowEngine({ flows: [Talk], sessionStore, unknownSession: 'reject' })
    }
    const [warm, cold] = [await open(), await open()]
    const say = { flowName: 'Talk', userMessage: 'x'.repeat(10_000), owner: 'ada' }
    const { session } = await warm.run(say)
    for (let turn = 0; turn < 10; turn++) await warm.run({ ...say, sessionId: session })
    const options = { owner: 'bob' }
    const run = { flowName: 'Talk', userMessage: 'hello', ...options }
    // The connection sends commands of its own first.
    await cold.getSession('unknown')
    await cold.deleteSession('unknown')
    const traffic: unknown[] = []
    for (const engine of [warm, cold]) {
      for (const sessionId of [session, 'unknown']) {
        proxy.takeTraffic()
        await engine.getSession(sessionId, options)
        await engine.deleteSession(sessionId, options)
        await engine.run({ ...run, sessionId })
        await engine.run({ ...run, sessionId, idempotencyKey: 'a-key-of-bob-0001' })
        const { commands, bytes } = proxy.takeTraffic()
        traffic.push([...commands, bytes < 5_000 ? 'small' : bytes])
      }
    }
    // A delete also tries to leave its mark.
    const deleting = ['HMGET', 'HMGET', 'EVALSHA']
    expect(traffic).toEqual(traffic.map(() => ['HMGET', ...deleting, 'HMGET', 'HMGET', 'small']))
    expect((await cold.getSession(session, { owner: 'ada' }))?.turns).toBe(11)
    await Promise.all([warm.close(), cold.close()])
    await proxy.close()
  })

  test('with leases a turn is four commands, and giving back is the last', async () => {
    const proxy = await startTcpProxy(server.port)
    const url = `redis://127.0.0.1:${proxy.port}`
    const keyv = await createRedisKeyv(url, { replyTimeoutMs: 60_000, lease: { ttlMs: 60_000 } })
    const engine = new FlowEngine({ flows: [Talk], sessionStore: new KeyvSessionStore({ keyv }) })
    const commands: string[] = []
    let sessionId = ''
    for (let count = 0; count < 6; count++) {
      proxy.takeTraffic()
      const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId })
      if (error !== undefined) throw error
      sessionId = response.session
      // Nobody waits until it is given back.
      for (let look = 0; look < 1_000 && (await isLeased(sessionId)); look++);
      commands.push(proxy.takeTraffic().commands.join(' '))
    }
    await engine.close()
    await proxy.close()
    expect(new Set(commands.slice(2))).toEqual(new Set(['SET HGET EVALSHA EVALSHA']))
  })

  test('with leases the turns of two processes in one session wait for each other, and none is a conflict', async () => {
    const engines: FlowEngine[] = []
    for (let count = 0; count < 2; count++) {
      engines.push(new FlowEngine({ flows: [Talk], sessionStore: await open({ lease: { ttlMs: 10_000 } }) }))
    }
    const { session: sessionId } = await (engines[0] as FlowEngine).run({ flowName: 'Talk', userMessage: 'hello' })
    const turns = Array.from({ length: 20 }, (_, index) =>
      (engines[index % 2] as FlowEngine).execute({ flowName: 'Talk', userMessage: `${index}`, sessionId }),
    )
    const codes = (await Promise.all(turns)).map(({ error }) => error?.code)
    for (const engine of engines) await engine.close()
    expect(codes.filter((code) => code !== undefined)).toEqual([])
    expect(await isLeased(sessionId)).toBe(false)
    const store = await open()
    expect((await store.load(sessionId))?.history).toHaveLength(21)
    await store.close()
  })

  test('a claim is one command, and its key goes by itself', async () => {
    const proxy = await startTcpProxy(server.port)
    const keyv = await createRedisKeyv(`redis://127.0.0.1:${proxy.port}`, { replyTimeoutMs: 60_000 })
    const store = new KeyvSessionStore({ keyv })
    await store.load('nothing')
    proxy.takeTraffic()
    expect(await store.claim?.('digest', 'first', 60_000)).toBe('first')
    expect(await store.claim?.('digest', 'second', 60_000)).toBe('first')
    expect(proxy.takeTraffic().commands).toEqual(['SET', 'SET'])
    const left = Number((await server.command('PTTL', 'turnkeeper::~claim-digest')).slice(1))
    expect(left).toBeGreaterThan(30_000)
    expect(left).toBeLessThanOrEqual(60_000)
    await store.close()
    await proxy.close()
  })

  test('a turn that clears a memory is two commands, too', async () => {
    class Ask extends Step {
      static override readonly id = 'Ask'
      override prompt(turn: Turn) {
        if (turn.number % 3 === 0) turn.memory().clear()
        return ''
      }
    }
    class Chat extends Flow {
      override model() {
        return { provider: 'own', name: 'small' }
      }
      override steps() {
        return [Ask]
      }
    }
    const generate = async (): Promise<ModelResponse> => ({ parts: [{ type: 'text', text: 'Hello.' }] })
    const proxy = await startTcpProxy(server.port)
    const keyv = await createRedisKeyv(`redis://127.0.0.1:${proxy.port}`, { replyTimeoutMs: 60_000 })
    const engine = new FlowEngine({
      flows: [Chat],
      providers: [{ provider: 'own', resolve: ({ name }) => ({ provider: 'own', name, generate }) }],
      sessionStore: new KeyvSessionStore({ keyv }),
    })
    let sessionId = ''
    const commands: string[] = []
    const turns: (readonly number[])[] = []
    for (let count = 0; count < 7; count++) {
      proxy.takeTraffic()
      const { response, error } = await engine.execute({ flowName: 'Chat', userMessage: 'hello', sessionId })
      if (error !== undefined) throw error
      sessionId = response.session
      commands.push(proxy.takeTraffic().commands.join(' '))
      const { flow } = (await (await open()).load(sessionId)) as SessionDocument
      turns.push((flow.memory.Ask?.messages ?? []).map(({ turn }) => turn))
    }
    await engine.close()
    await proxy.close()
    expect(new Set(commands.slice(2))).toEqual(new Set(['HGET EVALSHA']))
    expect(turns.map((of) => [...new Set(of)])).toEqual([[1], [1, 2], [3], [3, 4], [3, 4, 5], [6], [6, 7]])
  })

  test('a turn that cuts lists is two commands, too, and leaves nothing of what it cut', async () => {
    const proxy = await startTcpProxy(server.port)
    const keyv = await createRedisKeyv(`redis://127.0.0.1:${proxy.port}`, { replyTimeoutMs: 60_000 })
    const store = new KeyvSessionStore({ keyv })
    let document = newSession('bounded')
    await store.create(document)
    const commands = new Set<string>()
    for (let count = 2; count < 60; count++) {
      proxy.takeTraffic()
      const loaded = (await store.load('bounded')) ?? document
      const turn = turnOn(loaded, `${count}-a`)
      const { history, flow } = turn.document
      // As an engine bounds them: to eight, and when they are twelve.
      const removed = history.length < 12 ? 0 : 4
      const messages = shareList((flow.memory.Ask?.messages ?? []).slice(removed * 2))
      document = {
        ...turn.document,
        history: shareList(history.slice(removed)),
        flow: { ...flow, memory: { Ask: { messages } } },
      }
      const hint = { ...turn.hint, removed: { history: removed, 'memory:Ask': removed * 2 } }
      await store.save(document, turn.expectedRevision, hint)
      if (count > 3) commands.add(proxy.takeTraffic().commands.join(' '))
    }
    await store.close()
    await proxy.close()
    expect(commands).toEqual(new Set(['HGET EVALSHA']))
    // The revision, the head, and a chunk for each turn that is left in each of two lists.
    const fields = Number((await server.command('HLEN', 'turnkeeper::bounded')).slice(1))
    expect(fields).toBe(2 + 2 * document.history.length)
  })

  test('two processes that take turns at one session send two commands for each', async () => {
    const proxy = await startTcpProxy(server.port)
    const engines: FlowEngine[] = []
    for (let count = 0; count < 2; count++) {
      const keyv = await createRedisKeyv(`redis://127.0.0.1:${proxy.port}`, { replyTimeoutMs: 60_000 })
      engines.push(new FlowEngine({ flows: [Talk], sessionStore: new KeyvSessionStore({ keyv }) }))
    }
    let sessionId = ''
    const commands: string[] = []
    for (let count = 0; count < 10; count++) {
      proxy.takeTraffic()
      for (const engine of engines) {
        const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId })
        if (error !== undefined) throw error
        sessionId = response.session
      }
      commands.push(proxy.takeTraffic().commands.join(' '))
    }
    for (const engine of engines) await engine.close()
    await proxy.close()
    // Until each process has met a turn of the other one.
    expect(new Set(commands.slice(2))).toEqual(new Set(['HMGET EVALSHA HMGET EVALSHA']))
  })

  test('each save begins the time to live anew, and a session whose time is over is missing', async () => {
    const store = await open({ ttlMs: 60_000 })
    const first = turnOn(newSession('mortal'), '1-a').document
    await store.create(first)
    await server.command('PEXPIRE', 'turnkeeper::mortal', '5000')
    const { document, expectedRevision, hint } = turnOn(first, '2-a')
    await store.save(document, expectedRevision, hint)
    const left = Number((await server.command('PTTL', 'turnkeeper::mortal')).slice(1))
    expect(left).toBeGreaterThan(5_000)
    expect(left).toBeLessThanOrEqual(60_000)
    await server.command('PEXPIRE', 'turnkeeper::mortal', '1')
    while ((await server.command('EXISTS', 'turnkeeper::mortal')) !== ':0\r\n');
    expect(await store.load('mortal')).toBeUndefined()
    await expect(store.save(document, '2-a')).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
    await store.close()
  })

  test('a save without a time to live removes the one that was there', async () => {
    const [mortal, immortal] = [await open({ ttlMs: 60_000 }), await open()]
    const first = turnOn(newSession('kept'), '1-a').document
    await mortal.create(first)
    const { document, expectedRevision, hint } = turnOn((await immortal.load('kept')) ?? first, '2-a')
    await immortal.save(document, expectedRevision, hint)
    expect(await server.command('PTTL', 'turnkeeper::kept')).toBe(':-1\r\n')
    await Promise.all([mortal.close(), immortal.close()])
  })

  test('a session is one hash under one key, with the namespace once', async () => {
    const store = await open({ namespace: 'once' })
    await store.create(turnOn(newSession('plain'), '1-a').document)
    await store.create(turnOn(newSession('no plain {id}'), '1-a').document)
    const keys = await server.command('KEYS', 'once*')
    expect(
      keys
        .split('\r\n')
        .filter((line) => line.startsWith('once'))
        .sort(),
    ).toEqual([
      'once::plain',
      expect.stringMatching(/^once::~[0-9a-f]{64}$/),
      // The sessions of their owner.
      expect.stringMatching(/^once::~owner-[0-9a-f]{64}$/),
    ])
    await store.close()
  })

  test('closing ends the connection, and nothing opens one again', async () => {
    const before = await connections()
    const store = await open()
    await store.load('nobody')
    expect(await connections()).toBe(before + 1)
    await store.close()
    while ((await connections()) > before);
    await expect(store.load('nobody')).rejects.toThrow('closed')
    expect(await connections()).toBe(before)
  })

  test('closing while it connects, or while the server is paused, ends the connection, too', async () => {
    const before = await connections()
    const store = await open()
    const loading = store.load('nobody').catch(() => undefined)
    await store.close()
    await loading
    const paused = await open()
    await paused.load('nobody')
    server.pause()
    const waiting = paused.load('nobody').catch(() => 'rejected')
    await paused.close()
    expect(await waiting).toBe('rejected')
    server.resume()
    while ((await connections()) > before);
  })

  test('a Keyv that stays with the application works on', async () => {
    const keyv = await createRedisKeyv(server.url)
    const store = new KeyvSessionStore({ keyv, closeKeyv: false })
    await store.load('nobody')
    await store.close()
    await expect(store.load('nobody')).rejects.toThrow('closed')
    await keyv.set('a value', 1)
    expect(await keyv.get('a value')).toBe(1)
    await keyv.disconnect()
  })

  test('a client of the application is used as it is, whatever it makes of replies', async () => {
    const client = createClient({ url: server.url, RESP: 3, commandOptions: { typeMapping: { 36: Buffer } } })
    const store = new KeyvSessionStore({ keyv: await createRedisKeyv(undefined, { client }) })
    const { document } = turnOn(newSession('theirs'), '1-a')
    await store.create(document)
    expect(await store.load('theirs')).toEqual(document)
    const other = new KeyvSessionStore({ keyv: await createRedisKeyv(undefined, { client }), cacheBytes: 0 })
    expect(await other.load('theirs')).toEqual(document)
    await store.close()
    expect(client.isOpen).toBe(false)
  })

  test('a Sentinel client is used, too', async () => {
    const sentinel = await startRedis({ sentinelFor: server.port })
    try {
      const client = createSentinel({
        name: 'sessions',
        sentinelRootNodes: [{ host: '127.0.0.1', port: sentinel.port }],
      })
      const store = new KeyvSessionStore({ keyv: await createRedisKeyv(undefined, { client }) })
      const first = turnOn(newSession('watched'), '1-a').document
      await store.create(first)
      const { document, expectedRevision, hint } = turnOn(first, '2-a')
      await store.save(document, expectedRevision, hint)
      await expect(store.delete('watched', '1-a')).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
      const direct = await open()
      expect(await direct.load('watched')).toEqual(document)
      expect(await store.load('watched')).toEqual(document)
      await Promise.all([store.close(), direct.close()])
      expect(client.isOpen).toBe(false)
    } finally {
      await sentinel.close()
    }
  })

  test('waiting for replicas: enough cause no report, too few are reported, and the save counts', async () => {
    const replica = await startRedis({
      settings: { replicaof: `127.0.0.1 ${server.port}`, 'repl-diskless-sync-delay': '0' },
    })
    try {
      while (!(await replica.command('INFO', 'replication')).includes('master_link_status:up'));
      const store = await open({ wait: { replicas: 1, timeoutMs: 1_000 } })
      const reports: UnderReplicatedReport[] = []
      store.onUnderReplicated((report) => reports.push(report))
      const first = turnOn(newSession('copied'), '1-a').document
      await store.create(first)
      expect(reports).toEqual([])
      replica.pause()
      const { document, expectedRevision, hint } = turnOn(first, '2-a')
      await store.save(document, expectedRevision, hint)
      expect(reports).toEqual([{ sessionId: 'copied', replicas: 0, wanted: 1 }])
      expect((await store.load('copied'))?.revision).toBe('2-a')
      await store.close()
    } finally {
      await replica.close()
    }
  })
})
