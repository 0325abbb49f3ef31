/** Checks that a consumer's flow behaves the same for each target of its classes: statics assigned, or defined. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compile, project, run } from './run.js'

/**
 * A flow of all kinds of steps, with overridden statics, class fields and private names, and a conversation with it.
 */
const flow = `
import {
  EndStep, Flow, FlowEngine, finish, go, LogicStep, type ModelProviderAdapter, reply, Step, tool, type Turn,
} from 'turnkeeper'

class AskName extends LogicStep<{ name?: string }> {
  static override readonly id = 'ask-name'
  greeting = 'What is your name?'
  #tidy(text: string): string { return text.trim() }
  override run(turn: Turn) {
    if (turn.entered) return reply(this.greeting)
    this.state.name = this.#tidy(turn.message)
    return go(Advise)
  }
}

class Advise extends Step<{ topic?: string }> {
  static override readonly id = 'advise'
  static override readonly aliases = ['counsel']
  override readonly memory = 'shared'
  override prompt(turn: Turn) { return 'Advise ' + turn.stateOf(AskName).name }
  override tools() {
    return [tool({
      name: 'note_topic',
      description: 'Note the topic.',
      execute: (_, turn) => {
        this.state.topic = turn.message
        return go(Goodbye)
      },
    })]
  }
}

class Goodbye extends EndStep {
  static override readonly id = 'goodbye'
  override message(turn: Turn) { return turn.stateOf(AskName).name + ' asked about ' + turn.stateOf(Advise).topic }
}

class Advice extends Flow {
  static override readonly id = 'advice'
  static override readonly version = 2
  static override readonly aliases = ['help']
  #started = 'yes'
  override init() { this.addContext({ started: this.#started }) }
  override model() { return { provider: 'scripted', name: 'one' } }
  override steps() { return [AskName, Advise, Goodbye] }
}

class Echo extends Flow {
  override steps() { return [Repeat] }
}
class Repeat extends LogicStep {
  override run(turn: Turn) { return finish(turn.message) }
}

const scripted: ModelProviderAdapter = {
  provider: 'scripted',
  resolve: ({ provider, name }) => ({
    provider,
    name,
    generate: async ({ messages }) => messages.length === 1
      ? { parts: [{ type: 'text', text: 'About what?' }] }
      : { parts: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'note_topic', input: {} }] },
  }),
}

let ids = 0
const engine = await FlowEngine.create({
  flows: [Advice, Echo],
  providers: [scripted],
  generateId: (kind) => kind + '-' + ids++,
  clock: { now: () => 0, setTimer: () => () => {} },
})
const said: unknown[] = [engine.getFlowNames()]
let sessionId = ''
for (const userMessage of ['', ' Ada ', 'the weather']) {
  const response = await engine.run({ flowName: 'advice', userMessage, sessionId })
  sessionId = response.session
  said.push(response)
}
said.push(await engine.getSession(sessionId), await engine.run({ flowName: 'Echo', userMessage: 'done' }))
await engine.close()
console.log(JSON.stringify(said, null, 1))
`

function conversation(target: string): unknown {
  const folder = project(`target-${target}`, {
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        target,
        lib: ['ES2022', 'DOM'],
        module: 'NodeNext',
        types: [],
        strict: true,
        skipLibCheck: false,
        rootDir: '.',
        outDir: 'out',
      },
      include: ['*.mts'],
    }),
    'flow.mts': flow,
  })
  expect(compile(folder)).toEqual({ failed: false, output: '' })
  const { failed, output } = run(folder, 'out/flow.mjs')
  expect({ failed, output }).toMatchObject({ failed: false })
  return JSON.parse(output)
}

test('the two targets compile a static differently', () => {
  const folders = ['ES2021', 'ES2022'].map((target) => {
    const folder = project(`statics-${target}`, {
      'tsconfig.json': JSON.stringify({
        compilerOptions: { target, module: 'NodeNext', types: [], outDir: 'out', rootDir: '.' },
      }),
      'a.mts': 'export class A { static id = 1 }\n',
    })
    expect(compile(folder).failed).toBe(false)
    return readFileSync(join(folder, 'out', 'a.mjs'), 'utf8')
  })
  expect(folders[0]).toContain('A.id = 1')
  expect(folders[1]).toContain('static id = 1')
})

test('a flow compiled to ES2021 and to ES2022 says and stores the same', () => {
  const [older, newer] = [conversation('ES2021'), conversation('ES2022')]
  expect(older).toEqual(newer)
  expect(newer).toMatchObject([
    ['advice', 'Echo'],
    { success: true, completed: false, message: 'What is your name?', contentType: 'text/plain' },
    { success: true, completed: false, message: 'About what?' },
    { success: true, completed: true, message: 'Ada asked about the weather' },
    {
      runStatus: 'completed',
      flow: {
        name: 'advice',
        version: 2,
        currentStep: 'goodbye',
        context: { started: 'yes' },
        steps: { 'ask-name': { state: { name: 'Ada' } }, advise: { state: { topic: 'the weather' } } },
      },
    },
    { success: true, completed: true, message: 'done' },
  ])
})
