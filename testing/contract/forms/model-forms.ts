/** Forms that a scripted model reads, and conversations with the appointment of `test-forms.ts`. It asserts nothing. */
import { type FormFields, ModelFormStep } from '../../../src/forms/index.js'
import { type FlowConstructor, finish, type StepConstructor, type Transition } from '../../../src/index.js'
import { Conversation, type ScriptedJson, type ScriptedReply, type ScriptedToolCall } from '../../index.js'
import { flow } from '../side-flows/talk.js'
import { type Bookings, bookings } from './test-forms.js'

/** All answers of the appointment. */
export const complete: Readonly<Record<'repair' | 'day' | 'time' | 'name' | 'phone', string>> = {
  repair: 'brakes',
  day: 'Tuesday',
  time: '9:00',
  name: 'Ada',
  phone: '123',
}

/** What the appointment asks at the review of {@link complete}. */
export const review: string = 'brakes on Tuesday at 9:00, for Ada, phone 123. Right?'

/** A call of `set_fields`. */
export function set(input: ScriptedJson, more: Partial<ScriptedToolCall> = {}): ScriptedReply {
  return { toolCalls: [{ name: 'set_fields', input, ...more }] }
}

/** A form by model, called `Form`, of these fields. By default `done` ends with the values as JSON. */
export function modelForm(fields: FormFields, members: object = {}): StepConstructor {
  return class extends ModelFormStep {
    static override readonly id: string = 'Form'
    constructor() {
      super()
      Object.assign(this, members)
    }
    override fields(): FormFields {
      return fields
    }
    override done(values: object): Transition {
      return finish(`Done: ${JSON.stringify(values)}`)
    }
  }
}

/** A flow, `Shop`, with the scripted model. */
export function modelFlow(
  steps: readonly (StepConstructor | FlowConstructor)[],
  members: Parameters<typeof flow>[2] = {},
): FlowConstructor {
  return flow('Shop', steps, { model: () => ({ provider: 'scripted', name: 'scripted' }), ...members })
}

interface ModelTalk extends Bookings {
  readonly conversation: Conversation
}

/** The appointment by model, after the message `Hello`. */
export async function modelTalk(script: readonly ScriptedReply[]): Promise<ModelTalk> {
  const made = bookings()
  const conversation = new Conversation(made.ModelShop, { script })
  await conversation.say('Hello')
  return { ...made, conversation }
}

/** The appointment by model, at its first question. */
export function begun(...script: readonly ScriptedReply[]): Promise<ModelTalk> {
  return modelTalk(['ok', ...script])
}

/** The appointment by model, at the review of {@link complete}. */
export function reviewed(...script: readonly ScriptedReply[]): Promise<ModelTalk> {
  return modelTalk([set(complete), 'ok', ...script])
}
