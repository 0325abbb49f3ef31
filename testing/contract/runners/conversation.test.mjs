// The same file in every runner: vitest, node:test, Jest, Bun's and Deno's. No runner's `expect` is needed.
import { Flow, finish, go, LogicStep, Step, stay, tool } from 'turnkeeper'
import { Conversation } from 'turnkeeper/testing'
import { test } from './runner.mjs'

class AskName extends Step {
  static id = 'AskName'
  prompt() {
    return 'Ask for the full name, then call capture_name.'
  }
  tools() {
    return [
      tool({
        name: 'capture_name',
        description: 'Record the full name.',
        inputJsonSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        execute: ({ name }) => {
          if (!name.includes(' ')) return stay('First and last name, please.')
          this.state.name = name
          return go(Confirm)
        },
      }),
    ]
  }
}

class Confirm extends LogicStep {
  static id = 'Confirm'
  run(turn) {
    return finish(`Thank you, ${turn.stateOf(AskName).name}.`)
  }
}

class Onboarding extends Flow {
  static id = 'Onboarding'
  model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  steps() {
    return [AskName, Confirm]
  }
}

const capture = (name) => ({ toolCalls: [{ name: 'capture_name', input: { name } }] })

test('the flow asks for a name until it is whole, over a restart and a lost save', async () => {
  const conversation = new Conversation(Onboarding, {
    script: [
      'What is your name?',
      capture('Ada'),
      'And your last name?',
      { failure: 503 },
      { delayMs: 30_000, text: 'One moment.', ...capture('Ada Lovelace') },
    ],
  })
  await conversation.say('Hello')
  conversation.expectReply('What is your name?').expectStep(AskName).expectAsked({ user: 'Hello' })
  await conversation.restart()
  conversation.store.failNext('save', { after: true })
  await conversation.say('Ada')
  conversation.expectToolCalls([{ name: 'capture_name', output: 'First and last name, please.' }])
  const stream = conversation.stream('Ada Lovelace')
  await stream.until('text-delta')
  if (stream.text !== 'One') throw new Error(`It streamed: ${stream.text}`)
  await stream.reply()
  conversation
    .expectState(AskName, { name: 'Ada Lovelace' })
    .expectReply(/^Thank you/)
    .expectCompleted()
  await conversation.close()
})

test('a conversation that goes wrong is red, with its transcript', async () => {
  const conversation = new Conversation(Onboarding, { script: ['What is your name?'] })
  await conversation.say('Hello')
  let failure = ''
  try {
    conversation.expectStep(Confirm)
  } catch (error) {
    failure = error.message
  }
  await conversation.close()
  if (!failure.includes("at 'AskName'") || !failure.includes('User: Hello')) throw new Error(`It said: ${failure}`)
})
