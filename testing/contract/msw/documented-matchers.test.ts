import { Flow, finish, LogicStep, reply, type Turn } from 'turnkeeper'
import { Conversation } from 'turnkeeper/testing'
import 'turnkeeper/testing/vitest'
import { expect, test } from 'vitest'

class AskName extends LogicStep<{ name?: string }> {
  static override readonly id = 'AskName'
  override run(turn: Turn) {
    if (turn.entered) return reply('What is your name?')
    this.state.name = turn.message
    return finish(`Hello, ${turn.message}!`)
  }
}

class Greeting extends Flow {
  static override readonly id = 'Greeting'
  override steps() {
    return [AskName]
  }
}

test('greets', async () => {
  await using conversation = new Conversation(Greeting)
  await conversation.say('Hi')
  expect(conversation).toHaveReplied('What is your name?')
  expect(conversation).toBeAtStep(AskName)

  await conversation.say('Ada')
  expect(conversation).toHaveState(AskName, { name: 'Ada' })
  expect(conversation).toBeCompleted()
})
