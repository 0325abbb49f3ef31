// Mutations of what a turn does once: turn.once, turn.forget, what a turn that leaves nothing
// else stores, keys of tools.

const effectTests = [
  'src/engine/flow-engine.effects.',
  'src/engine/flow-engine.durable-effects.',
  'src/engine/flow-engine.uncertain-effects.',
  'src/engine/flow-engine.forgotten-effects.',
]

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const effectMutations = [
  {
    file: 'src/engine/turn/effects/once-reports.ts',
    tests: ['src/engine/flow-engine.not-awaited-effects.'],
    rows: [
      [
        'log silent about work that a stored turn left behind',
        'OnceReports.committed',
        { piece: 'this.#warnOf(call)', becomes: 'void call' },
      ],
      ['log silent about a failure that no code received', 'OnceReports.#logFailed', { body: '{}' }],
    ],
  },
  {
    file: 'testing/conversation/effect-log.ts',
    tests: ['testing/conversation/not-awaited.'],
    rows: [
      [
        'conversation passes although turn.once was not awaited',
        'EffectLog.awaitProblem',
        { body: '{ return undefined }' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/effects/turn-effects.ts',
    tests: effectTests,
    rows: [
      [
        'work of a name done again in each turn',
        'TurnEffects.#once',
        { piece: '!isForgotten && kept?.result !== undefined', becomes: 'false' },
      ],
      [
        'two calls of one name at once both work',
        'TurnEffects.#once',
        { statement: 'running !== undefined', becomes: '' },
      ],
      [
        'work that was forgotten done again by the repeat of its turn',
        'TurnEffects.#once',
        { piece: '&& kept?.turn !== draft.turnNumber', becomes: '' },
      ],
      [
        'code of a failed part of a turn begins work',
        'TurnEffects.#isCurrent',
        { piece: '&& draft === this.#draft', becomes: '' },
      ],
      [
        'work begins after its turn was aborted during the write of its intent',
        'TurnEffects.#writeNow',
        { piece: 'await this.store() this.#check(begun?.name)', becomes: 'await this.store()' },
      ],
      [
        'intent of work that never began stays',
        'TurnEffects.#writeNow',
        { piece: 'this.#keep(begun.name, begun.former)', becomes: '' },
      ],
      [
        'durable work begins before its intent is stored',
        'TurnEffects.#run',
        { piece: 'if (durable) await this.#write(begun)', becomes: 'if (durable) void this.#write(begun)' },
      ],
      [
        'result of durable work not stored before the turn goes on',
        'TurnEffects.#takeResult',
        { piece: 'if (durable) await this.#write()', becomes: '' },
      ],
      ['late result of an aborted turn kept', 'TurnEffects.#check', { body: '{}' }],
      [
        'work whose outcome is unknown taken for work that never began, after a repeat that throws',
        'TurnEffects.#run',
        { piece: 'if (!uncertain) this.#keep', becomes: 'this.#keep' },
      ],
      [
        'name that was forgotten stays after new work that throws',
        'TurnEffects.#run',
        { statement: 'wasForgotten && partOfTurn', becomes: '' },
      ],
      [
        'what a failed part of a turn forgot stays forgotten',
        'TurnEffects.startAgain',
        { piece: 'this.#forgotten.clear()', becomes: '' },
      ],
      [
        'effects of a stale revision: writes at the same time',
        'TurnEffects.#write',
        { piece: '(this.#lastWrite ?? Promise.resolve())', becomes: 'Promise.resolve()' },
      ],
      [
        'flow code goes on after a write of its effects failed',
        'TurnEffects.store',
        { piece: 'control.abort(this.writeFailure)', becomes: '' },
      ],
      [
        'revision of effects unknown to the commit',
        'TurnEffects.store',
        { piece: 'this.#draft.storedRevision = revision', becomes: '' },
      ],
      [
        'usage of a cancelled turn lost, where its effects are stored already',
        'TurnEffects.isUnstored',
        { statement: 'this.#storedCalls !== undefined &&', becomes: '' },
      ],
      ['names beyond maxEffects', 'TurnEffects.#begin', { piece: 'names.size > limits.maxEffects', becomes: 'false' }],
      [
        'names that were forgotten counted for maxEffects',
        'TurnEffects.#begin',
        { statement: 'names.delete(forgotten)', becomes: '' },
      ],
      [
        'results beyond maxEffectBytes',
        'TurnEffects.#copyResult',
        { piece: 'jsonSize(result) <= limits.maxEffectBytes', becomes: 'true' },
      ],
      [
        'commit while an effect is written',
        'TurnEffects.finish',
        { piece: 'while (this.#lastWrite !== undefined) await this.#lastWrite', becomes: '' },
      ],
      [
        'forgotten results stored by a turn that failed',
        'TurnEffects.addTo',
        { piece: 'recordOf(this.#kept)', becomes: 'this.afterCommit' },
      ],
      [
        'bytes of effects not counted',
        'TurnEffects.addTo',
        { piece: '+ addedBytesOfEffects(document.effects, effects)', becomes: '' },
      ],
      ['key of an effect the same in each turn', 'TurnEffects.#keyOf', { piece: 'turn ?? 0', becomes: '0' }],
    ],
  },
  {
    file: 'src/engine/turn/commit/settle-turn-error.ts',
    tests: effectTests,
    rows: [
      [
        'effects of a cancelled turn lost',
        'storeEffects',
        { piece: 'await effects.store().catch(() => undefined)', becomes: '' },
      ],
      [
        'effects written after an unknown outcome',
        'storeEffects',
        { piece: 'mayWrite && effects.isUnstored', becomes: 'true' },
      ],
      [
        'effects lost by an abort or a rollback',
        'saveFailure',
        { piece: 'effects === undefined ? beforeTurn : effects.addTo(beforeTurn)', becomes: 'beforeTurn' },
      ],
      ['turn settled while an effect is written', 'settleTurnError', { statement: 'effects?.abandon()', becomes: '' }],
      [
        'failed swap of effects hidden from the log',
        'storeEffects',
        { statement: 'writeFailure !== error', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/draft/turn-draft.ts',
    tests: effectTests,
    rows: [
      ['effects not counted in the bytes of a commit', 'TurnDraft.#trimLists', { piece: ' + ofEffects', becomes: '' }],
    ],
  },
  {
    file: 'src/engine/turn/tools/run-tool.ts',
    tests: ['src/engine/turn/tool-keys.'],
    rows: [
      [
        'equal calls of a tool under one key',
        'toolCallKey',
        { piece: 'toolName, input, equalBefore', becomes: 'toolName, input' },
      ],
      [
        'key of a call by the order of names in its input',
        'toolCallKey',
        { piece: 'const input = canonicalJson(call.input)', becomes: 'const input = JSON.stringify(call.input)' },
      ],
      [
        'key of a call from the ID that the model made',
        'toolCallKey',
        { piece: 'toolName, input, equalBefore', becomes: 'toolName, input, call.toolCallId' },
      ],
      [
        'calls counted by who reads the key first',
        'toolCallKey',
        { piece: 'toolCalls.slice(0, number - 1).filter(isEqual)', becomes: 'toolCalls.filter(isEqual)' },
      ],
    ],
  },
]
