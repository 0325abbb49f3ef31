import { describe, expect, test } from 'vitest'
import { flowOf, place } from '../../../../testing/contract/test-flows.js'
import { Conversation } from '../../../../testing/index.js'
import { LogicStep, reply, type SessionDocument, Step, type StepConstructor, type Turn } from '../../../index.js'

class Start extends LogicStep<{ names?: string[] }> {
  static override readonly id = 'Start'
  override run(turn: Turn) {
    this.state.names = [...(this.state.names ?? []), turn.message]
    return reply(this.state.names.join(', '))
  }
}

/** A session of one turn, `Ada`, in a flow whose `onRestore` does this from now on. */
async function restoring(
  onRestore: (document: SessionDocument) => unknown,
  ...steps: readonly StepConstructor[]
): Promise<{ conversation: Conversation; stored: SessionDocument }> {
  class Restoring extends flowOf(Start, ...steps) {
    override onRestore(document: SessionDocument) {
      return onRestore(document) as SessionDocument
    }
  }
  const conversation = new Conversation(Restoring, { script: ['Hello.'] })
  await conversation.say('Ada')
  return { conversation, stored: await conversation.document() }
}

/** The document with something else in it. */
function withFlow(document: SessionDocument, flow: Partial<SessionDocument['flow']>): SessionDocument {
  return { ...document, flow: { ...document.flow, ...flow } }
}

describe("the flow's onRestore", () => {
  test('is called once for each turn but the first, with the document as it is stored', async () => {
    const seen: SessionDocument[] = []
    const { conversation, stored } = await restoring((document) => void seen.push(document))
    expect(seen).toEqual([])
    await conversation.say('Grace')
    conversation.expectReply('Ada, Grace')
    expect(seen).toEqual([stored])
  })

  test('is waited for', async () => {
    const { conversation } = await restoring(async (document) =>
      withFlow(document, { steps: { Start: { state: { names: ['Joan'] } } } }),
    )
    await conversation.say('Grace')
    conversation.expectReply('Joan, Grace')
  })

  test('may return a changed document, which is saved with the turn and not before', async () => {
    const { conversation } = await restoring((document) => withFlow(document, { context: { restored: true } }))
    await conversation.say('Grace')
    expect((await conversation.document()).flow.context).toEqual({ restored: true })
    expect(conversation.store.operations.filter((operation) => operation !== 'load')).toEqual(['create', 'save'])
  })

  test('may change the document it was given', async () => {
    const { conversation } = await restoring((document) => {
      ;(document.flow.steps.Start as { state: object }).state = { names: ['Joan'] }
    })
    await conversation.say('Grace')
    conversation.expectReply('Joan, Grace')
  })

  test('may send the session to another step, which is then entered and whose state begins', async () => {
    class Other extends LogicStep<{ left: number }> {
      static override readonly id = 'Other'
      override initialState() {
        return { left: 3 }
      }
      override run(turn: Turn) {
        return reply(`${this.state.left} ${turn.entered}`)
      }
    }
    const { conversation } = await restoring((document) => withFlow(document, { currentStep: 'Other' }), Other)
    await conversation.say('Grace')
    conversation.expectReply('3 true')
    expect((await conversation.document()).flow.currentStep).toBe('Other')
  })

  test('may send the session to a model step, whose state begins then too', async () => {
    class Talk extends Step<{ left: number }> {
      static override readonly id = 'Talk'
      override initialState() {
        return { left: 3 }
      }
    }
    const { conversation } = await restoring((document) => withFlow(document, { currentStep: 'Talk' }), Talk)
    await conversation.say('Grace')
    expect((await conversation.document()).flow.steps.Talk?.state).toEqual({ left: 3 })
  })

  test('has its context in place of the one that init added', async () => {
    class Contextual extends flowOf(Start) {
      override init() {
        this.addContext({ from: 'init' })
      }
      override onRestore(document: SessionDocument) {
        return withFlow(document, { context: { from: 'onRestore' } })
      }
    }
    await using conversation = new Conversation(Contextual)
    await conversation.say('Ada')
    expect((await conversation.document()).flow.context).toEqual({ from: 'init' })
    await conversation.say('Grace')
    expect((await conversation.document()).flow.context).toEqual({ from: 'onRestore' })
  })

  test('may ask for a new session with null: the old document stays as it is', async () => {
    const { conversation, stored } = await restoring(() => null)
    const response = await conversation.say('Grace')
    expect(response).toMatchObject({ success: true, message: 'Grace' })
    expect(response.session).not.toBe(stored.id)
    expect(await conversation.engine.getSession(stored.id)).toEqual(stored)
    expect((await conversation.document()).history).toMatchObject([{ turn: 1, message: 'Grace' }])
  })

  test('aborts the session by what it throws, and changes nothing else', async () => {
    const { conversation, stored } = await restoring((document) => {
      ;(document.flow as { context: object }).context = { half: 'done' }
      throw new Error('no restore')
    })
    await conversation.say('Grace')
    conversation.expectError('FLOW_ERROR', 'no restore')
    const { revision, savedAt, ...rest } = await conversation.document()
    const { revision: revisionBefore, savedAt: _savedAt, ...before } = stored
    expect(rest).toEqual({ ...before, runStatus: 'aborted', error: ['no restore'] })
    expect(revision).not.toBe(revisionBefore)
    expect(savedAt).not.toBe('')
  })

  test.each([
    [
      'another revision',
      (document: SessionDocument) => ({ ...document, revision: '9-x' }),
      "the flow's onRestore changed its revision",
    ],
    [
      'another flow',
      (document: SessionDocument) => withFlow(document, { name: 'Other' }),
      "the flow's onRestore changed its flow.name",
    ],
    [
      'an unknown step',
      (document: SessionDocument) => withFlow(document, { currentStep: 'Nowhere' }),
      "its current step is 'Nowhere', and the steps of its flow are Start, End (former IDs belong into static aliases)",
    ],
  ])('may not return %s: the document stays as it was', async (_what, onRestore, problem) => {
    const { conversation, stored } = await restoring(onRestore)
    await conversation.say('Grace')
    conversation.expectError('SESSION_FLOW_INVARIANT', `Session '${stored.id}' is malformed: ${problem}.`)
    expect(await conversation.engine.getSession(stored.id)).toEqual(stored)
  })

  test.each([
    ['another id', (document: SessionDocument) => ({ ...document, id: 'other' })],
    ['no document', () => ({})],
    ['a text', () => 'restored'],
    [
      'a malformed state',
      (document: SessionDocument) => withFlow(document, { steps: { Start: { state: null as never } } }),
    ],
  ])('may not return what is not a document of this session: %s', async (_what, onRestore) => {
    const { conversation, stored } = await restoring(onRestore)
    await conversation.say('Grace')
    conversation.expectError('SESSION_FLOW_INVARIANT')
    expect(conversation.reply.error).toMatchObject({ sessionId: stored.id })
    expect(await conversation.engine.getSession(stored.id)).toEqual(stored)
  })
})

