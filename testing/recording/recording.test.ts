// A stored session as a test: what is read from its document, what is refused and why, and what a changed flow shows.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { rollingSummary, slidingWindow } from '../../src/compaction/index.js'
import {
  Flow,
  type FlowCompaction,
  type FlowConstructor,
  finish,
  go,
  HttpContentType,
  LogicStep,
  reply,
  retry,
  type SessionDocument,
  Step,
  type StepConstructor,
  stay,
  ToolError,
  type Turn,
  tool,
} from '../../src/index.js'
import { Conversation } from '../conversation/conversation.js'
import type { ConversationOptions } from '../conversation/conversation-options.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import type { RecordedTurn } from './recorded-turn.js'
import { type Recording, recordingOf, replay } from './recording.js'

const Name = z.object({ name: z.string() })

class AskName extends Step<{ name?: string; tries?: number }> {
  static override readonly id: string = 'AskName'
  override initialState() {
    return { tries: 0 }
  }
  override tools() {
    return [
      tool({
        name: 'capture_name',
        description: 'Record the full name.',
        input: Name,
        execute: ({ name }) => this.capture(name),
      }),
    ]
  }
  capture(name: string): unknown {
    this.state.tries = (this.state.tries ?? 0) + 1
    if (!name.includes(' ')) throw new ToolError('First and last name, please.')
    this.state.name = name
    return go(AskColour)
  }
}
class AskColour extends Step {
  static override readonly id: string = 'AskColour'
  override onReply(text: string, turn: Turn) {
    if (text === 'Bye') return finish(`Bye, ${turn.stateOf(AskName).name}.`)
    return text === 'Hm.' ? retry('Say something.') : text
  }
}
class Onboarding extends Flow {
  static override readonly id: string = 'Onboarding'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps(): StepConstructor[] {
    return [AskName, AskColour]
  }
}

const capture = (name: string) => ({ text: 'One moment.', toolCalls: [{ name: 'capture_name', input: { name } }] })

/** A stored session: what the user said, over what the model answered. */
async function stored(
  flow: FlowConstructor,
  script: NonNullable<ConversationOptions['script']>,
  said: readonly string[],
  options: ConversationOptions = {},
): Promise<SessionDocument> {
  await using conversation = new Conversation(flow, { ...options, script })
  for (const text of said) {
    await conversation.say(text)
    await conversation.advance(60_000)
  }
  return conversation.document()
}

/** Three turns: a refused name, a name and a move, an answer that is requested again, and the end. */
const onboarding = (): Promise<SessionDocument> =>
  stored(
    Onboarding,
    ['Your name?', capture('Ada'), 'And the last one?', capture('Ada Lovelace'), 'Hm.', 'Your colour?', 'Bye'],
    ['Hello', 'Ada', 'Ada Lovelace', 'blue'],
    { config: { tenant: 'north' }, owner: 'ada' },
  )

/** The document with some of it changed, as a JSON text may be. */
function changed(document: SessionDocument, change: (draft: Draft) => unknown): SessionDocument {
  const draft = JSON.parse(JSON.stringify(document))
  change(draft)
  return draft
}

/** What `run` fails with. */
function failureOf(run: () => unknown): string {
  try {
    run()
    return 'no failure'
  } catch (error) {
    return (error as Error).message
  }
}

/** A document that can be written to. */
type Draft = {
  -readonly [Key in keyof SessionDocument]: SessionDocument[Key]
} & {
  history: SessionDocument['history'][number][]
  usage: { modelCalls: number }
  flow: {
    memory: Record<string, { messages: { role: string; parts: unknown[]; turn: number }[] }>
    currentStep: string
  }
}

