import { readdirSync, readFileSync } from 'node:fs'
import type { test as nodeTest } from 'node:test'
import { describe, expect, test } from 'vitest'
import type { SessionStore } from '../../../src/index.js'
import { optionsFor, TextStore } from '../../contract/text-store.js'
import { type SessionStoreSuiteOptions, type SuiteTest, sessionStoreSuite } from './session-store-suite.js'

interface Registered {
  readonly name: string
  readonly body: () => Promise<void>
  readonly skipped: boolean
}

/** What the suite registers. */
function register(
  createStore: () => SessionStore | Promise<SessionStore>,
  options?: SessionStoreSuiteOptions,
): readonly Registered[] {
  const registered: Registered[] = []
  const add = (skipped: boolean) => (name: string, body: () => Promise<void>) =>
    registered.push({ name, body, skipped })
  sessionStoreSuite(Object.assign(add(false), { skip: add(true) }), createStore, options)
  return registered
}

/** Runs one case; the text of its failure, or `passed`. */
async function runOne(
  name: string,
  createStore: () => SessionStore | Promise<SessionStore>,
  options?: SessionStoreSuiteOptions,
): Promise<string> {
  const found = register(createStore, options).find((registered) => registered.name === name)
  if (found === undefined) throw new Error(`There is no case '${name}'.`)
  return found.body().then(
    () => 'passed',
    (error: Error) => error.message,
  )
}

const withEverything = optionsFor(TextStore)
const makeStore = (): TextStore => new TextStore(new Map())

describe('the cases', () => {
  const names = register(makeStore, withEverything).map(({ name }) => name)

  test('are at least 200, 40 of them of hostile IDs, and each has a unique printable name', () => {
    expect(names.length).toBeGreaterThanOrEqual(200)
    expect(names.filter((name) => name.startsWith('IDs: ')).length).toBeGreaterThanOrEqual(40)
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((name) => !/^[ -~]{3,100}$/.test(name))).toEqual([])
  })

  test('each catches a broken store that a test in this folder has', () => {
    const folder = new URL('./broken/', import.meta.url)
    const tests = readdirSync(folder).filter((file) => /^broken-.*\.test\.ts$/.test(file))
    const cited = tests.map((file) => readFileSync(new URL(file, folder), 'utf8')).join()
    // What every broken store passes proves nothing by failing.
    const plain = 'load gives what create stored'
    const uncaught = names.filter(
      (name) => name !== plain && !cited.includes(`'${name}'`) && !cited.includes(`'${name.replace(/^IDs: /, '')}'`),
    )
    expect(uncaught).toEqual([])
  })

  test('none is skipped if every option is given', () => {
    expect(register(makeStore, withEverything).filter(({ skipped }) => skipped)).toEqual([])
  })

  test('registering makes no store', () => {
    const createStore = (): SessionStore => {
      throw new Error('made')
    }
    expect(() => register(createStore)).not.toThrow()
  })
})

describe('what is left out', () => {
  const name = 'IDs: 70 KB'
  const leaveOut = { [name]: 'A file name has at most 255 bytes.' }

  test('is registered by test.skip, with the reason, if there is one', () => {
    const skipped = register(makeStore, { ...withEverything, leaveOut }).filter((registered) => registered.skipped)
    expect(skipped.map((registered) => registered.name)).toEqual([
      'IDs: 70 KB (left out: A file name has at most 255 bytes.)',
    ])
  })

  test('is registered as a test that does nothing, with the reason, if there is no test.skip', async () => {
    const bodies = new Map<string, () => Promise<void>>()
    let made = 0
    const createStore = (): SessionStore => {
      made++
      return makeStore()
    }
    sessionStoreSuite((title, body) => bodies.set(title, body), createStore, { ...withEverything, leaveOut })
    expect(bodies.has(name)).toBe(false)
    await bodies.get('IDs: 70 KB (left out: A file name has at most 255 bytes.)')?.()
    expect(made).toBe(0)
    expect(bodies.size).toBe(register(makeStore, withEverything).length)
  })

  test.each(['', '  ', '\n'])('needs a reason, and %j is none', (reason) => {
    const registered: string[] = []
    const options = { leaveOut: { [name]: reason } }
    expect(() => sessionStoreSuite((title) => registered.push(title), makeStore, options)).toThrow(
      "sessionStoreSuite: the case 'IDs: 70 KB' is left out without a reason.",
    )
    expect(registered).toEqual([])
  })

  test('must be a case: an unknown name is refused, and the cases are named', () => {
    const registered: string[] = []
    const options = { leaveOut: { 'IDs: 71 KB': 'It is a typo.' } }
    const act = (): void => sessionStoreSuite((title) => registered.push(title), makeStore, options)
    expect(act).toThrow("sessionStoreSuite: there is no case 'IDs: 71 KB' to leave out. The cases are: '")
    expect(act).toThrow("'IDs: 70 KB'")
    expect(registered).toEqual([])
  })

  test('an inherited name is not a case', () => {
    const leaveOutInherited = JSON.parse('{"__proto__":"reason"}') as Record<string, string>
    expect(() => register(makeStore, { leaveOut: leaveOutInherited })).toThrow("no case '__proto__'")
  })

  test('also if an option is missing: the option is named', () => {
    const { reopen } = withEverything
    const skipped = register(makeStore, reopen === undefined ? {} : { reopen }).filter((one) => one.skipped)
    const reasons = new Set(skipped.map((one) => / \(left out: (.*)\)$/.exec(one.name)?.[1]))
    expect([...reasons]).toEqual([
      'options.createUnreachable was not given',
      'options.corrupt was not given',
      'options.claims was not given',
      'options.leases was not given',
      'options.absoluteTtl was not given',
      'options.lists was not given',
    ])
    expect(skipped.length).toBe(62)
  })
})

