/** What `expect(conversation)` takes, and what does not compile. */
import { expect } from 'vitest'
import { z } from 'zod'
import { Flow, LogicStep, type StepConstructor, stay, type Transition } from '../../src/index.js'
import { Conversation } from '../index.js'
import { type ConversationMatchers, matchers } from './index.js'

class AskName extends LogicStep<{ name?: string; tries: number }> {
  static override readonly id = 'AskName'
  override initialState(): { tries: number } {
    return { tries: 0 }
  }
  override run(): Transition {
    return stay()
  }
}

class Names extends Flow {
  static override readonly id = 'Names'
  override steps(): readonly StepConstructor[] {
    return [AskName]
  }
}

const conversation = new Conversation(Names)

expect(conversation).toHaveReplied('a')
expect(conversation).toHaveReplied(/a/)
expect(conversation).toHaveReplied(z.object({}))
expect(conversation).toBeAtStep(AskName)
expect(conversation).toBeAtStep('AskName')
expect(conversation).toHaveState(AskName, { name: /A/ })
expect(conversation).toHaveState(AskName, { name: undefined, tries: 1 })
expect(conversation).toBeCompleted()
expect(conversation).toHaveCalledTools(['a', { name: 'b', input: {} }])
expect(conversation).toHaveAskedModel({ system: /a/, call: 1 })
expect(conversation).toHaveFailedWith('TOOL_ERROR', /a/)
expect.soft(conversation).toBeAtStep(AskName)
expect.extend(matchers)
expect.extend({ toBeMine: (received: unknown) => ({ pass: received === 1, message: () => '' }) })

// @ts-expect-error a mistyped property
expect(conversation).toHaveState(AskName, { nmae: 'A' })
// @ts-expect-error a property of another type
expect(conversation).toHaveState(AskName, { tries: 'one' })
// @ts-expect-error no step
expect(conversation).toBeAtStep(5)
// @ts-expect-error no reply
expect(conversation).toHaveReplied(5)
// @ts-expect-error a mistyped code
expect(conversation).toHaveFailedWith('TOOL_EROR')
// @ts-expect-error a mistyped property
expect(conversation).toHaveAskedModel({ sytem: 'a' })
// @ts-expect-error a mistyped property
expect(conversation).toHaveCalledTools([{ nmae: 'a' }])
// @ts-expect-error no conversation
expect('a text').toBeAtStep(AskName)
// @ts-expect-error no conversation
expect(conversation.reply).toHaveReplied('a')

type IsAny<T> = 0 extends 1 & T ? true : false
export const isAny: IsAny<ConversationMatchers<Conversation>['toHaveState']> = false