describe("a step's onRestore", () => {
  test('is called when a turn goes on in the step, after the flow, before the step', async () => {
    const notes: string[] = []
    class Noting extends LogicStep {
      static override readonly id = 'Noting'
      override onRestore(turn: Turn) {
        notes.push(`step ${turn.message} ${turn.entered}`)
      }
      override run() {
        notes.push('run')
        return reply('Noted.')
      }
    }
    class Restoring extends flowOf(Noting, place('Other')) {
      override onRestore() {
        notes.push('flow')
      }
    }
    await using conversation = new Conversation(Restoring)
    await conversation.say('a')
    await conversation.say('b')
    expect(notes).toEqual(['run', 'flow', 'step b false', 'run'])
  })

  test('may change the state of the step', async () => {
    class Mending extends Start {
      static override readonly id = 'Start'
      override onRestore() {
        this.state.names = ['Joan']
      }
    }
    await using conversation = new Conversation(flowOf(Mending))
    await conversation.say('Ada')
    await conversation.say('Grace')
    conversation.expectReply('Joan, Grace')
  })

  test('aborts the session by what it throws', async () => {
    class Broken extends Start {
      static override readonly id = 'Start'
      override onRestore(): void {
        throw new Error('no restore')
      }
    }
    await using conversation = new Conversation(flowOf(Broken))
    await conversation.say('Ada')
    await conversation.say('Grace')
    conversation.expectError('FLOW_ERROR', 'no restore')
    expect(await conversation.document()).toMatchObject({
      runStatus: 'aborted',
      error: ['no restore'],
      history: [{ turn: 1 }],
    })
  })
})
