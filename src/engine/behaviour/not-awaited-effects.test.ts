// turn.once: the log entries if no code awaits the work.
import { afterEach, describe, expect, test } from 'vitest'
import { either, payments, type Talking, talking } from '../../../testing/contract/effects-harness.js'
import { expectNothingLeft, gate, never, type OnlyRun } from '../../../testing/contract/engine-harness.js'
import { type Flow, type FlowEngineOptions, type FlowLogger, reply } from '../../index.js'

afterEach(expectNothingLeft)

type Line = readonly [level: 'warn' | 'error', text: string, fields: Readonly<Record<string, unknown>> | undefined]

/** A conversation whose log is kept. */
function logged(
  run: OnlyRun,
  options: FlowEngineOptions = {},
  hooks: { readonly onError?: Flow['onError'] } = {},
): Talking & { readonly lines: Line[] } {
  const lines: Line[] = []
  const write = (level: Line[0]) => (text: string, fields?: Line[2]) => void lines.push([level, text, fields])
  const logger: FlowLogger = { debug() {}, info() {}, warn: write('warn'), error: write('error') }
  return { ...talking(run, { logger, ...options }, hooks), lines }
}

const where = "turn.once('pay') in step 'Only' of flow 'Talk'"
const notEnded = `${where} had not ended when its turn was stored. Its result is not kept: a later call runs the work again, with uncertain: true. Write: await turn.once(...).`
const failed = `${where} failed, and no code received its error. Write: await turn.once(...). The error: The card was declined.`

async function decline(): Promise<never> {
  throw new Error('The card was declined.')
}

describe('work that has not ended when its turn commits', () => {
  test.each(either)('is warned of in each turn, and is uncertain in the next one (%s)', async (_title, durable) => {
    const late = gate()
    const { attempts, work } = payments(() => late.opened)
    const { say, lines, clock } = logged((turn) => {
      void turn.once('pay', work, { durable })
      void turn.once('pay', work, { durable })
      return reply('You are charged.')
    })
    const { response } = await say('pay')
    expect(response.success).toBe(true)
    const fields = { sessionId: response.session, flowName: 'Talk', step: 'Only' }
    expect(lines).toEqual([['warn', notEnded, { ...fields, turnId: expect.any(String) }]])
    late.open()
    await clock.settle()
    expect(await say('pay', response.session)).toMatchObject({ response: { success: true } })
    expect(lines).toHaveLength(2)
    expect(attempts.map(({ uncertain }) => uncertain)).toEqual([false, true])
  })

  test('is warned of where it ends before the commit, and its result comes too late', async () => {
    const { attempts, work } = payments()
    const { say, lines, document } = logged((turn) => {
      void turn.once('pay', work, { durable: true })
      return reply('You are charged.')
    })
    const { session } = (await say('pay')).response
    expect(attempts).toHaveLength(1)
    expect((await document(session)).effects?.pay).not.toHaveProperty('result')
    expect(lines.map(([, text]) => text)).toEqual([notEnded])
  })

  test('is warned of where flow code lets a time limit of its own win', async () => {
    const { say, lines } = logged(async (turn) => {
      const paid = turn.once('pay', () => never())
      return reply(String(await Promise.race([paid, 'It takes a while.'])))
    })
    expect((await say('pay')).response.message).toBe('It takes a while.')
    expect(lines.map(([, text]) => text)).toEqual([notEnded])
  })

  test('is not warned of in a turn that fails, nor where it is awaited', async () => {
    const { attempts, work } = payments()
    const { say, lines } = logged(async (turn) => {
      if (turn.message === 'fail') {
        void turn.once('never', () => never())
        throw new Error('The shop is closed.')
      }
      return reply(JSON.stringify(await turn.once('pay', work)))
    })
    const { session } = (await say('pay')).response
    expect((await say('pay', session)).response.message).toBe('{"id":"p-1"}')
    expect((await say('fail', session)).response.message).toBe('The shop is closed.')
    expect(attempts).toHaveLength(1)
    expect(lines).toEqual([])
  })

  test('is not warned of where its result came in time', async () => {
    const { say, lines } = logged(async (turn) => {
      void turn.once('pay', () => 'paid')
      await turn.once('mail', async () => 'sent')
      return reply(String(await turn.once('pay', () => 'paid again')))
    })
    expect((await say('pay')).response.message).toBe('paid')
    expect(lines).toEqual([])
  })

  test('is warned of where onError answers for the part of the turn that began it', async () => {
    const run: OnlyRun = (turn) => {
      void turn.once('pay', () => never())
      throw new Error('It broke.')
    }
    const { say, lines } = logged(run, {}, { onError: () => reply('Sorry.') })
    expect((await say('pay')).response.message).toBe('Sorry.')
    expect(lines.map(([, text]) => text)).toEqual([notEnded])
  })

  test('does not change the turn where the logger throws', async () => {
    const run: OnlyRun = (turn) => {
      void turn.once('pay', () => never())
      return reply('You are charged.')
    }
    const broken = (): never => {
      throw new Error('The disk is full.')
    }
    const { say } = logged(run, { logger: { debug: broken, info: broken, warn: broken, error: broken } })
    expect((await say('pay')).response.success).toBe(true)
  })

  test('is masked in the log', async () => {
    const run: OnlyRun = (turn) => {
      void turn.once('mail:ada@example.com', () => never())
      return reply('Sent.')
    }
    const { say, lines } = logged(run, { mask: (text) => text.replaceAll(/[a-z]+@example/g, '[mail]') })
    expect((await say('mail')).response.success).toBe(true)
    expect(lines).toHaveLength(1)
    expect(JSON.stringify(lines)).not.toContain('ada@')
  })
})

describe('work that fails and that no code waits for', () => {
  test('is logged where it fails while its turn runs', async () => {
    const { say, lines } = logged(async (turn) => {
      void turn.once('pay', decline)
      await turn.once('mail', async () => 'sent')
      await new Promise(setImmediate)
      return reply('You are charged.')
    })
    const { response } = await say('pay')
    expect(response.success).toBe(true)
    expect(lines).toMatchObject([['error', failed, { sessionId: response.session, code: 'FLOW_ERROR' }]])
  })

  test('is logged where it fails after its turn, which was warned of', async () => {
    const late = gate()
    const { say, lines, clock } = logged((turn) => {
      void turn.once('pay', () => late.opened.then(decline))
      return reply('You are charged.')
    })
    await say('pay')
    expect(lines.map(([, text]) => text)).toEqual([notEnded])
    late.open()
    await clock.settle()
    expect(lines.map(([, text]) => text)).toEqual([notEnded, failed])
  })

  test('is logged where flow code passes a name that cannot be used', async () => {
    const { say, lines } = logged(async (turn) => {
      void turn.once(Symbol('pay') as never, decline)
      return reply('You are charged.')
    })
    expect((await say('pay')).response.success).toBe(true)
    expect(lines).toHaveLength(1)
    expect(lines[0]?.[1]).toContain('must be 1 to 200 characters; got symbol.')
  })

  test('is not logged where flow code receives the error', async () => {
    const { say, lines } = logged(async (turn) => {
      const paid = turn.once('pay', decline)
      await turn.once('mail', async () => 'sent')
      return reply(await paid.catch((error: Error) => error.message))
    })
    expect((await say('pay')).response.message).toBe('The card was declined.')
    expect(lines).toEqual([])
  })
})
