/** A conversation with side questions three levels deep: each turn is taken by another process, over a real store. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { back, call, event, FlowEngine, finish, reply, type Turn } from '../../../../src/index.js'
import { type Backend, memoryBackend, redisBackend, sqliteBackend } from '../../long-sessions/backends.js'
import { isRedisMissing } from '../../servers/redis-server.js'
import { isSqliteMissing, loadSqlitePackage } from '../../stores/sqlite-package.js'
import { flow, step } from '../talk.js'

vi.mock('@keyv/sqlite', () => loadSqlitePackage())

const day = 86_400_000

const Hours = step('Hours', () => back().withLead('From 9 to 5.'))
const Why = step('Why', ({ message }) => (message === 'ok' ? back() : reply('For the parcel. OK?')))
const Street = step('Street', ({ message, entered }, self) => {
  if (entered) return reply('Which street?')
  self.state.street = message
  return call(Town)
})
const Town = step(
  'Town',
  (turn) => (turn.entered ? reply('Which town?') : finish(`${turn.stateOf(Street).street}, ${turn.message}.`)),
  { events: () => [event({ name: 'known', after: day, execute: () => finish('The usual town.') })] },
)
const Address = flow('Address', [Street, Town, Why], {
  onMessage: ({ message }) => (message === 'why?' ? call(Why) : undefined),
})
const Chat = step('Chat', ({ entered }) => (entered ? reply('What do you need?') : call(Address)))
const Shop = flow('Shop', [Chat, Hours, Address], {
  onMessage: ({ message }: Turn) => (message === 'open?' ? call(Hours) : undefined),
})

describe.each([
  { name: 'memory', isMissing: false, start: memoryBackend },
  { name: 'SQLite (needs npm ci --prefix testing/contract/sqlite)', isMissing: isSqliteMissing, start: sqliteBackend },
  { name: 'Redis (needs redis-server)', isMissing: isRedisMissing, start: redisBackend },
])('$name', ({ isMissing, start }) => {
  describe.skipIf(isMissing)('side flows', () => {
    let backend: Backend
    beforeAll(async () => {
      backend = await start()
    })
    afterAll(() => backend?.close())

    test('go on in another process after each turn', async () => {
      let sessionId = ''
      const withEngine = async <T>(use: (engine: FlowEngine) => Promise<T>): Promise<T> => {
        const { store } = await backend.open()
        const engine = new FlowEngine({ flows: [Shop], sessionStore: store, schedule: () => undefined })
        try {
          return await use(engine)
        } finally {
          await engine.close()
        }
      }
      const say = (userMessage: string): Promise<string> =>
        withEngine(async (engine) => {
          const { message, session } = await engine.run({ flowName: 'Shop', userMessage, sessionId })
          sessionId = session
          return message
        })
      const open = (): Promise<string> =>
        withEngine(async (engine) => {
          const { flow: stored, version } = (await engine.getSession(sessionId)) ?? {}
          return `${version}: ${stored?.frames?.map(({ step: id }) => id).join(' > ') ?? stored?.currentStep}`
        })
      expect([await say('hello'), await open()]).toEqual(['What do you need?', '2: Chat'])
      expect([await say('open?'), await open()]).toEqual(['From 9 to 5.\n\nWhat do you need?', '2: Chat'])
      expect([await say('deliver it'), await open()]).toEqual(['Which street?', '3: Chat > Address/Street'])
      expect(await say('open?')).toBe('From 9 to 5.\n\nWhich street?')
      expect(await say('Main Street 1')).toBe('Which town?')
      expect(await say('why?')).toBe('For the parcel. OK?')
      expect(await open()).toBe('3: Chat > Address/Street > Address/Town > Address/Why')
      expect(await say('open?')).toBe('From 9 to 5.\n\nFor the parcel. OK?')
      expect(await say('ok')).toBe('Which town?')
      expect([await say('Berlin'), await open()]).toEqual(['Main Street 1, Berlin.\n\nWhat do you need?', '2: Chat'])
      expect([await say('again'), await say('Side Street 2')]).toEqual(['Which street?', 'Which town?'])
      await say('why?')
      const sent = await withEngine((engine) => engine.sendEvent({ sessionId, event: 'known' }))
      expect(sent.response.message).toBe('The usual town.\n\nWhat do you need?')
      expect(await open()).toBe('2: Chat')
    })
  })
})