describe('a session whose memory was shortened', () => {
  class Chat extends Step {
    static override readonly id = 'Chat'
    override tools() {
      return [tool({ name: 'note', description: 'Notes it.', execute: () => 'Noted.' })]
    }
  }
  const talkWith = (compaction: FlowCompaction) =>
    class Talk extends Flow {
      static override readonly id = 'Talk'
      static override readonly compaction = compaction
      override model() {
        return { provider: 'openai', name: 'gpt-5-mini' }
      }
      override steps(): StepConstructor[] {
        return [Chat]
      }
    }
  const summary = { Chat: rollingSummary({ above: 4, keep: 2, model: { provider: 'small', name: 'gpt-5-nano' } }) }
  const policies: [string, FlowCompaction][] = [
    ['summaries', summary],
    ['a window', { Chat: slidingWindow({ keep: 2, above: 4 }) }],
  ]
  async function session(flow: FlowConstructor, isNoting = false): Promise<SessionDocument> {
    let calls = 0
    await using conversation = new Conversation(flow, {
      script: (request) => {
        if (request.origin.stepId !== 'Chat') return 'What was said.'
        const isFirst = isNoting && request.origin.turnNumber === 1 && calls++ === 0
        return isFirst ? { toolCalls: [{ name: 'note' }] } : `Reply ${request.origin.turnNumber}.`
      },
    })
    for (const text of ['one', 'two', 'three', 'four', 'five']) await conversation.say(text)
    return conversation.document()
  }

  test.each(policies)('by %s is recorded with the replies of its history, and replayed', async (_title, compaction) => {
    const flow = talkWith(compaction)
    const document = await session(flow)
    expect(document.flow.memory.Chat?.messages.length).toBeLessThan(10)
    const recording: Recording = JSON.parse(JSON.stringify(recordingOf(document)))
    expect(recording.turns[0]).toMatchObject({
      shortened: true,
      replies: { Chat: [[{ type: 'text', text: 'Reply 1.' }]] },
      messages: {},
    })
    expect(recording.turns[4]).not.toHaveProperty('shortened')
    const replayed = await replay(flow, recording)
    expect(replayed.flow.memory).toEqual(document.flow.memory)
  })

  test('says what may be missing if the replay differs', async () => {
    const flow = talkWith(summary)
    const recording = recordingOf(await session(flow))
    class Loud extends flow {
      override steps() {
        return [
          class extends Chat {
            static override readonly id = 'Chat'
            override onReply(text: string) {
              return text.toUpperCase()
            }
          },
        ]
      }
    }
    await expect(replay(Loud, recording)).rejects.toThrow(
      /of turn 1, [\d, ]+ only the message and the reply are left\. If a model called tools there, record the session before/,
    )
  })

  test('is replayed before it is shortened, too', async () => {
    const flow = talkWith({ Chat: rollingSummary({ above: 40, keep: 2, model: { provider: 'small', name: 'nano' } }) })
    const document = await session(flow, true)
    const recording = recordingOf(document)
    expect(recording.turns.some(({ shortened }) => shortened)).toBe(false)
    expect((await replay(flow, recording)).flow.memory).toEqual(document.flow.memory)
  })
})

