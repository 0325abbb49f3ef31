// What those who begin get wrong, and the sentence that each gets: it names the fix.
import { describe, expect, test, vi } from 'vitest'
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import { place } from '../../../testing/contract/test-flows.js'
import * as own from '../../index.js'

const { Flow, FlowEngine, go, LogicStep, reply, tool } = own

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

async function messageOf(flow: own.FlowConstructor): Promise<string> {
  const engine = new FlowEngine({ flows: [flow], logger: quiet })
  return (await engine.run({ flowName: flow.id, userMessage: '' })).message
}

/** A flow `Test` whose `steps()` returns what the test says. */
function flowWith(steps: unknown): own.FlowConstructor {
  return class Test extends Flow {
    static override readonly id = 'Test'
    override steps() {
      return steps as own.StepConstructor[]
    }
  }
}

/** Another copy of the package. */
async function copy(): Promise<typeof own> {
  vi.resetModules()
  return import('../../index.js')
}

/** The steps of a bundle: their classes have the names that the bundler gave them. */
function minified(): own.StepConstructor {
  return class e extends LogicStep {
    override run() {
      return reply('Yes.')
    }
  }
}

describe('a wrong beginning gets a sentence that names the fix:', () => {
  test('no await on FlowEngine.create', () => {
    expect(() => createFetchHandler(FlowEngine.create() as never)).toThrow(
      'createFetchHandler: the first argument must be a FlowEngine; got a promise: await FlowEngine.create().',
    )
  })

  test('steps() that is async', async () => {
    expect(await messageOf(flowWith(Promise.resolve([place('Start')])))).toBe(
      "Flow 'Test': steps() returned a promise. Take away async, and return the list itself.",
    )
  })

  test('names of classes that a bundler made short', async () => {
    expect(await messageOf(flowWith([minified(), minified()]))).toBe(
      "Flow 'Test' has two steps with the ID or alias 'e'. Give each a static id.",
    )
  })

  test('names of flows that a bundler made short', async () => {
    const e = () =>
      class e extends Flow {
        override steps() {
          return [place('Start')]
        }
      }
    expect(() => new FlowEngine({ flows: [e(), e()] })).toThrow(
      expect.objectContaining({ message: "Flow 'e' is already registered.", details: 'Give each flow a static id.' }),
    )
    const engine = new FlowEngine({ flows: [e()], logger: quiet })
    expect((await engine.execute({ flowName: 'Onboarding', userMessage: '' })).error).toMatchObject({
      message: "Flow class 'Onboarding' not registered.",
      details: 'Registered: e. Give each flow a static id.',
    })
  })

  test('a step that steps() does not list', async () => {
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run() {
        return go('Other')
      }
    }
    expect(await messageOf(flowWith([Start]))).toBe(
      "Flow 'Test' has no step 'Other'. Its steps: Start, End. Add it to steps().",
    )
  })

  test('a Date in state', async () => {
    class Start extends LogicStep<{ at?: unknown }> {
      static override readonly id = 'Start'
      override run() {
        this.state.at = new Date(0)
        return reply('Yes.')
      }
    }
    expect(await messageOf(flowWith([Start]))).toBe(
      'Start.state.at is an instance of Date, which JSON cannot carry: use date.toISOString().',
    )
  })

  test('a tool whose schema is under the name of another package', () => {
    const options = { name: 'look_up', description: 'Looks up.', parameters: {}, execute: () => 'Yes.' }
    expect(() => tool(options as never)).toThrow(/has no option 'parameters'\..* Did you mean 'input'\?$/)
  })

  test("a provider's name that is misspelt", async () => {
    class Chat extends own.Step {
      static override readonly id = 'Chat'
      override model() {
        return { provider: 'opnai', name: 'one' }
      }
    }
    expect(await messageOf(flowWith([Chat]))).toBe(
      "Model provider 'opnai' is not registered. Registered: none. Pass it to the engine as providers: [...].",
    )
  })

  test('a flow and a step of another copy of the package', async () => {
    const other = await copy()
    class Copied extends other.Flow {
      override steps() {
        return []
      }
    }
    class Step extends other.LogicStep {
      static override readonly id = 'Step'
      override run() {
        return other.reply('Yes.')
      }
    }
    expect(() => new FlowEngine({ flows: [Copied as never] })).toThrow(
      "The class 'Copied' extends Flow of another copy of turnkeeper. Install one copy: npm ls turnkeeper shows both.",
    )
    expect(await messageOf(flowWith([Step]))).toBe(
      "Flow 'Test': steps() must list step classes; got the class 'Step' of another copy of turnkeeper (npm ls turnkeeper shows both). Extend Step, LogicStep or EndStep.",
    )
  })

  test('an unknown option of create, and an unknown field of run', async () => {
    await expect(FlowEngine.create({ flow: [] } as never)).rejects.toThrow(
      /^FlowEngine: there is no option 'flow'\..* Did you mean 'flows'\?$/,
    )
    const { message } = await new FlowEngine({ logger: quiet }).run({ flowName: 'A', message: 'Hi.' } as never)
    expect(message).toMatch(/^There is no field 'message' in the input of a turn\..* Did you mean 'userMessage'\?$/)
  })
})
