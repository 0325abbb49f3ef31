// Must fail in every runner: a test whose failure goes unnoticed proves nothing.
import { Flow, LogicStep, reply } from 'turnkeeper'
import { Conversation } from 'turnkeeper/testing'
import { test } from './runner.mjs'

class Greet extends LogicStep {
  static id = 'Greet'
  run() {
    return reply('Good evening.')
  }
}

class Greeting extends Flow {
  static id = 'Greeting'
  steps() {
    return [Greet]
  }
}

test('is red', async () => {
  const conversation = new Conversation(Greeting)
  await conversation.say('Hello there')
  conversation.expectReply('Good morning.')
})