describe('recordingOf', () => {
  test('gives the turns of the user and the replies of the model, tool calls and retries among them', async () => {
    const recording = recordingOf(await onboarding())
    expect(recording.turns.map(({ said }) => said)).toEqual(['Hello', 'Ada', 'Ada Lovelace', 'blue'])
    expect(recording.script).toEqual({
      AskName: [
        { text: 'Your name?' },
        {
          text: 'One moment.',
          toolCalls: [{ name: 'capture_name', input: { name: 'Ada' }, id: 'call-1', offered: false }],
        },
        { text: 'And the last one?' },
        {
          text: 'One moment.',
          toolCalls: [{ name: 'capture_name', input: { name: 'Ada Lovelace' }, id: 'call-2', offered: false }],
        },
      ],
      AskColour: [{ text: 'Hm.' }, { text: 'Your colour?' }, { text: 'Bye' }],
    })
    expect(recording).toMatchObject({
      flow: 'Onboarding',
      config: { tenant: 'north' },
      owner: 'ada',
      completed: true,
      states: { AskName: { name: 'Ada Lovelace', tries: 2 }, AskColour: {}, End: {} },
    })
  })

  test('distinguishes calls with one ID by their order: an ID is unique within one answer', async () => {
    const call = (name: string) => ({ toolCalls: [{ name: 'capture_name', input: { name }, id: 'call-0' }] })
    const document = await stored(
      Onboarding,
      [call('Ada'), call('Bo'), call('Ada Lovelace'), 'Your colour?'],
      ['Hello'],
    )
    const [turn] = recordingOf(document).turns
    expect(turn?.toolCalls.map(({ output }) => output)).toEqual([
      'First and last name, please.',
      'First and last name, please.',
      'Done.',
    ])
    await replay(Onboarding, recordingOf(document))
  })

  test('is plain JSON, and its script plays a conversation', async () => {
    const recording = recordingOf(await onboarding())
    expect(JSON.parse(JSON.stringify(recording))).toEqual(recording)
    await using conversation = new Conversation(Onboarding, { script: recording.script })
    for (const { said } of recording.turns) await conversation.say(said)
    conversation.expectReply('Bye, Ada Lovelace.').expectCompleted()
  })

  test('refuses what is not there', () => {
    expect(() => recordingOf(undefined)).toThrowErrorMatchingInlineSnapshot(
      `[ExpectationError: There is no session to record: the store has none by that ID.]`,
    )
  })

  test('refuses what is not a session document, and says what is missing', () => {
    expect(() => recordingOf({} as never)).toThrow(
      new ExpectationError(
        'recordingOf: the session document is not whole. Missing, or of another type: id, createdAt, runStatus, error, usage, flow.\nengine.getSession(sessionId) returns a whole one.',
      ),
    )
    expect(() => recordingOf({} as never, { ownReply: [1] } as never)).toThrow(
      "recordingOf: there is no option 'ownReply'. The options are ownReplies, failedAttempts, payloads.",
    )
    expect(() => recordingOf('session-1' as never)).toThrow('recordingOf: the session document is not whole.')
    expect(() => recordingOf(onboarding() as never)).toThrow(
      new ExpectationError('recordingOf: the session document is a promise: await it first.'),
    )
  })

  test('refuses an aborted session', async () => {
    await using conversation = new Conversation(Onboarding, { script: ['Hello', new Error('down')] })
    await conversation.say('Hello')
    await conversation.say('again')
    conversation.expectError('MODEL_ERROR')
    const document = await conversation.document()
    expect(() => recordingOf(document)).toThrowErrorMatchingInlineSnapshot(
      `[ExpectationError: Session 'session-1' cannot be recorded: it was aborted (Model 'gpt-5-mini' of provider 'openai' failed.). Nothing of the failed turn is stored: neither its message nor the answers of models.]`,
    )
  })

  const damages: [string, (draft: Draft) => unknown][] = [
    ['no history', (draft) => draft.history.splice(0)],
    ['the first turn gone', (draft) => draft.history.shift()],
    ['a turn in the middle gone', (draft) => draft.history.splice(1, 1)],
    ['the last turn gone', (draft) => draft.history.pop()],
    [
      'a turn twice',
      (draft) => {
        draft.history.splice(1, 1, ...draft.history.slice(0, 1))
      },
    ],
    [
      'messages of a turn that is not there',
      (draft) => {
        for (const message of draft.flow.memory.AskColour?.messages ?? []) message.turn += 3
      },
    ],
    ['messages in another order', (draft) => draft.flow.memory.AskName?.messages.reverse()],
    ['a namespace gone', (draft) => delete draft.flow.memory.AskColour],
    ['what the user said gone', (draft) => draft.flow.memory.AskName?.messages.splice(2, 1)],
    ['a tool call gone', (draft) => draft.flow.memory.AskName?.messages.splice(3, 1)],
    ['the result of a tool gone', (draft) => draft.flow.memory.AskName?.messages.splice(4, 1)],
    ['the last result of a tool gone', (draft) => draft.flow.memory.AskName?.messages.splice(-1, 1)],
    ['the answer to a retry gone', (draft) => draft.flow.memory.AskColour?.messages.splice(3, 1)],
    ['fewer model calls', (draft) => (draft.usage.modelCalls -= 3)],
  ]

  test('refuses a session of whose turns it is not clear in which shortened memory they were', async () => {
    const document = changed(await onboarding(), ({ flow }) => {
      const memory = flow.memory.AskName
      memory?.messages.splice(0, 2)
      delete flow.memory.AskName
      Object.assign(flow.memory, { Both: memory })
    })
    expect(failureOf(() => recordingOf(document))).toBe(
      "Session 'session-1' cannot be recorded: the messages of turn 1 are gone, and it is not clear in which memory step 'AskName' had them (AskColour, Both). Record sessions with such a step before their memory is shortened.",
    )
  })

  test('refuses a session that is not whole, and says what is missing', async () => {
    const document = await onboarding()
    const texts = damages.map(([what, change]) => {
      return `${what}: ${failureOf(() => recordingOf(changed(document, change)))}`
    })
    expect(texts.join('\n')).toMatchInlineSnapshot(`
      "no history: Session 'session-1' cannot be recorded: no turn of it is stored.
      the first turn gone: Session 'session-1' cannot be recorded: its history is not whole: turn 1 is missing (entry 1 is turn 2).
      a turn in the middle gone: Session 'session-1' cannot be recorded: its history is not whole: turn 2 is missing (entry 2 is turn 3).
      the last turn gone: Session 'session-1' cannot be recorded: its history ends in step 'AskColour', and its current step is 'End': turns are missing.
      a turn twice: Session 'session-1' cannot be recorded: its history is not whole: turn 1 is there twice (entry 2 is turn 1).
      messages of a turn that is not there: Session 'session-1' cannot be recorded: its memory has messages of turn 6 in namespace 'AskColour', and its history has 4 turns.
      messages in another order: Session 'session-1' cannot be recorded: the messages of turn 3 in namespace 'AskName' are not whole: they do not begin with what the user said.
      a namespace gone: Session 'session-1' cannot be recorded: turn 3 ended in model step 'AskColour', and no namespace has its reply "Your colour?": messages are missing.
      what the user said gone: Session 'session-1' cannot be recorded: the messages of turn 2 in namespace 'AskName' are not whole: they do not begin with what the user said.
      a tool call gone: Session 'session-1' cannot be recorded: the messages of turn 2 in namespace 'AskName' are not whole: the result of 'capture_name' (call-1) has no call.
      the result of a tool gone: Session 'session-1' cannot be recorded: the messages of turn 2 in namespace 'AskName' are not whole: the tool call call-1 has no result.
      the last result of a tool gone: Session 'session-1' cannot be recorded: the messages of turn 3 in namespace 'AskName' are not whole: the tool call call-2 has no result.
      the answer to a retry gone: Session 'session-1' cannot be recorded: the messages of turn 3 in namespace 'AskColour' are not whole: they end with a message that has no answer.
      fewer model calls: Session 'session-1' cannot be recorded: it counts 4 model calls, and its memory has 8 replies. The flow itself can have made no fewer than 1 and no more than 3 of these, which does not fit: messages are missing, or were changed."
    `)
  })
})

