import { expectTypeOf, test } from 'vitest'
import {
  type Awaitable,
  EndStep,
  finish,
  go,
  LogicStep,
  reply,
  Step,
  type StepConstructor,
  type Tool,
  type Transition,
  type Turn,
} from '../index.js'

class AskName extends Step<{ name?: string; tries: number }> {
  static override readonly id = 'AskName'
  override initialState() {
    return { tries: 0 }
  }
  override onEnter() {
    expectTypeOf(this.state).not.toBeAny()
    expectTypeOf(this.state).toEqualTypeOf<{ name?: string; tries: number }>()
    // @ts-expect-error there is no such property
    this.state.nickname = 'Ada'
    // @ts-expect-error tries is a number
    this.state.tries = 'one'
  }
}

class Bare extends LogicStep {
  override run(turn: Turn) {
    expectTypeOf(turn.stateOf(AskName)).toEqualTypeOf<{ name?: string; tries: number }>()
    expectTypeOf(turn.stateOf(AskName)).not.toBeAny()
    expectTypeOf(turn.stateOf(Bare)).toEqualTypeOf<object>()
    return finish()
  }
}

test('an ID may be a static field or a static accessor', () => {
  class WithField extends Bare {
    static override readonly id = 'with-field'
    static override readonly aliases = ['old']
  }
  class WithAccessor extends Bare {
    static override get id() {
      return 'with-accessor'
    }
    static override get aliases() {
      return ['old']
    }
  }
  expectTypeOf<typeof WithField.id>().toEqualTypeOf<'with-field'>()
  expectTypeOf(WithAccessor.id).toEqualTypeOf<string>()
  expectTypeOf<[typeof WithField, typeof WithAccessor]>().toExtend<readonly StepConstructor[]>()
  // @ts-expect-error an ID is a text
  class Numbered extends Bare {
    static override readonly id = 7
  }
  void Numbered
})

test('a step has the state that its class names', () => {
  expectTypeOf<AskName['state']>().toEqualTypeOf<{ name?: string; tries: number }>()
  expectTypeOf<Bare['state']>().toEqualTypeOf<object>()
  class Wrong extends LogicStep<{ name: string }> {
    // @ts-expect-error the first value is no number
    override initialState() {
      return { name: 7 }
    }
    override run() {
      return finish()
    }
  }
  class WithField extends LogicStep<{ name: string }> {
    // @ts-expect-error a field would hide the stored state
    override state = { name: 'Ada' }
    override run() {
      return finish()
    }
  }
  void [Wrong, WithField]
})

test('steps of every kind and state are steps of a flow', () => {
  class Bye extends EndStep<{ at: string }> {}
  expectTypeOf<[typeof AskName, typeof Bare, typeof Bye]>().toExtend<readonly StepConstructor[]>()
  expectTypeOf<typeof Date>().not.toExtend<StepConstructor>()
  // A step is constructed without arguments.
  class Needy extends Bare {
    readonly greeting: string
    constructor(greeting: string) {
      super()
      this.greeting = greeting
    }
  }
  expectTypeOf<typeof Needy>().not.toExtend<StepConstructor>()
})

test('hooks may answer at once or later', () => {
  expectTypeOf<Bare['run']>().returns.toEqualTypeOf<Transition>()
  expectTypeOf<LogicStep['run']>().returns.toEqualTypeOf<Awaitable<Transition>>()
  expectTypeOf<Step['tools']>().returns.toEqualTypeOf<Awaitable<readonly Tool[]>>()
  expectTypeOf<Step['onReply']>().returns.toEqualTypeOf<Awaitable<string | Transition>>()
  class Later extends LogicStep {
    override async run() {
      return reply('Later.')
    }
    override async onEnter() {
      return go('Elsewhere')
    }
  }
  class Wrong extends LogicStep {
    // @ts-expect-error run must return a transition
    override run() {
      return 'Hello.'
    }
    // @ts-expect-error onExit may not return one
    override onExit() {
      return go('Elsewhere')
    }
    // @ts-expect-error neither may onRestore
    override async onRestore() {
      return go('Elsewhere')
    }
  }
  void [Later, Wrong]
})

test('a turn can be read, not written', () => {
  const read = (turn: Turn): void => {
    expectTypeOf(turn.message).toEqualTypeOf<string>()
    expectTypeOf(turn.context).not.toBeAny()
    expectTypeOf(turn.services).not.toBeAny()
    expectTypeOf(turn.session.owner).toEqualTypeOf<string | undefined>()
    // @ts-expect-error read-only
    turn.message = 'other'
    // @ts-expect-error read-only
    turn.session.id = 'other'
    // @ts-expect-error read-only
    turn.context.plan = 'paid'
    // @ts-expect-error no step
    turn.stateOf('AskName')
  }
  void read
})
