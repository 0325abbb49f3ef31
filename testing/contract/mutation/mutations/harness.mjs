/** Mutations of what the harness says about retries, messages at the same time, and effects. */

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const harnessMutations = [
  {
    file: 'testing/conversation/effect-log.ts',
    tests: ['testing/conversation/retries.'],
    rows: [
      [
        'harness counts an effect that threw',
        'EffectLog.onceProblem',
        { piece: 'runs.filter(({ threw }) => !threw)', becomes: 'runs' },
      ],
      [
        'harness forgets the effects of the conversation that a fork continues',
        'EffectLog.constructor',
        { piece: 'from === undefined ? [] : [...from.#runs]', becomes: '[]' },
      ],
      [
        'process of the harness dies after an effect that was kept from an earlier turn',
        'EffectLog.#once',
        { condition: 'hasRun', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'testing/conversation/conversation-world.ts',
    tests: ['testing/conversation/retries.', 'testing/conversation/at-once.'],
    rows: [
      [
        'process of the harness writes after its death',
        'ConversationWorld.dieAfter',
        { piece: 'store?.outage()', becomes: 'undefined' },
      ],
      [
        'client of the harness gets the reply of a dead process',
        'ConversationWorld.endOf',
        { condition: 'diedAfter !== undefined', becomes: 'false' },
      ],
      [
        'message without a key overtakes one with a key in the harness',
        'ConversationWorld.request',
        { piece: 'await queued?.(result)', becomes: 'void queued' },
      ],
    ],
  },
  {
    file: 'testing/conversation/client.ts',
    tests: ['testing/conversation/retries.'],
    rows: [
      [
        'client of the harness without a key retries with one',
        'sendTwice',
        { piece: "client === 'no-key' ? keyless", becomes: 'false ? keyless' },
      ],
      [
        'client of the harness that resumes reads from the beginning',
        'readOn',
        { piece: 'check.text = text', becomes: 'void text' },
      ],
    ],
  },
  {
    file: 'testing/conversation/transcript.ts',
    tests: ['testing/conversation/retries.'],
    rows: [
      ['harness numbers a repeat as a turn', 'namesOf', { condition: 'reply.replayed === true', becomes: 'false' }],
    ],
  },
]
