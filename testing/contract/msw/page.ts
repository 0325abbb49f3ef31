/**
 * The script of a page whose flow service runs in a service worker: one over a script at an address without a server,
 * one over an engine at the page's own address. `msw/browser.test.ts` calls both with the page's `fetch`.
 */
import { setupWorker } from 'msw/browser'
import {
  Flow,
  FlowEngine,
  LogicStep,
  reply,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../src/index.js'
import { type FlowServiceHandlers, flowServiceHandlers } from '../../msw/index.js'

/** What the page leaves for the test. */
export interface PageGlobals {
  readonly scripted: FlowServiceHandlers
  readonly engine: FlowEngine
  /** Settles once the worker answers. */
  readonly started: Promise<unknown>
}

class Count extends LogicStep<{ words: string[] }> {
  static override readonly id = 'Count'
  override initialState(): { words: string[] } {
    return { words: [] }
  }
  override run(turn: Turn): Transition {
    this.state.words.push(turn.message)
    return reply(this.state.words.join(' '))
  }
}

class Words extends Flow {
  static override readonly id = 'Words'
  override steps(): readonly StepConstructor[] {
    return [Count]
  }
}

const engine = new FlowEngine({ flows: [Words] })
const scripted = flowServiceHandlers(
  [
    'What is your name?',
    { reply: 'a,b', contentType: 'text/csv' },
    { failure: 'SESSION_CONFLICT' },
    { networkError: true },
    { body: '<h1>Bad Gateway</h1>', status: 502, contentType: 'text/html' },
    { reply: 'This is a long answer.', cutOff: true },
    { reply: 'Goodbye.', completed: true, delayMs: 1 },
  ],
  { origin: 'https://api.example', flows: ['Words'] },
)
const started = setupWorker(...scripted, ...flowServiceHandlers(engine, { origin: location.origin })).start({
  onUnhandledRequest: 'error',
  quiet: true,
})
const globals: PageGlobals = { scripted, engine, started }
Object.assign(globalThis, globals)