describe('a failure', () => {
  test('names the case, the call, what was expected and got, and the rule', async () => {
    class Forgetful extends TextStore {
      override async load(): Promise<undefined> {}
    }
    const text = await runOne('load gives what create stored', () => new Forgetful(new Map()))
    expect(text).toMatch(
      /^load gives what create stored: Expected load\("[0-9a-f]{32}"\) to give the stored document; /,
    )
    expect(text).toMatch(/got undefined\.\nThe rule: load gives the stored document, or undefined if there is none\.$/)
  })

  test('names the place where two documents differ', async () => {
    class Renaming extends TextStore {
      override async load(sessionId: string): ReturnType<TextStore['load']> {
        const document = await super.load(sessionId)
        return document === undefined
          ? undefined
          : { ...document, flow: { ...document.flow, currentStep: 'Elsewhere' } }
      }
    }
    const text = await runOne('load gives what create stored', () => new Renaming(new Map()))
    expect(text).toContain('the document["flow"]["currentStep"] is "Elsewhere" instead of "Ask"')
  })

  test('takes a store that throws before it returns a promise like one that rejects', async () => {
    class Throwing extends TextStore {
      override create(): Promise<void> {
        throw new Error('not even a promise')
      }
    }
    const text = await runOne('load gives what create stored', () => new Throwing(new Map()))
    expect(text).toContain('to succeed; got a rejection with Error: not even a promise.')
  })

  test('reports a store that could not be made', async () => {
    const createStore = (): SessionStore => {
      throw new Error('no backend')
    }
    expect(await runOne('load gives what create stored', createStore)).toContain('no backend')
  })

  test('asks for options.reopen if a second handle sees other data', async () => {
    const name = 'handles: sessions survive a restart'
    expect(await runOne(name, makeStore)).toContain(
      'Another store of createStore does not see what the first one stored. Pass options.reopen',
    )
    const options = { reopen: makeStore }
    expect(await runOne(name, makeStore, options)).toContain('The store of options.reopen does not see')
  })

  test('of an operation that hangs names it, instead of hanging, too', async () => {
    class Hanging extends TextStore {
      override load(): Promise<undefined> {
        return new Promise(() => undefined)
      }
    }
    const makeHanging = (): TextStore => new Hanging(new Map())
    const options = { createUnreachable: makeHanging, deadlineMs: 20 }
    expect(await runOne('load gives what create stored', makeHanging, options)).toMatch(
      /Expected load\("[0-9a-f]{32}"\) to settle; it hung for 20 ms\.\nThe rule: /,
    )
    const name = 'outage: load rejects in time, and neither as missing nor as a conflict'
    expect(await runOne(name, makeStore, options)).toMatch(
      /Expected load\("[0-9a-f]{32}"\) to settle; it hung for 20 ms\./,
    )
  })
})

describe('the suite', () => {
  test('closes every handle, also of a case that fails', async () => {
    const handles: TextStore[] = []
    class Watched extends TextStore {
      constructor(data: TextStore['data']) {
        super(data)
        handles.push(this)
      }
      override async save(): Promise<void> {
        throw new Error('no')
      }
    }
    const options = { reopen: (store: SessionStore) => new Watched((store as Watched).data) }
    const text = await runOne('handles: sessions survive a restart', () => new Watched(new Map()), options)
    expect(text).toContain('to succeed; got')
    expect(handles.map(({ closed }) => closed)).toEqual([true, true])
  })

  test('closes a handle that opens only after its case timed out', async () => {
    const late = makeStore()
    let hand: (store: SessionStore) => void = () => undefined
    const handed = new Promise<SessionStore>((resolve) => {
      hand = resolve
    })
    const createStore = (): Promise<SessionStore> => handed
    expect(await runOne('load gives what create stored', createStore, { deadlineMs: 5 })).toContain('hung for 5 ms')
    const closed = new Promise<void>((resolve) => {
      late.close = async () => resolve()
    })
    hand(late)
    await closed
  })

  test('knows a conflict by marker and code, whichever copy of the package made it', async () => {
    class Foreign extends TextStore {
      override conflict(sessionId: string): Error {
        const marker = { [Symbol.for('turnkeeper.FlowError')]: true, code: 'SESSION_CONFLICT' }
        return Object.assign(new Error(`${sessionId} conflicts`), marker)
      }
    }
    const name = 'save under a stale revision is a conflict and leaves every byte'
    expect(await runOne(name, () => new Foreign(new Map()))).toBe('passed')
  })

  test('may share its data with others: it relies on no empty store', async () => {
    const data: TextStore['data'] = new Map()
    const createStore = (): TextStore => new TextStore(data)
    for (let round = 0; round < 2; round++) {
      const cases = register(createStore).filter(({ name }) => /^(?:IDs|create|save|delete|memory)/.test(name))
      for (const { body } of cases) await body()
    }
  })

  test('takes the test functions of vitest and of Node', () => {
    const fitting: SuiteTest[] = [test, test.skip, (() => undefined) as unknown as typeof nodeTest]
    expect(fitting.every((fits) => typeof fits === 'function')).toBe(true)
  })
})
