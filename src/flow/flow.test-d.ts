import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  Flow,
  type FlowConstructor,
  FlowEngine,
  type FlowRegistration,
  finish,
  go,
  LogicStep,
  type ModelSelection,
  type SessionDocument,
  Step,
  stay,
  type Turn,
  tool,
} from '../index.js'

// The example of the documentation.

const Name = z.object({ name: z.string().min(1) }) // schemas are module constants: built once

class AskName extends Step<{ name?: string }> {
  static override readonly id = 'AskName'
  override prompt() {
    return 'Ask for the full name, then call capture_name.'
  }
  override tools() {
    return [
      tool({
        name: 'capture_name',
        description: 'Record the full name.',
        input: Name,
        execute: ({ name }) => {
          // name: string, already validated
          if (!name.includes(' ')) return stay('First and last name, please.')
          this.state.name = name
          return go(Confirm)
        },
      }),
    ]
  }
}

class Confirm extends LogicStep {
  static override readonly id = 'Confirm'
  override run(turn: Turn) {
    return finish(`Thank you, ${turn.stateOf(AskName).name}.`)
  }
}

class Onboarding extends Flow {
  static override readonly id = 'Onboarding'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps() {
    return [AskName, Confirm]
  } // the first one is where a session starts
}

test('the example is a flow, and its types are inferred', () => {
  expectTypeOf(Onboarding).toExtend<FlowConstructor>()
  expectTypeOf<typeof Onboarding.id>().toEqualTypeOf<'Onboarding'>()
  expectTypeOf<AskName['state']>().toEqualTypeOf<{ name?: string }>()
  new FlowEngine({ flows: [Onboarding] }).registerFlows({ Onboarding })
})

class Small extends Flow {
  override steps() {
    return [Confirm]
  }
}

test('[2.5-2] a name may be a static field or a static accessor', () => {
  class WithField extends Small {
    static override readonly id = 'with-field'
    static override readonly aliases = ['old']
    static override readonly version = 2
  }
  class WithAccessor extends Small {
    static override get id() {
      return 'with-accessor'
    }
    static override get version() {
      return 2
    }
  }
  expectTypeOf([WithField, WithAccessor]).toExtend<FlowRegistration>()
  expectTypeOf({ 'with-field': WithField }).toExtend<FlowRegistration>()
  expectTypeOf<typeof WithField.version>().toEqualTypeOf<2>()
  expectTypeOf(WithAccessor.id).toEqualTypeOf<string>()
  // @ts-expect-error a version is a number
  class Versioned extends Small {
    static override readonly version = '2'
  }
  void Versioned
})

test('a flow is constructed without arguments', () => {
  class Needy extends Small {
    readonly greeting: string
    constructor(greeting: string) {
      super()
      this.greeting = greeting
    }
  }
  expectTypeOf<typeof Needy>().not.toExtend<FlowConstructor>()
  expectTypeOf<typeof Date>().not.toExtend<FlowConstructor>()
  // @ts-expect-error it has no steps
  class Stepless extends Flow {}
  void Stepless
})

test('what a flow returns is checked', () => {
  class Wrong extends Small {
    // @ts-expect-error a selection names its model
    override model() {
      return { provider: 'openai' }
    }
    // @ts-expect-error a step is a class
    override initialStep() {
      return new Confirm()
    }
    // @ts-expect-error a document, null or nothing
    override onRestore() {
      return 'restored'
    }
  }
  expectTypeOf<Small['model']>().returns.toEqualTypeOf<ModelSelection | readonly ModelSelection[] | undefined>()
  expectTypeOf<Small['onRestore']>().parameter(0).toEqualTypeOf<SessionDocument>()
  expectTypeOf<Small['context']>().toEqualTypeOf<Readonly<Record<string, unknown>>>()
  expectTypeOf<Small['context']>().not.toBeAny()
  void Wrong
})
