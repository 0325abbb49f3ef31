/** Cases that drive an engine over the store, as applications do. */
import type { FlowEngine, SessionDocument } from '../../../../src/index.js'
import { fail } from '../../cases/failure.js'
import { findDifference } from '../../cases/same-json.js'
import { rules } from '../bench/rules.js'
import type { SuiteCase } from '../bench/suite-case.js'
import { engineOver, ForgettingFlow, RenamedFlow, runTurn, SummaryFlow, say, WindowFlow } from './talking-flow.js'

async function expectSession(
  engine: FlowEngine,
  sessionId: string,
  expected: { readonly status?: SessionDocument['runStatus']; readonly said: readonly string[] },
): Promise<SessionDocument> {
  const document = await engine.getSession(sessionId)
  if (document === undefined) return fail('the session to be stored', 'nothing')
  const { runStatus, history } = document
  const got = { status: runStatus, said: history.map(({ message }) => message) }
  const difference = findDifference(got, { status: 'running', ...expected }, 'the session')
  if (difference !== undefined) fail('the session to hold what was said, in order', difference)
  return document
}

function expectMessages(document: SessionDocument, namespace: string, expected: readonly string[]): void {
  const { memory } = document.flow
  const messages = Object.hasOwn(memory, namespace) ? (memory[namespace]?.messages ?? []) : []
  const got = messages.map(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
  const difference = findDifference(got, expected, `the memory of ${namespace}`)
  if (difference !== undefined) fail('the memory to hold every message, in order', difference)
}

/** The cases, in the order in which they are registered. */
export const engineCases: readonly SuiteCase[] = [
  {
    name: 'engine: three turns of one conversation',
    rule: rules.engine,
    async run(bench) {
      const engine = engineOver((await bench.open()).store)
      const sessionId = await say(engine, '', 'one')
      for (const message of ['two', 'three']) await say(engine, sessionId, message)
      const document = await expectSession(engine, sessionId, { said: ['one', 'two', 'three'] })
      expectMessages(document, 'Talk', ['one', '1: one', 'two', '3: two', 'three', '5: three'])
      const difference = findDifference(document.flow.steps.Talk?.state, { turns: 3 }, 'the state of Talk')
      if (difference !== undefined) fail('the state to count the turns', difference)
    },
  },
  {
    name: 'engine: a conversation goes on after a restart',
    rule: rules.engine,
    async run(bench) {
      const before = await bench.open()
      const after = await bench.another(before)
      const first = engineOver(before.store)
      const sessionId = await say(first, '', 'one')
      await say(first, sessionId, 'two')
      await first.close()
      const second = engineOver(after.store)
      await say(second, sessionId, 'three')
      const document = await expectSession(second, sessionId, { said: ['one', 'two', 'three'] })
      expectMessages(document, 'Talk', ['one', '1: one', 'two', '3: two', 'three', '5: three'])
    },
  },
  {
    name: 'engine: a completed session stays, and its ID starts a new one',
    rule: rules.engine,
    async run(bench) {
      const engine = engineOver((await bench.open()).store)
      const sessionId = await say(engine, '', 'one')
      await say(engine, sessionId, 'bye')
      await expectSession(engine, sessionId, { status: 'completed', said: ['one', 'bye'] })
      const { response } = await runTurn(engine, sessionId, 'again')
      if (response.session === sessionId) fail('a new session after the end of the old one', 'the old one')
      await expectSession(engine, response.session, { said: ['again'] })
      await expectSession(engine, sessionId, { status: 'completed', said: ['one', 'bye'] })
    },
  },
  {
    name: 'engine: a turn that fails leaves its text and the turns before it',
    rule: rules.engine,
    async run(bench) {
      const engine = engineOver((await bench.open()).store)
      const sessionId = await say(engine, '', 'one')
      const { response } = await runTurn(engine, sessionId, 'fail')
      if (response.success) fail('the turn to fail as its flow does', 'success')
      const { error } = await expectSession(engine, sessionId, { status: 'aborted', said: ['one'] })
      const difference = findDifference(error, ['It failed on purpose.'], 'error')
      if (difference !== undefined) fail('the text of the failure', difference)
    },
  },
  {
    name: 'engine: a deleted session is gone for every engine',
    rule: rules.engine,
    async run(bench) {
      const ours = await bench.open()
      const [first, second] = [engineOver(ours.store), engineOver((await bench.another(ours)).store)]
      const sessionId = await say(first, '', 'one')
      await say(second, sessionId, 'two')
      const { success, message } = await first.deleteSession(sessionId)
      if (!success) fail('deleteSession to succeed', String(message))
      if ((await second.getSession(sessionId)) !== undefined) fail('a deleted session to be gone', 'its document')
      const { response } = await runTurn(second, sessionId, 'three')
      if (response.session === sessionId) fail('a new session after the old one was deleted', 'the old one')
    },
  },
  {
    name: 'engine: two that race on one session lose no acknowledged turn and double none',
    rule: rules.engine,
    async run(bench) {
      const ours = await bench.open()
      const engines = [engineOver(ours.store), engineOver((await bench.another(ours)).store)]
      const sessionId = await say(engines[0] as FlowEngine, '', 'start')
      const acknowledged = ['start']
      for (let round = 0; round < 10; round++) {
        const raced = engines.map(async (engine, index) => {
          const message = `${round} of ${index}`
          const { response, error } = await runTurn(engine, sessionId, message)
          if (response.success && response.session === sessionId) return message
          if (error?.code === 'SESSION_CONFLICT') return undefined
          return fail('a turn to succeed or to meet a conflict', response.message)
        })
        const succeeded = (await Promise.all(raced)).filter((message) => message !== undefined)
        if (succeeded.length === 0) fail('one of two racing turns to succeed', 'two conflicts')
        // Both may have succeeded, one after the other: the history shows the order.
        const stored = (await engines[0]?.getSession(sessionId))?.history.slice(acknowledged.length) ?? []
        const inOrder = stored.map(({ message }) => message)
        const difference = findDifference([...inOrder].sort(), [...succeeded].sort(), 'the turns of the race')
        if (difference !== undefined) fail('each acknowledged turn in the history once', difference)
        acknowledged.push(...inOrder)
      }
      for (const engine of engines) await expectSession(engine, sessionId, { said: acknowledged })
    },
  },
  {
    name: 'engine: a flow that cuts the lists in onRestore finds them cut',
    rule: rules.engine,
    async run(bench) {
      const store = await bench.open()
      const engine = engineOver(store.store)
      const sessionId = await say(engine, '', 'one')
      for (const message of ['two', 'three']) await say(engine, sessionId, message)
      const forgetting = engineOver(store.store, ForgettingFlow)
      await say(forgetting, sessionId, 'four')
      const reader = engineOver((await bench.another(store)).store)
      const document = await expectSession(reader, sessionId, { said: ['three', 'four'] })
      expectMessages(document, 'Talk', ['5: three', 'four', '2: four'])
    },
  },
  {
    name: 'engine: a memory that is cut to a window, by two in turn',
    rule: rules.engine,
    async run(bench) {
      const ours = await bench.open()
      const engines = [ours, await bench.another(ours)].map(({ store }) => engineOver(store, WindowFlow))
      const said = ['one', 'two', 'three', 'four', 'five', 'six']
      let sessionId = ''
      for (const [index, message] of said.entries()) {
        sessionId = await say(engines[index % 2] as FlowEngine, sessionId, message)
      }
      for (const engine of engines) {
        const document = await expectSession(engine, sessionId, { said })
        expectMessages(document, 'Talk', ['five', '5: five', 'six', '7: six'])
      }
    },
  },
  {
    name: 'engine: a memory that is summed up again and again, after each reply',
    rule: rules.engine,
    async run(bench) {
      const before = await bench.open()
      const after = await bench.another(before)
      const engine = engineOver(before.store, SummaryFlow)
      const said = ['one', 'two', 'three', 'four', 'five', 'six']
      let sessionId = ''
      for (const message of said) {
        sessionId = await say(engine, sessionId, message)
        await engine.settled()
      }
      await engine.close()
      const document = await expectSession(engineOver(after.store), sessionId, { said })
      const messages = document.flow.memory.Talk?.messages ?? []
      const [part] = messages[0]?.parts ?? []
      // The model repeats what it gets, so that both transcripts are in the second summary, whole.
      const summary = part?.type === 'text' ? part.text : ''
      const isWhole = ['User: one', 'User: three', 'User: five'].every((text) => summary.includes(text))
      if (messages[0]?.summary !== true || !isWhole) fail('a summary of the turns before', summary)
      expectMessages(document, 'Talk', [summary, 'six', '6: six'])
    },
  },
  {
    name: 'engine: a flow whose step was renamed keeps its memory',
    rule: rules.engine,
    async run(bench) {
      const store = await bench.open()
      const engine = engineOver(store.store)
      const sessionId = await say(engine, '', 'one')
      await say(engine, sessionId, 'two')
      await say(engineOver(store.store, RenamedFlow), sessionId, 'three')
      const reader = engineOver((await bench.another(store)).store, RenamedFlow)
      const document = await expectSession(reader, sessionId, { said: ['one', 'two', 'three'] })
      expectMessages(document, 'Chat', ['one', '1: one', 'two', '3: two', 'three', '5: three'])
    },
  },
]
