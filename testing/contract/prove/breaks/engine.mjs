// Breaks of the engine: a turn from the lock to the reply, what becomes of one that failed, and deletes.

/** @type {import('../apply-break.mjs').BreakGroups} */
export const engineBreaks = [
  {
    file: 'src/compaction/compact-memory.ts',
    tests: ['src/compaction/compact-memory.'],
    rows: [
      ['summary begun by an engine that closes', 'if (session.closing) throw new EngineClosedError()', ''],
      [
        'model that is down asked for a summary in each turn',
        'before <= above || passed(length) > passed(before)',
        'true',
      ],
      ['cost of a failed summary forgotten', 'return await write().catch(() => undefined)', 'return document'],
    ],
  },
  {
    file: 'src/compaction/summarize.ts',
    tests: ['src/compaction/compact-memory.attempts.'],
    rows: [
      [
        'summary that no budget bounds',
        'const run = { scope, budget, modelCalls',
        'const run = { scope, budget: undefined, modelCalls',
      ],
    ],
  },
  {
    file: 'src/compaction/message-cut.ts',
    tests: ['src/compaction/message-cut.'],
    rows: [['call and result parted', "role !== 'user' || open.size > 0", "role !== 'user'"]],
  },
  {
    file: 'src/engine/turn/settle-turn-error.ts',
    tests: [
      'src/engine/turn/settle-turn-error.',
      'src/engine/flow-engine.store-trouble.',
      'src/engine/flow-engine.atomic.',
    ],
    rows: [
      ['failed session not marked as aborted', "runStatus: 'aborted'", "runStatus: 'running'"],
      ['cost of a failed turn forgotten', 'usage: progress.usage ?? base.usage', 'usage: base.usage'],
    ],
  },
  {
    file: 'src/errors/session-errors.ts',
    tests: [
      'src/engine/turn/settle-turn-error.',
      'src/engine/flow-engine.store-trouble.',
      'src/engine/flow-engine.atomic.',
    ],
    rows: [
      ['abort saved over the winner of a conflict', 'isSessionConflict(error) ||', ''],
      ['abort saved after an unknown outcome', 'isOutcomeUnknown(error) ||', ''],
    ],
  },
  {
    file: 'src/engine/turn/settle-turn-error.ts',
    tests: ['src/engine/flow-engine.bad-code.'],
    rows: [['list of errors without end', '.slice(-maxErrors)', '']],
  },
  {
    file: 'src/engine/turn/turn-draft.ts',
    tests: ['src/engine/turn/turn-draft.', 'testing/contract/simulation/'],
    rows: [
      [
        'half a turn saved: state, though the turn failed',
        'const live = storable(state',
        'const live = ((shared) => shared)(state',
      ],
      ['session size limit off', '> limits.maxSessionBytes', '> Number.POSITIVE_INFINITY'],
    ],
  },
  {
    file: 'src/engine/turn/turn-control.ts',
    tests: ['src/engine/turn/turn-control.', 'src/engine/flow-engine.deadlines.'],
    rows: [
      [
        'late result of a turn that timed out committed',
        'if (this.#givenUp !== undefined || this.#over) return',
        'return',
      ],
      ['late events of a turn that was given up', 'if (this.#givenUp === undefined) this.announce', 'this.announce'],
    ],
  },
  {
    file: 'src/engine/turn/prepare-turn.ts',
    tests: [
      'src/engine/turn/prepare-turn.',
      'src/engine/flow-engine.binding.',
      'src/engine/flow-engine.context.',
      'src/engine/flow-engine.owner.',
    ],
    rows: [
      [
        'session ID chosen by the client',
        "scope.sessionId = parts.generateId('session')",
        "scope.sessionId = input.sessionId ?? parts.generateId('session')",
      ],
      ["another owner's session continued", '&& loaded.owner === input.owner', ''],
      [
        'flow mismatch checked after the restore hook',
        'checkBinding(loaded, flowClass)',
        'await ready.flow.onRestore(loaded)\ncheckBinding(loaded, flowClass)',
      ],
      [
        'flow mismatch ignored for finished sessions',
        'checkBinding(loaded, flowClass)',
        "if (loaded.runStatus === 'running') checkBinding(loaded, flowClass)",
      ],
      ['finished session goes on', "if (loaded.runStatus === 'running')", "if (loaded.runStatus !== 'aborted')"],
      [
        'stored context disturbed by that of the turn',
        'Flow.setContext(flow, document.flow.context)',
        'Flow.setContext(flow, { ...document.flow.context, ...flow.context })',
      ],
      ['owner not stored', '...(input.owner === undefined ? {} : { owner: input.owner }),', ''],
    ],
  },
  {
    file: 'src/engine/turn/run-turn.ts',
    tests: ['src/engine/turn/run-turn.', 'testing/contract/simulation/'],
    rows: [
      [
        'reply before the commit',
        'await parts.session.access.write(document, progress.storedRevision, draft.hint(prepared.loaded), true)',
        'parts.session.access.write(document, progress.storedRevision, draft.hint(prepared.loaded), true).catch(() => {})',
      ],
      ['no checkpoint for batch flows', 'if (prepared.flow.isBatch())', 'if (false)'],
    ],
  },
  {
    file: 'src/engine/turn/run-turn.ts',
    tests: ['src/engine/flow-engine.stream.'],
    rows: [
      [
        'result of a stream before the commit',
        'await parts.session.access.write(document, progress.storedRevision, draft.hint(prepared.loaded), true)',
        'parts.session.access.write(document, progress.storedRevision, draft.hint(prepared.loaded), true).catch(() => {})',
      ],
    ],
  },
  {
    file: 'src/engine/turn/turn-stream.ts',
    tests: ['src/engine/turn/turn-stream.', 'src/engine/flow-engine.stream.'],
    rows: [
      ['streamed text of a failed attempt kept', "this.tell({ type: 'reset', reason })", ''],
      ['streamed text that is not the reply kept', "if (this.#text !== response.message) this.reset('reply')", ''],
      ['slow reader does not hold the turn back', 'this.#waiting.length < maxWaiting', 'true'],
      ['turn goes on without its reader', 'this.#controller.abort() await this.#turn', 'await this.#turn'],
      [
        'reader leaves before its turn is settled',
        'this.#controller.abort() await this.#turn',
        'this.#controller.abort()',
      ],
    ],
  },
  {
    file: 'src/engine/model-call/model-attempt.ts',
    tests: ['src/engine/model-call/model-attempt.'],
    rows: [
      ['timer of an attempt left behind', 'this.#stopTimer?.()', ''],
      ['stream of a provider left open', 'if (this.#iterator !== undefined) this.#close()', ''],
      [
        'provider that cannot be closed keeps the turn',
        'const close = async (): Promise<unknown> => this.#iterator?.return?.() close().catch(() => undefined)',
        'void this.#iterator?.return?.()',
      ],
      ['time of a slow reader counted to the model', 'this.#isHeard || this.#isHeldBack ? 0', 'this.#isHeard ? 0'],
      [
        'late piece of a provider heard',
        'await iterator.next() if (this.#over) throw this.#reason',
        'await iterator.next()',
      ],
    ],
  },
  {
    file: 'src/engine/turn/turn-control.ts',
    tests: ['src/engine/flow-engine.stream-reader.'],
    rows: [
      [
        'late pieces of a turn that was given up',
        'return this.#givenUp === undefined ? this.#stream : undefined',
        'return this.#stream',
      ],
    ],
  },
  {
    file: 'src/engine/model-call/call-model.ts',
    tests: ['src/engine/flow-engine.stream-reader.'],
    rows: [
      [
        'hook called after the deadline, for a reader that was slow',
        'await scope.stream.sendText(textOf(parts)) scope.check()',
        'await scope.stream.sendText(textOf(parts))',
      ],
    ],
  },
  {
    file: 'src/engine/turn/run-envelope.ts',
    tests: ['src/engine/flow-engine.envelope.', 'src/engine/flow-engine.store-trouble.'],
    rows: [
      [
        'envelope with a sixth field',
        'contentType: reply.contentType }',
        'contentType: reply.contentType, encoding: reply.encoding }',
      ],
      ['failure not completed', 'success: false, completed: true', 'success: false, completed: false'],
      ['failure of the abort save not told', 'secondFailure === undefined', 'true'],
    ],
  },
  {
    file: 'src/engine/error-text.ts',
    tests: ['src/engine/error-text.'],
    rows: [['redaction off', 'redactCredentials(firstWords(rawText(thrown)))', 'firstWords(rawText(thrown))']],
  },
  {
    file: 'src/engine/engine-events.ts',
    tests: ['src/engine/engine-events.', 'src/engine/flow-engine.listeners.'],
    rows: [
      [
        'error of a listener reaches the turn',
        '} catch (error) { this.#report(error, name)',
        '} catch (error) {\nthrow error',
      ],
    ],
  },
  {
    file: 'src/engine/remove-session.ts',
    tests: ['src/engine/remove-session.', 'src/engine/flow-engine.delete.'],
    rows: [
      [
        'delete without the revision',
        'await access.remove(sessionId, revisionOf(stored))',
        'await access.remove(sessionId, undefined)',
      ],
      [
        'delete of a missing session fails',
        'if (stored === undefined) return false',
        "if (stored === undefined) throw new Error('There is no such session.')",
      ],
      [
        "another owner's session deleted",
        'if (options !== undefined && (Object(stored) as { owner?: unknown }).owner !== options.owner)',
        'if (false)',
      ],
    ],
  },
  {
    file: 'src/engine/flow-engine.ts',
    tests: ['src/engine/flow-engine.context.', 'src/engine/flow-engine.waiting.', 'src/engine/flow-engine.limits.'],
    rows: [
      [
        'config stored where none was given',
        'config === undefined ? undefined : { config }',
        '{ config: config ?? null }',
      ],
      ['queue limit off', 'if (queued < limits.maxQueuedTurnsPerSession) return', 'return'],
    ],
  },
  {
    file: 'src/engine/flow-engine.ts',
    tests: ['src/engine/flow-engine.lock.', 'src/engine/flow-engine.delete.', 'src/engine/flow-engine.envelope.'],
    rows: [
      [
        'turns of one session not in line',
        'session.hold(sessionId, () => runTurn',
        'session.hold(undefined, () => runTurn',
      ],
      ['delete does not wait for the turn', 'session.hold(checkedId, () =>', 'session.hold(undefined, () =>'],
      ['delete of an empty ID reaches the store', "if (sessionId === '') return deleteSuccess('')", ''],
    ],
  },
  {
    file: 'src/engine/flow-engine.ts',
    tests: ['src/engine/flow-engine.bad-input.'],
    rows: [['refused input rejects the run', 'return failureEnvelope(givenId, asFlowError(error))', 'throw error']],
  },
]
