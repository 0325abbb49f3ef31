import { Keyv } from 'keyv'
import { type FlowConstructor, FlowEngine } from 'turnkeeper'
import { KeyvSessionStore } from 'turnkeeper/keyv'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Shipping } from './release-1.js'
import { Delivery } from './release-2.js'

/** The store, which outlives the processes. */
let stored: Map<string, unknown>
let engines: FlowEngine[]

beforeEach(() => {
  stored = new Map()
  engines = []
})

afterEach(async () => {
  for (const engine of engines) await engine.close()
})

/** A process of a release. */
function start(flow: FlowConstructor): FlowEngine {
  const sessionStore = new KeyvSessionStore({ keyv: new Keyv({ store: stored }) })
  const engine = new FlowEngine({ flows: [flow], sessionStore })
  engines.push(engine)
  return engine
}

/** Says these in a conversation of a page that knows the first release, and returns the last reply and the session. */
async function say(
  engine: FlowEngine,
  messages: readonly string[],
  sessionId = '',
): Promise<{ reply: string; session: string }> {
  let session = sessionId
  let reply = ''
  for (const userMessage of messages) {
    const { response, error } = await engine.execute({ flowName: 'Shipping', userMessage, sessionId: session })
    if (error !== undefined) throw error
    if (session !== '') expect(response.session).toBe(session)
    session = response.session
    reply = response.message
  }
  return { reply, session }
}

const begun = ['', 'A lamp', '5 Mill Lane, Leeds', 'no', 'yes']
const asked = [
  'Sending a parcel costs 5. What shall we send?',
  'Where to? Street and city, please.',
  'Is it a gift? (yes/no)',
  'A lamp to 5 Mill Lane, Leeds, for 5. Right? (yes/no)',
]

test.each([1, 2, 3, 4])('a conversation of %i turns goes on in the second release, to the same end', async (turns) => {
  const { reply, session } = await say(start(Shipping), begun.slice(0, turns))
  expect(reply).toBe(asked[turns - 1])
  const rest = begun.slice(turns)
  // The answer to a question that was asked is needed; a question that is gone is not asked.
  const said = turns < 3 ? rest.filter((message) => message !== 'no') : rest
  expect((await say(start(Delivery), said, session)).reply).toBe('It is on its way, for 5.')
})

test('every turn may reach a different process of the second release', async () => {
  const { session } = await say(start(Shipping), begun.slice(0, 3))
  expect((await say(start(Delivery), ['no'], session)).reply).toBe(asked[3])
  expect((await say(start(Delivery), ['yes'], session)).reply).toBe('It is on its way, for 5.')
})

test('a process of the first release refuses a session of the second, and its bytes stay', async () => {
  const [first, second] = [start(Shipping), start(Delivery)]
  const { session } = await say(first, begun.slice(0, 2))
  await say(second, ['5 Mill Lane, Leeds'], session)
  const before = JSON.stringify([...stored])
  const { response, error } = await first.execute({ flowName: 'Shipping', userMessage: 'yes', sessionId: session })
  expect(error?.code).toBe('SESSION_FLOW_INVARIANT')
  expect(response.message).toBe(
    `Session '${session}' is malformed: it was stored by version 2 of flow 'Shipping', and this is version 1.`,
  )
  expect(JSON.stringify([...stored])).toBe(before)
  expect((await say(second, ['yes'], session)).reply).toBe('It is on its way, for 5.')
})

test('a conversation that migrate forgot is refused by name of step and field, and its bytes stay', async () => {
  class Forgetful extends Delivery {
    static override readonly id = 'Delivery'
    static override migrate(document: Parameters<typeof Delivery.migrate>[0], from: number) {
      const { flow, ...rest } = super.migrate(document, from)
      return { ...rest, flow: { ...flow, steps: { ...flow.steps, Confirm: { state: {} } } } }
    }
  }
  const { session } = await say(start(Shipping), begun.slice(0, 4))
  const before = JSON.stringify([...stored])
  await expect(say(start(Forgetful), ['yes'], session)).rejects.toThrow(
    `Session '${session}' is malformed: the state of step 'Confirm' does not fit its stateSchema at price.`,
  )
  expect(JSON.stringify([...stored])).toBe(before)
})

test('a new conversation has the questions and the price of the second release', async () => {
  const { reply, session } = await say(start(Delivery), ['', 'A lamp', '5 Mill Lane', 'Leeds'])
  expect(reply).toBe('A lamp to 5 Mill Lane, Leeds, for 7. Right? (yes/no)')
  expect((await engines[0]?.getSession(session))?.flow.name).toBe('Delivery')
})
