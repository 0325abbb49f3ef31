/** The encryption to copy: no text is stored in the clear, and another key cannot read it. */
import { Keyv } from 'keyv'
import { Flow, FlowEngine, LogicStep, reply, SessionFlowInvariantError, type Turn } from 'turnkeeper'
import { KeyvSessionStore } from 'turnkeeper/keyv'
import { sessionStoreSuite } from 'turnkeeper/testing/suites'
import { describe, expect, test } from 'vitest'
import { type EncryptionKeys, encrypt } from './encrypt.js'

class Repeat extends LogicStep {
  static override readonly id = 'Repeat'
  override run(turn: Turn) {
    return reply(`You said: ${turn.message}`)
  }
}

class Echo extends Flow {
  static override readonly id = 'Echo'
  override steps() {
    return [Repeat]
  }
}

function keysOf(secret: Uint8Array<ArrayBuffer>): EncryptionKeys {
  return { current: '2026', keys: { 2026: secret } }
}

/** A store with its own Keyv over one Map. */
async function openStore(
  map: Map<string, unknown>,
  keys: EncryptionKeys | Uint8Array<ArrayBuffer>,
): Promise<KeyvSessionStore> {
  const all = keys instanceof Uint8Array ? keysOf(keys) : keys
  return new KeyvSessionStore({ keyv: await encrypt(new Keyv({ store: map }), all) })
}

/** Everything that is stored, as one text. */
function textOf(map: ReadonlyMap<string, unknown>): string {
  return JSON.stringify(Array.from(map), (_, value) => (value instanceof Map ? [...value] : value))
}

describe('with the encryption of the page', () => {
  const map = new Map<string, unknown>()
  const secret = crypto.getRandomValues(new Uint8Array(32))
  sessionStoreSuite(test, () => openStore(map, secret), {
    claims: true,
    lists: true,
    leaveOut: {
      'listing: hostile IDs and owners are shown as they are':
        'The key of a session with such an ID is a digest, and without the ID its text cannot be decrypted.',
    },
  })
})

test('no text of the conversation is stored in the clear', async () => {
  const map = new Map<string, unknown>()
  const secret = crypto.getRandomValues(new Uint8Array(32))
  const engine = new FlowEngine({ flows: [Echo], sessionStore: await openStore(map, secret) })
  const { session } = await engine.run({ flowName: 'Echo', userMessage: 'my secret wish' })
  expect(session).not.toBe('')
  expect(textOf(map)).toContain(session)
  expect(textOf(map)).not.toMatch(/secret wish|You said|Repeat|Echo/)
  const again = await engine.run({ flowName: 'Echo', userMessage: 'and more', sessionId: session })
  expect(again).toMatchObject({ message: 'You said: and more', session })
})

test('another key cannot read the session, and does not mistake it for a missing one', async () => {
  const map = new Map<string, unknown>()
  const [right, wrong] = [1, 2].map((byte) => new Uint8Array(32).fill(byte)) as [
    Uint8Array<ArrayBuffer>,
    Uint8Array<ArrayBuffer>,
  ]
  const engine = new FlowEngine({ flows: [Echo], sessionStore: await openStore(map, right) })
  const { session } = await engine.run({ flowName: 'Echo', userMessage: 'Hello' })
  const stranger = await openStore(map, wrong)
  await expect(stranger.load(session)).rejects.toBeInstanceOf(SessionFlowInvariantError)
})

test('the key can be changed: what the former one encrypted is read, and new texts have the new one', async () => {
  const map = new Map<string, unknown>()
  const [first, second] = [1, 2].map((byte) => new Uint8Array(32).fill(byte)) as [
    Uint8Array<ArrayBuffer>,
    Uint8Array<ArrayBuffer>,
  ]
  const say = async (keys: EncryptionKeys, sessionId = '') => {
    const engine = new FlowEngine({ flows: [Echo], sessionStore: await openStore(map, keys) })
    return engine.run({ flowName: 'Echo', userMessage: 'Hello', sessionId })
  }
  const { session } = await say({ current: 'one', keys: { one: first } })
  const both = { one: first, two: second }
  // Both processes of a deployment read what the other one writes, also before the last of them was replaced.
  for (const current of ['one', 'two', 'one', 'two']) {
    expect(await say({ current, keys: both }, session)).toMatchObject({ success: true, session })
  }
  expect(textOf(map)).toMatch(/"one:[\w+/=]+"/)
  expect(textOf(map)).toMatch(/"two:[\w+/=]+"/)
  const withoutFormer = await openStore(map, { current: 'two', keys: { two: second } })
  await expect(withoutFormer.load(session)).rejects.toBeInstanceOf(SessionFlowInvariantError)
  expect((await (await openStore(map, { current: 'two', keys: both })).load(session))?.turns).toBe(5)
})

test('a current key that is not there is refused at once', async () => {
  await expect(openStore(new Map(), { current: 'three', keys: {} })).rejects.toThrow(
    "There is no encryption key 'three'.",
  )
})

test('a text that was moved to another session is refused', async () => {
  const map = new Map<string, unknown>()
  const secret = crypto.getRandomValues(new Uint8Array(32))
  const engine = new FlowEngine({ flows: [Echo], sessionStore: await openStore(map, secret) })
  const [{ session }, other] = [
    await engine.run({ flowName: 'Echo', userMessage: 'Hello' }),
    await engine.run({ flowName: 'Echo', userMessage: 'Good evening' }),
  ]
  const keyOf = (id: string): string => [...map.keys()].find((key) => key.endsWith(id)) ?? ''
  map.set(keyOf(session), map.get(keyOf(other.session)))
  await expect((await openStore(map, secret)).load(session)).rejects.toBeInstanceOf(SessionFlowInvariantError)
})

test('a Keyv that calls the hooks itself gets an error, and stores nothing', async () => {
  const map = new Map<string, unknown>()
  const keyv = await encrypt(new Keyv({ store: map, throwOnErrors: true }), keysOf(new Uint8Array(32)))
  await expect(keyv.set('key', 'my secret wish')).rejects.toThrow('the Keyv itself called the hook')
  expect(map.size).toBe(0)
})