/** Answers some things itself, in the middle of a model step. */
class AskPlan extends Step {
  static override readonly id: string = 'AskPlan'
  override tools() {
    return [
      tool({ name: 'show_plans', description: 'All of them.', execute: () => reply('S, M or L.') }),
      tool({ name: 'count_plans', description: 'How many.', execute: () => ({ plans: 3 }) }),
      tool({ name: 'to_text', description: 'In words.', execute: () => stay('three') }),
    ]
  }
}
class Plans extends Onboarding {
  static override readonly id: string = 'Plans'
  override steps(): StepConstructor[] {
    return [AskPlan]
  }
}
const call = (name: string) => ({ toolCalls: [{ name }] })

describe('replies that no model made', () => {
  const plans = (): Promise<SessionDocument> =>
    stored(Plans, ['Hello.', call('show_plans'), call('count_plans'), 'Three.'], ['Hi', 'plans?', 'how many?'])

  test('are distinguished from those of a model if the document allows it, and must be named if not', async () => {
    const document = await plans()
    expect(() => recordingOf(document)).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: Session 'session-1' cannot be recorded: 1 reply of these 2 the flow made itself, without a model, and the document does not tell which:
        turn 1: "Hello."
        turn 2: "S, M or L."
      Name the turns in which the flow answered itself: recordingOf(document, { ownReplies: [1] }).]
    `)
    expect(recordingOf(document, { ownReplies: [2] }).turns.map(({ replies }) => replies.AskPlan?.length)).toEqual([
      1, 1, 2,
    ])
  })

  test('and are not taken from a wrong answer', async () => {
    const document = await plans()
    const answers = [[], [1, 2], [3], [2, 3]]
    const texts = answers.map((ownReplies) => failureOf(() => recordingOf(document, { ownReplies })))
    expect(texts.join('\n')).toMatchInlineSnapshot(`
      "Session 'session-1' cannot be recorded: ownReplies names 0 replies as the flow's own, but by the number of model calls there is 1. The candidates are turns 1, 2. If attempts at calls failed, name their number: recordingOf(document, { ownReplies, failedAttempts: 1 }).
      Session 'session-1' cannot be recorded: ownReplies names 2 replies as the flow's own, but by the number of model calls there is 1. The candidates are turns 1, 2. If attempts at calls failed, name their number: recordingOf(document, { ownReplies, failedAttempts: 1 }).
      Session 'session-1' cannot be recorded: ownReplies names turn 3, and no reply of it can be the flow's own.
      Session 'session-1' cannot be recorded: ownReplies names turn 3, and no reply of it can be the flow's own."
    `)
  })

  test('are all possible ones, if that many were made', async () => {
    const document = await stored(Plans, [call('show_plans'), call('show_plans')], ['plans?', 'again?'])
    expect(recordingOf(document).script.AskPlan).toHaveLength(2)
  })

  test('are those of a step that no model ever answered for', async () => {
    class Silent extends Step {
      static override readonly id = 'Silent'
      override onEnter() {
        return reply('I say this myself.')
      }
    }
    class Mixed extends Plans {
      override steps() {
        return [Starts, Silent, AskPlan]
      }
    }
    class Starts extends LogicStep {
      static override readonly id = 'Starts'
      override run(turn: Turn) {
        return turn.message === 'plans?' ? go(AskPlan) : go(Silent)
      }
    }
    class Talks extends Mixed {
      override steps() {
        return [AskPlan, Starts, Silent]
      }
    }
    const document = await stored(Mixed, [], ['Hi'])
    expect(recordingOf(document).script).toEqual({})
    const talked = await stored(Talks, ['Hello.'], ['Hi'])
    expect(recordingOf(talked).script).toEqual({ AskPlan: [{ text: 'Hello.' }] })
  })

  test('are bytes, of which memory has only the type', async () => {
    class Draws extends AskPlan {
      override tools() {
        const execute = () => reply('aGk=').withContentType('image/png', { encoding: 'base64' })
        return [tool({ name: 'draw', description: 'A picture.', execute })]
      }
    }
    class Drawing extends Plans {
      override steps() {
        return [Draws]
      }
    }
    const document = await stored(Drawing, [call('draw')], ['draw'])
    const recording = recordingOf(document)
    expect(recording.script).toEqual({
      AskPlan: [{ toolCalls: [{ name: 'draw', input: {}, id: 'call-1', offered: false }] }],
    })
    expect(await replay(Drawing, recording)).toMatchObject({ history: [{ encoding: 'base64' }] })
  })
})

describe('a model that failed', () => {
  const busy = { failure: { statusCode: 429, retryAfterMs: 2000 } }
  const cut = { text: 'Your name', cutAfter: 1 }

  test('and answered at another attempt is recorded as its answer, and replayed', async () => {
    const document = await stored(
      Onboarding,
      [busy, cut, 'Your name?', busy, capture('Ada Lovelace'), 'Bye'],
      ['Hi', 'Ada'],
    )
    expect([document.usage.modelCalls, document.runStatus]).toEqual([6, 'completed'])
    const recording = recordingOf(document)
    expect(recording.turns.map(({ replies }) => replies)).toMatchObject([
      { AskName: [[{ text: 'Your name?' }]] },
      { AskName: [[{ type: 'text' }, { type: 'tool-call' }]], AskColour: [[{ text: 'Bye' }]] },
    ])
    expect((await replay(Onboarding, recording)).usage.modelCalls).toBe(3)
  })

  test('is one more reason why a document does not show who answered', async () => {
    const document = await stored(Plans, [busy, 'Hello.', call('show_plans')], ['Hi', 'plans?'])
    await expect(replay(Plans, recordingOf(document))).rejects.toThrow('1 reply for memory')
    const ownReplies = [2]
    expect(failureOf(() => recordingOf(document, { ownReplies }))).toContain(
      'If attempts at calls failed, name their number: recordingOf(document, { ownReplies, failedAttempts: 1 }).',
    )
    expect(failureOf(() => recordingOf(document, { failedAttempts: 3 }))).toContain(
      'it counts 3 model calls, 3 of which failed, and its memory has 3 replies. The flow itself can have made no fewer than 0 and no more than 2',
    )
    await replay(Plans, recordingOf(document, { ownReplies, failedAttempts: 1 }))
  })

  test('that is permanent is replayed if the flow had its own answer', async () => {
    class Careful extends AskName {
      override onModelError() {
        return reply('Later, please.')
      }
    }
    class CarefulOnboarding extends Onboarding {
      override steps() {
        return [Careful, AskColour]
      }
    }
    class Changed extends Careful {
      override onModelError() {
        return reply('Not now.')
      }
    }
    class ChangedOnboarding extends CarefulOnboarding {
      override steps() {
        return [Changed, AskColour]
      }
    }
    const document = await stored(
      CarefulOnboarding,
      ['Your name?', new Error('down'), 'Your name?'],
      ['Hi', 'Ada', 'Ada'],
    )
    const recording = recordingOf(document, { ownReplies: [2], failedAttempts: 1 })
    expect(recording.turns.map(({ reply: text }) => text)).toEqual(['Your name?', 'Later, please.', 'Your name?'])
    await replay(CarefulOnboarding, recording)
    await expect(replay(ChangedOnboarding, recording)).rejects.toThrow(
      "asks a model once more than was recorded for memory 'AskName'",
    )
  })

  test('and a turn that was streamed are recorded like any other', async () => {
    await using conversation = new Conversation(Onboarding, {
      script: [cut, 'Your name?', capture('Ada Lovelace'), 'Bye'],
    })
    for (const text of ['Hi', 'Ada Lovelace']) await conversation.stream(text).reply()
    const document = await conversation.document()
    expect((await replay(Onboarding, recordingOf(document))).flow).toEqual(document.flow)
  })
})

describe('images and files that the user sent', () => {
  const photo = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const
  const manual = { type: 'file', mediaType: 'application/pdf', url: 'https://shop.example/manual.pdf' } as const

  class Look extends Step<{ seen?: number }> {
    static override readonly id: string = 'Look'
    override tools() {
      return [
        tool({
          name: 'look',
          description: 'Look at it.',
          execute: (_input, turn) => {
            this.state.seen = (this.state.seen ?? 0) + turn.attachments.length
            return go(Judge).withMessage('Judge it.')
          },
        }),
      ]
    }
  }
  class Judge extends Step {
    static override readonly id: string = 'Judge'
  }
  class Desk extends Flow {
    static override readonly id: string = 'Desk'
    override model() {
      return { provider: 'openai', name: 'gpt-5-mini' }
    }
    override steps(): StepConstructor[] {
      return [Look, Judge]
    }
  }

  async function withAttachments(): Promise<SessionDocument> {
    await using conversation = new Conversation(Desk, {
      script: ['What is it?', { toolCalls: [{ name: 'look' }] }, 'A teapot.', 'Yes.'],
    })
    await conversation.say('Hello')
    await conversation.say('', { attachments: [photo, manual] })
    await conversation.say('Thanks')
    return conversation.document()
  }

  test('are in the recording, once for the turn, however many memories have them', async () => {
    const { turns } = recordingOf(await withAttachments())
    expect(turns.map((turn) => turn.attachments)).toEqual([undefined, [photo, manual], undefined])
    expect(turns.map((turn) => 'attachments' in turn)).toEqual([false, true, false])
  })

  test('are sent again when it is replayed, also if their message had no text', async () => {
    const document = await withAttachments()
    const recording = JSON.parse(JSON.stringify(recordingOf(document)))
    const { flow } = await replay(Desk, recording)
    expect(flow.memory).toEqual(document.flow.memory)
    expect(flow.steps.Look?.state).toEqual({ seen: 2 })
  })

  /** A session in which photos came in the turns 1 and 2, and nothing in those after. */
  async function photosFirst(turns: number, options: ConversationOptions = {}): Promise<SessionDocument> {
    await using conversation = new Conversation(Desk, { ...options, script: () => 'Nice.' })
    for (let turn = 1; turn <= turns; turn++) {
      const data = 'AAAA'.repeat(turn)
      await conversation.say(`Photo ${turn}`, turn > 2 ? {} : { attachments: [{ ...photo, data }] })
    }
    return conversation.document()
  }

  test('whose bytes were removed cannot be sent again: the session is refused, with the option that keeps them', async () => {
    const document = await photosFirst(3)
    expect(failureOf(() => recordingOf(document))).toBe(
      "Session 'session-1' cannot be recorded: the bytes of the image of turn 1 were removed. Record sessions with limits: { attachmentTurns: Infinity, maxSessionBytes: Infinity }.",
    )
  })

  test('of a long session are all there with attachmentTurns: Infinity, and its replay ends with the same memory', async () => {
    const options = { limits: { attachmentTurns: Number.POSITIVE_INFINITY } }
    const document = await photosFirst(5, options)
    const recording = JSON.parse(JSON.stringify(recordingOf(document)))
    expect(recording.turns.map(({ attachments }: RecordedTurn) => attachments?.[0])).toEqual([
      { ...photo, data: 'AAAA' },
      { ...photo, data: 'AAAAAAAA' },
      undefined,
      undefined,
      undefined,
    ])
    // References have the same names, whether or not the replay keeps their bytes as long.
    const replayed = await replay(Desk, recording)
    expect(replayed.flow.memory).toEqual(document.flow.memory)
    expect(replayed.attachments).toEqual([])
    expect((await replay(Desk, recording, options)).attachments).toEqual(document.attachments)
  })

  test('are refused by the limits of the replay, like any others', async () => {
    const recording = recordingOf(await withAttachments())
    await expect(replay(Desk, recording, { limits: { maxAttachmentBytes: 10 } })).rejects.toThrow(
      /failed with LIMIT_EXCEEDED/,
    )
  })
})

describe('replay', () => {
  test('is content with the flow that was recorded, and ends with the same session', async () => {
    const document = await onboarding()
    const replayed = await replay(Onboarding, JSON.parse(JSON.stringify(recordingOf(document))))
    expect({ ...replayed, revision: '' }).toEqual({ ...document, revision: '' })
  })

  test('gives each turn the ID that it had', async () => {
    const document = await onboarding()
    const recording = recordingOf(document)
    const ids = document.history.map(({ id }) => id)
    expect(recording.turns.map(({ id }) => id)).toEqual(ids)
    expect((await replay(Onboarding, recording)).history.map(({ id }) => id)).toEqual(ids)
    // Turns that no engine wrote need not have one: any will do.
    const older = recordingOf({ ...document, history: document.history.map(({ id: _id, ...entry }) => entry) })
    expect(older.turns.some((turn) => 'id' in turn)).toBe(false)
    expect((await replay(Onboarding, older)).turns).toBe(document.turns)
  })

  test('runs doubles in place of tools that must not run, new ones for each session', async () => {
    const recording = recordingOf(await onboarding())
    const captured: string[] = []
    class AskSafely extends AskName {
      override capture(name: string): unknown {
        captured.push(name)
        return go(AskColour)
      }
    }
    class Safe extends Onboarding {
      override steps(): StepConstructor[] {
        return [AskSafely, AskColour]
      }
    }
    const tools = { capture_name: [new ToolError('First and last name, please.'), go(AskColour)] }
    // The doubles write no state, which is what differs at the end.
    for (const _session of [1, 2]) await expect(replay(Safe, recording, { tools })).rejects.toThrow('at turn 4 of 4')
    expect(captured).toEqual([])
  })

  test('fails with the error of the flow as its cause', async () => {
    const broken = new RangeError('No such plan')
    class Broken extends Plans {
      override onMessage(): never {
        throw broken
      }
    }
    const recording = recordingOf(await stored(Plans, () => 'Which plan?', ['Hello']))
    await expect(replay(Broken, recording)).rejects.toMatchObject({
      cause: broken,
      message: expect.stringMatching(/failed with FLOW_ERROR: No such plan\n {4}\+ {3}at .*recording\.test\.ts:/),
    })
  })

  test('and a recording have no use for a session that lost its oldest turns', async () => {
    const said = ['Hello', 'Ada', 'Ada', 'Ada', 'Ada']
    const document = await stored(Plans, () => 'Which plan?', said, { limits: { maxHistoryTurns: 4 } })
    expect(failureOf(() => recordingOf(document))).toBe(
      "Session 'session-1' cannot be recorded: its history is not whole: turn 1 is missing (entry 1 is turn 3).",
    )
  })

  test('is content with a flow and steps that were only renamed', async () => {
    class AskFullName extends AskName {
      static override readonly id = 'AskFullName'
      static override readonly aliases = ['AskName']
    }
    class AskHue extends Step {
      static override readonly id = 'AskColour'
      override onReply(text: string, turn: Turn) {
        if (text === 'Bye') return finish(`Bye, ${turn.stateOf(AskFullName).name}.`)
        return text === 'Hm.' ? retry('Say something.') : text
      }
    }
    class Renamed extends Onboarding {
      static override readonly id = 'Renamed'
      static override readonly aliases = ['Onboarding']
      override steps() {
        return [AskFullName, AskHue]
      }
    }
    await replay(Renamed, recordingOf(await onboarding()))
  })

  test('gives each step of a shared memory what was said to it, in its order', async () => {
    class First extends AskName {
      override readonly memory: string = 'talk'
      override capture() {
        return go(Second)
      }
    }
    class Second extends Step {
      static override readonly id = 'Second'
      override readonly memory: string = 'talk'
    }
    const flow = like(First, Second)
    const document = await stored(flow, ['Hi.', capture('Ada'), 'Your colour?', 'Nice.'], ['Hello', 'Ada', 'blue'])
    const recording = recordingOf(document)
    expect(Object.keys(recording.script)).toEqual(['talk'])
    await replay(flow, recording)
    await expect(
      replay(
        like(
          First,
          class extends Second {
            override readonly memory = 'other'
          },
        ),
        recording,
      ),
    ).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: Session 'session-1' of flow 'Onboarding', replayed, differs at turn 2 of 3.

        User: "Ada"

        model calls
          + step 'Second' asks a model once more than was recorded for memory 'other'
          + it last received: "Ada"

        - as recorded, + as replayed

      Correct the flow, or record the session again if the change is intended.]
    `)
  })

  test('refuses what is neither a flow nor a recording', async () => {
    const untyped = replay as (...values: unknown[]) => Promise<unknown>
    await expect(untyped()).rejects.toThrow('replay: the flow must be a class that extends Flow; got undefined.')
    await expect(untyped(Onboarding)).rejects.toThrow(
      new ExpectationError(
        'replay: the recording is not whole. Missing, or of another type: flow, sessionId, startedAt, completed, states, context, a turn.\nrecordingOf(document) returns a whole one.',
      ),
    )
    await expect(untyped(Onboarding, await onboarding())).rejects.toThrow(
      new ExpectationError(
        'replay: the recording is a session document, and not a recording of one: pass recordingOf(document).',
      ),
    )
    await expect(untyped(Onboarding, onboarding())).rejects.toThrow(
      new ExpectationError('replay: the recording is a promise: await it first.'),
    )
  })

  test('refuses another flow', async () => {
    const recording = recordingOf(await onboarding())
    await expect(replay(Plans, recording)).rejects.toThrowErrorMatchingInlineSnapshot(
      `[ExpectationError: The recording is of flow 'Onboarding', and not of 'Plans' or a former name of it.]`,
    )
  })

  /** A flow like Onboarding, with other steps. */
  const like = (...steps: StepConstructor[]): FlowConstructor =>
    class extends Onboarding {
      override steps() {
        return steps
      }
    }

  const changes: [string, FlowConstructor][] = [
    [
      'a reply and a step',
      like(
        class extends AskName {
          override capture(name: string) {
            super.capture(name)
            return go(AskColour).withReply('Thank you.')
          }
        },
        AskColour,
      ),
    ],
    [
      'the result of a tool',
      like(
        class extends AskName {
          override capture(name: string) {
            if (!name.includes(' ')) this.state.tries = 1
            return name.includes(' ') ? super.capture(name) : { ok: false }
          }
        },
        AskColour,
      ),
    ],
    [
      'one state at the end',
      like(
        class extends AskName {
          override capture(name: string) {
            this.state.tries = 7
            return super.capture(name)
          }
        },
        AskColour,
      ),
    ],
    [
      'what an onReply makes of an answer',
      like(
        AskName,
        class extends AskColour {
          override onReply(text: string, turn: Turn) {
            const answer = super.onReply(text, turn)
            return typeof answer === 'string' ? `${answer} (Say it in one word.)` : answer
          }
        },
      ),
    ],
    [
      'what the model receives after a mistake',
      like(
        AskName,
        class extends AskColour {
          override onReply(text: string, turn: Turn) {
            return text === 'Hm.' ? retry('Speak up.') : super.onReply(text, turn)
          }
        },
      ),
    ],
    [
      'a content type',
      like(
        class extends AskName {
          override capture(name: string) {
            const moved = super.capture(name)
            return moved === undefined ? moved : go(AskColour).withContentType(HttpContentType.Html)
          }
        },
        AskColour,
      ),
    ],
    [
      'one model call more',
      like(
        class extends AskName {
          override capture(name: string) {
            super.capture(name)
            return 'Noted.'
          }
        },
        AskColour,
      ),
    ],
    [
      'a model call less',
      like(
        AskName,
        class extends AskColour {
          override onReply(text: string, turn: Turn) {
            return text === 'Hm.' ? reply('Your colour?') : super.onReply(text, turn)
          }
        },
      ),
    ],
    [
      'a turn that fails',
      like(
        class extends AskName {
          override capture(name: string) {
            if (name.includes(' ')) throw new Error('No such table: names')
            return super.capture(name)
          }
        },
        AskColour,
      ),
    ],
    [
      'an end that comes early',
      like(
        AskName,
        class extends AskColour {
          override onReply(text: string) {
            return text === 'Hm.' ? finish('Your colour?') : text
          }
        },
      ),
    ],
    [
      'the context',
      class extends Onboarding {
        override init() {
          this.addContext({ plan: 'S' })
        }
      },
    ],
  ]

  test('shows the first turn that differs, and in what', async () => {
    const recording = recordingOf(await onboarding())
    const texts: string[] = []
    for (const [what, flow] of changes) {
      const error = await replay(flow, recording).then(
        () => undefined,
        (thrown: Error) => thrown,
      )
      // The place in this file, without the path and the line.
      texts.push(`# ${what}\n\n${error?.message.replaceAll(/\(.*\/(recording\.test\.ts):[\d:]+\)/g, '($1)')}`)
    }
    expect(texts.join('\n\n')).toMatchInlineSnapshot(`
      "# a reply and a step

      Session 'session-1' of flow 'Onboarding', replayed, differs at turn 3 of 4.

        User: "Ada Lovelace"

        model calls
          - 2 replies for memory 'AskColour': 'Hm.', 'Your colour?'
        reply
          - Your colour?
          + Thank you.

        - as recorded, + as replayed

      Correct the flow, or record the session again if the change is intended.

      # the result of a tool

      Session 'session-1' of flow 'Onboarding', replayed, differs at turn 2 of 4.

        User: "Ada"

        tool calls
          - capture_name {"name":"Ada"} failed: "First and last name, please."
          + capture_name {"name":"Ada"} = {"ok":false}

        - as recorded, + as replayed

      Correct the flow, or record the session again if the change is intended.

      # one state at the end

      Session 'session-1' of flow 'Onboarding', replayed, differs at turn 4 of 4.

        User: "blue"

        state of AskName
          - {"name":"Ada Lovelace","tries":2}
          + {"name":"Ada Lovelace","tries":8}

        - as recorded, + as replayed

      Correct the flow, or record the session again if the change is intended.

      # what an onReply makes of an answer

      Session 'session-1' of flow 'Onboarding', replayed, differs at turn 3 of 4.

        User: "Ada Lovelace"

        reply
          - Your colour?
          + Your colour? (Say it in one word.)

        - as recorded, + as replayed

      Step 'AskColour' has an onReply: the recording has what it sent, and not what the model said to it.
      Correct the flow, or record the session again if the change is intended.

      # what the model receives after a mistake

      Session 'session-1' of flow 'Onboarding', replayed, differs at turn 3 of 4.

        User: "Ada Lovelace"

        memory 'AskColour'
          - user: Say something.
          + user: Speak up.

        - as recorded, + as replayed

      Correct the flow, or record the session again if the change is intended.

      # a content type

      Session 'session-1' of flow 'Onboarding', replayed, differs at turn 3 of 4.

        User: "Ada Lovelace"

        content type
          - text/plain
          + text/html

        - as recorded, + as replayed

      Correct the flow, or record the session again if the change is intended.

      # one model call more

      Session 'session-1' of flow 'Onboarding', replayed, differs at turn 3 of 4.

        User: "Ada Lovelace"

        model calls
          + step 'AskName' asks a model once more than was recorded for memory 'AskName'
          + it last received: capture_name = "Noted."

        - as recorded, + as replayed

      Correct the flow, or record the session again if the change is intended.

      # a model call less

      Session 'session-1' of flow 'Onboarding', replayed, differs at turn 3 of 4.

        User: "Ada Lovelace"

        model calls
          - 1 reply for memory 'AskColour': 'Your colour?'

        - as recorded, + as replayed

      Step 'AskColour' has an onReply: the recording has what it sent, and not what the model said to it.
      Correct the flow, or record the session again if the change is intended.

      # a turn that fails

      Session 'session-1' of flow 'Onboarding', replayed, differs at turn 3 of 4.

        User: "Ada Lovelace"

        reply
          - Your colour?
          + failed with TOOL_ERROR: No such table: names
          +   at AskName.capture (recording.test.ts)
          +   at Object.execute (recording.test.ts)

        - as recorded, + as replayed

      Correct the flow, or record the session again if the change is intended.

      # an end that comes early

      Session 'session-1' of flow 'Onboarding', replayed, differs at turn 3 of 4.

        User: "Ada Lovelace"

        model calls
          - 1 reply for memory 'AskColour': 'Your colour?'
        step
          - AskColour
          + End
        completed
          - false
          + true

        - as recorded, + as replayed

      Step 'AskColour' has an onReply: the recording has what it sent, and not what the model said to it.
      Correct the flow, or record the session again if the change is intended.

      # the context

      Session 'session-1' of flow 'Onboarding', replayed, differs at turn 4 of 4.

        User: "blue"

        context
          - {"config":{"tenant":"north"}}
          + {"config":{"tenant":"north"},"plan":"S"}

        - as recorded, + as replayed

      Correct the flow, or record the session again if the change is intended."
    `)
  })
})
