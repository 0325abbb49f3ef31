import { beforeEach, describe, expect, test } from 'vitest'
import { gate } from '../../../../../testing/contract/engine-harness.js'
import { swapOf } from '../../../../../testing/contract/stores/driver-cases.js'
import type { SwapOutcome } from '../../driver/session-driver.js'
import type { RedisClientLike } from './connection/redis-client.js'
import type { MasterConnection } from './connection/redis-connection.js'
import { RedisReplicas } from './redis-replicas.js'
import { RedisReplication } from './redis-replication.js'

const client = {} as RedisClientLike

let sent: string[]
let number: number
/** What happens at each swap or WAIT. The last entry repeats. */
let outcomes: ((target?: MasterConnection) => SwapOutcome | Promise<SwapOutcome>)[]
let waits: (() => number | Promise<number>)[]
let reports: string[]

beforeEach(() => {
  sent = []
  number = 1
  outcomes = [() => 'done']
  waits = [() => 1]
  reports = []
})

const connection = {
  connectionFor: async (): Promise<MasterConnection> => ({ client, number }),
  sendOn: async (_: MasterConnection, words: readonly string[]): Promise<unknown> => {
    sent.push(words.join(' '))
    return next(waits)()
  },
}

function next<T>(list: T[]): T {
  return (list.length > 1 ? list.shift() : list[0]) as T
}

function replication(): RedisReplication {
  return new RedisReplication(connection, { replicas: 1, timeoutMs: 50 }, async (change, target) => {
    sent.push(`swap ${change.expectedRevision} to ${change.revision}${target === undefined ? ', routed' : ''}`)
    return next(outcomes)(target)
  })
}

const change = swapOf('k', {
  expectedRevision: 'a',
  revision: 'b',
  head: 'head',
  onUnderReplicated: (replicas, wanted) => reports.push(`${replicas} of ${wanted}`),
})

/** Replaces the connection, then continues normally. */
function reconnecting<T>(value: T): () => T {
  return () => {
    number++
    return value
  }
}

function failing(text: string): () => never {
  return () => {
    throw new Error(text)
  }
}

describe('a swap that waits', () => {
  test('succeeds if the replicas have it', async () => {
    expect(await replication().swap(change)).toBe('done')
    expect(sent).toEqual(['swap a to b', 'WAIT 1 50'])
    expect(reports).toEqual([])
  })

  test('succeeds with too few replicas, and reports it', async () => {
    waits = [() => 0]
    expect(await replication().swap(change)).toBe('done')
    expect(reports).toEqual(['0 of 1'])
  })

  test('does not wait after a conflict', async () => {
    outcomes = [() => 'conflict']
    expect(await replication().swap(change)).toBe('conflict')
    expect(sent).toEqual(['swap a to b'])
  })

  test.each([
    ['the swap', () => (outcomes = [reconnecting('done' as const), () => 'done'])],
    ['the WAIT', () => (waits = [reconnecting(1), () => 1])],
  ])('is done once more where another connection took over during %s', async (_, prepare) => {
    prepare()
    expect(await replication().swap(change)).toBe('done')
    expect(sent.filter((text) => text === 'swap a to b')).toHaveLength(2)
    expect(sent.at(-1)).toBe('WAIT 1 50')
    expect(reports).toEqual([])
  })

  test('rejects if connections keep changing', async () => {
    waits = [reconnecting(1)]
    await expect(replication().swap(change)).rejects.toThrow('was lost before the replicas were counted.')
    expect(reports).toEqual([])
  })

  test('does not report a conflict if it was done and then replaced', async () => {
    outcomes = [reconnecting('done' as const), () => 'conflict']
    await expect(replication().swap(change)).rejects.toThrow('another process has overwritten it.')
  })

  test('follows a slot that moved, and waits on its new node', async () => {
    outcomes = [failing('MOVED 1 127.0.0.1:1'), reconnecting('done' as const), () => 'done']
    expect(await replication().swap(change)).toBe('done')
    expect(sent).toEqual(['swap a to b', 'swap a to b, routed', 'swap a to b', 'WAIT 1 50'])
    expect(reports).toEqual([])
  })

  test("succeeds during a slot's migration, and reports an unknown number of replicas", async () => {
    outcomes = [(target) => (target === undefined ? 'done' : failing('ASK 1 127.0.0.1:1')())]
    expect(await replication().swap(change)).toBe('done')
    expect(sent.filter((text) => text.startsWith('WAIT'))).toEqual([])
    expect(reports).toEqual(['0 of 1'])
  })

  test.each(['CLUSTERDOWN The cluster is down', 'READONLY You cannot write.'])('rejects: %s', async (text) => {
    outcomes = [failing(text)]
    await expect(replication().swap(change)).rejects.toThrow(text)
  })
})

describe('a swap in doubt', () => {
  test('is sent again once, when its session is read', async () => {
    const made = replication()
    waits = [failing('Cut off.'), () => 0]
    await expect(made.swap(change)).rejects.toThrow('Cut off.')
    sent = []
    await made.makeSure('k', 'a')
    await made.makeSure('other', 'b')
    expect(sent).toEqual([])
    await made.makeSure('k', 'b')
    expect(sent).toEqual(['swap b to b', 'WAIT 1 50'])
    expect(reports).toEqual(['0 of 1'])
    await made.makeSure('k', 'b')
    expect(sent).toHaveLength(2)
  })

  test('stays in doubt while that fails, and cannot be read', async () => {
    const made = replication()
    waits = [failing('Cut off.')]
    await expect(made.swap(change)).rejects.toThrow('Cut off.')
    await expect(made.makeSure('k', 'b')).rejects.toThrow('Cut off.')
    await expect(made.makeSure('k', 'b')).rejects.toThrow('Cut off.')
  })
})

describe('counting', () => {
  const target = { client, number: 1 }

  test('one WAIT serves all writes that came while another was running', async () => {
    const replicas = new RedisReplicas(connection, { replicas: 1, timeoutMs: 50 })
    const [first, second] = [gate(), gate()]
    waits = [() => first.opened.then(() => 1), () => second.opened.then(() => 2), () => 3]
    const counts = [replicas.count(target), replicas.count(target), replicas.count(target)]
    expect(sent).toHaveLength(1)
    first.open()
    expect(await counts[0]).toBe(1)
    // A caller that comes now was not there when the second WAIT was sent.
    const late = replicas.count(target)
    second.open()
    expect(await Promise.all([counts[1], counts[2]])).toEqual([2, 2])
    expect(await late).toBe(3)
    expect(sent).toHaveLength(3)
  })

  test('continues after a WAIT that failed', async () => {
    const replicas = new RedisReplicas(connection, { replicas: 1, timeoutMs: 50 })
    waits = [failing('Cut off.'), () => 1]
    const counts = [replicas.count(target), replicas.count(target)]
    await expect(counts[0]).rejects.toThrow('Cut off.')
    expect(await counts[1]).toBe(1)
  })
})
