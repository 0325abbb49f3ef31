// Mutations of the engine: a turn from the lock to the reply, what becomes of one that failed, and deletes.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const engineMutations = [
  {
    file: 'src/engine/readiness.ts',
    tests: ['src/engine/flow-engine.is-ready.'],
    rows: [
      [
        'every probe asks the store',
        'Readiness.isReady',
        { piece: 'now - this.#askedAt >= checkCountsMs', becomes: 'true' },
      ],
      [
        'an engine that closes asks its store',
        'Readiness.isReady',
        { condition: 'this.#session.closing', becomes: 'false' },
      ],
      [
        'ready once the close has begun meanwhile',
        'Readiness.isReady',
        { piece: '(await this.#check) && !this.#session.closing', becomes: 'await this.#check' },
      ],
      [
        'ready while the store fails',
        'Readiness.isReady',
        { piece: 'catch {\n      return false', becomes: 'catch {\n      return true' },
      ],
    ],
  },
  {
    file: 'src/compaction/store-summary.ts',
    tests: ['src/compaction/store-summary.'],
    rows: [
      [
        'summary begun by an engine that closes',
        'storeSummary',
        {
          piece: 'if (session.closing) throw new EngineClosedError()',
          becomes: '',
        },
      ],
      [
        'cost of a failed summary forgotten',
        'storeSummary',
        {
          statement: '.catch(() => undefined)',
          becomes: '{}',
        },
      ],
    ],
  },
  {
    file: 'src/compaction/swap-summary.ts',
    tests: ['src/compaction/store-summary.'],
    rows: [
      [
        'summary stored where its messages are gone',
        'beginsWith',
        {
          body: 'return true',
        },
      ],
      [
        'summary stored where one more message was put among its own',
        'beginsWith',
        {
          piece: '&& isSameMessage(messages[last], oldest[last])',
          becomes: '',
        },
      ],
      [
        'summary stored in another session of the ID',
        'isSameSession',
        {
          piece: 'stored.createdAt === committed.createdAt &&',
          becomes: '',
        },
      ],
      [
        'summary stored in a session that has ended',
        'isSameSession',
        {
          piece: "stored.runStatus === 'running' &&",
          becomes: '',
        },
      ],
      [
        'what turns spent during a summary overwritten',
        'swap',
        {
          piece: 'addSpent(stored.usage, result.usage)',
          becomes: 'result.usage.after',
        },
      ],
      [
        'messages that came during a summary lost',
        'swap',
        {
          piece: 'messages.slice(oldest.length)',
          becomes: 'messagesOf(committed, namespace).slice(oldest.length)',
        },
      ],
      [
        'count of bytes wrong after a summary',
        'swap',
        {
          piece: ', bytes: bytesOfLists(changed)',
          becomes: '',
        },
      ],
      [
        'store not told that a summary rewrites a memory',
        'save',
        {
          piece: '{ appended: {}, rewritten: [rewritten] }',
          becomes: '{ appended: {} }',
        },
      ],
      [
        'summary that takes the place of a turn in the queue',
        'swapSummary',
        {
          piece: 'summaryWait(turn.engine, turn.owner)',
          becomes: '({ ...summaryWait(turn.engine, turn.owner), counted: true })',
        },
      ],
      [
        'summary lost by an engine that closes',
        'swapSummary',
        {
          piece: '() => summaryWait(turn.engine, turn.owner), true',
          becomes: '() => summaryWait(turn.engine, turn.owner)',
        },
      ],
      [
        'session of a summary evicted during its swap',
        'swapSummary',
        {
          piece: 'control.hold(id)',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/engine/close-engine.ts',
    tests: ['src/compaction/store-summary.failures.'],
    rows: [
      [
        'engine closed during a summary',
        'closeEngine',
        {
          piece: '.then(() => afterTurnTasks.settled())',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/run-turn.ts',
    tests: ['src/engine/flow-engine.wait-until.'],
    rows: [
      [
        'waitUntil not given what the turn leaves behind',
        'beginAfterTurnTask',
        { condition: 'waitUntil !== undefined', becomes: 'false' },
      ],
      [
        'reply changed by a waitUntil that throws',
        'beginAfterTurnTask',
        {
          piece: "engine.events.callListener(waitUntil, work, 'waitUntil')",
          becomes: 'waitUntil(work)',
        },
      ],
    ],
  },
  {
    file: 'src/engine/after-turn-tasks.ts',
    tests: ['src/engine/flow-engine.wait-until.'],
    rows: [
      [
        'summary under way taken for settled',
        'settled',
        {
          piece: 'await Promise.all(this.#underWay)',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/compaction/policy-compactor.ts',
    tests: ['src/compaction/store-summary.'],
    rows: [
      [
        'model that is down called for a summary in each turn',
        'isTimeForSummary',
        {
          body: 'return true',
        },
      ],
      [
        'second summary of a memory beside the first',
        '#applyPolicies',
        {
          piece: '!this.#underWay.has(keyOf(draft.base.id, namespace)) &&',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/compaction/summarize.ts',
    tests: ['src/compaction/store-summary.attempts.'],
    rows: [
      [
        'summary that no budget bounds',
        'summarize',
        {
          piece: 'const draft = { usage, budget, modelCalls',
          becomes: 'const draft = { usage, budget: undefined, modelCalls',
        },
      ],
    ],
  },
  {
    file: 'src/compaction/message-cut.ts',
    tests: ['src/compaction/message-cut.'],
    rows: [
      [
        'call and result separated',
        'removableCount',
        {
          piece: '|| unmatched.size > 0',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/commit/settle-turn-error.ts',
    tests: [
      'src/engine/turn/settle-turn-error.',
      'src/engine/flow-engine.store-trouble.',
      'src/engine/flow-engine.atomic.',
    ],
    rows: [
      [
        'failed session not marked as aborted',
        'settleTurnError',
        {
          piece: 'goesOn ? undefined : error.code',
          becomes: 'undefined',
        },
      ],
      ['failure of the abort save not told', 'withSecond', { body: 'return text' }],
      [
        'cost of a failed turn forgotten',
        'saveFailure',
        {
          piece: 'error: [...beforeTurn.error, text].slice(-maxErrors),\nusage',
          becomes: 'error: [...beforeTurn.error, text].slice(-maxErrors),\nusage: beforeTurn.usage',
        },
      ],
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
      [
        'abort saved over the winner of a conflict',
        'leavesSessionUnchanged',
        { piece: 'isSessionConflict(error) ||', becomes: '' },
      ],
      [
        'abort saved after an unknown outcome',
        'leavesSessionUnchanged',
        { piece: 'isOutcomeUnknown(error) ||', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/commit/settle-turn-error.ts',
    tests: ['src/engine/flow-engine.bad-code.'],
    rows: [
      [
        'list of errors without end',
        'saveFailure',
        {
          piece: '.slice(-maxErrors)',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/draft/turn-draft.ts',
    tests: ['src/engine/turn/turn-draft.', 'testing/contract/simulation/'],
    rows: [
      [
        'half a turn saved: state, though the turn failed',
        'writeState',
        {
          piece: 'const live = storable(state',
          becomes: 'const live = ((shared) => shared)(state',
        },
      ],
      [
        'session size limit off',
        '#trimLists',
        {
          piece: 'limits.maxSessionBytes - stateBytes',
          becomes: 'Number.POSITIVE_INFINITY',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/control/turn-control.ts',
    tests: ['src/engine/turn/turn-control.', 'src/engine/flow-engine.deadlines.'],
    rows: [
      [
        'late result of a turn that timed out committed',
        'TurnControl.abort',
        {
          piece: 'if (!this.isAbortable) return',
          becomes: 'return',
        },
      ],
      [
        'late events of an aborted turn',
        'emit',
        {
          piece: 'if (this.#aborted === undefined) this.report',
          becomes: 'this.report',
        },
      ],
    ],
  },
  {
    file: 'src/engine/core/foreign-session.ts',
    tests: ['src/engine/flow-engine.owner.'],
    rows: [["another owner's session continued", 'loadFor', { piece: 'storedOwner !== owner', becomes: 'false' }]],
  },
  {
    file: 'src/engine/turn/session/find-session.ts',
    tests: [
      'src/engine/turn/load-session.',
      'src/engine/flow-engine.binding.',
      'src/engine/flow-engine.context.',
      'src/engine/flow-engine.owner.',
    ],
    rows: [
      [
        'flow mismatch checked after the restore hook',
        'findSession',
        {
          piece: 'checkFlowName(loaded, flowClass)',
          becomes: 'new flowClass().onRestore(loaded)\ncheckFlowName(loaded, flowClass)',
        },
      ],
      [
        'flow mismatch ignored for finished sessions',
        'findSession',
        {
          piece: 'checkFlowName(loaded, flowClass)',
          becomes: "if (loaded.runStatus === 'running') checkFlowName(loaded, flowClass)",
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/session/load-session.ts',
    tests: [
      'src/engine/turn/load-session.',
      'src/engine/flow-engine.binding.',
      'src/engine/flow-engine.context.',
      'src/engine/flow-engine.owner.',
    ],
    rows: [
      [
        'session ID chosen by the client',
        'newSession',
        {
          piece: "claimedId ?? engine.generateId('session')",
          becomes: "claimedId ?? input.sessionId ?? engine.generateId('session')",
        },
      ],
      [
        'finished session goes on',
        'loadSession',
        {
          piece: "loaded?.runStatus === 'running'",
          becomes: "loaded !== undefined && loaded.runStatus !== 'aborted'",
        },
      ],
      [
        'stored context disturbed by that of the turn',
        'restore',
        {
          piece: 'Flow.setContext(flow, restored.flow.context)',
          becomes: 'Flow.setContext(flow, { ...restored.flow.context, ...flow.context })',
        },
      ],
      [
        'owner not stored',
        'newSession',
        {
          piece: '...(input.owner === undefined ? {} : { owner: input.owner }),',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/run-turn.ts',
    tests: ['src/engine/turn/run-turn.', 'testing/contract/simulation/'],
    rows: [
      [
        'reply before the commit',
        'commit',
        {
          piece:
            'await session.access.write(document, storedRevision, draft.hint(), true, draft.stateBytes, control.lockHolder)',
          becomes:
            'session.access.write(document, storedRevision, draft.hint(), true, draft.stateBytes, control.lockHolder).catch(() => {})',
        },
      ],
      [
        'no checkpoint for batch flows',
        'runSession',
        {
          piece: 'if (flow.isBatch())',
          becomes: 'if (false)',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/run-turn.ts',
    tests: ['src/engine/flow-engine.stream.'],
    rows: [
      [
        'result of a stream before the commit',
        'commit',
        {
          piece:
            'await session.access.write(document, storedRevision, draft.hint(), true, draft.stateBytes, control.lockHolder)',
          becomes:
            'session.access.write(document, storedRevision, draft.hint(), true, draft.stateBytes, control.lockHolder).catch(() => {})',
        },
      ],
    ],
  },
  {
    file: 'src/engine/stream/turn-stream.ts',
    tests: ['src/engine/turn/turn-stream.', 'src/engine/flow-engine.stream.'],
    rows: [
      [
        'streamed text of a failed attempt kept',
        'reset',
        {
          condition: "this.#text !== ''",
          becomes: 'false',
        },
      ],
      [
        'streamed text that is not the reply kept',
        '#conclude',
        {
          condition: "this.#text !== '' && this.#text !== response.message",
          becomes: 'false',
        },
      ],
      [
        'turn goes on without its reader',
        'return',
        {
          piece: 'this.#controller.abort()',
          becomes: '',
        },
      ],
      [
        'reader leaves before its turn is settled',
        'return',
        {
          piece: 'await this.#turn',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/model-attempt.ts',
    tests: ['src/engine/model-call/model-attempt.'],
    rows: [
      [
        'timer of an attempt left behind',
        '#end',
        {
          piece: 'this.#deadline?.cancel()',
          becomes: '',
        },
      ],
      [
        'stream of a provider left open',
        '#end',
        {
          piece: 'if (this.#iterator !== undefined) this.#close()',
          becomes: '',
        },
      ],
      [
        'provider that cannot be closed keeps the turn',
        '#close',
        {
          piece:
            'const close = async (): Promise<unknown> => this.#iterator?.return?.() close().catch(() => undefined)',
          becomes: 'void this.#iterator?.return?.()',
        },
      ],
      [
        'time of a slow reader counted to the model',
        '#run',
        {
          piece: 'this.#hasNewPiece || this.#isWaitingForReader ? 0',
          becomes: 'this.#hasNewPiece ? 0',
        },
      ],
      [
        'late piece of a provider accepted',
        '#receive',
        {
          piece: 'if (this.#over) throw this.#reason',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/control/turn-control.ts',
    tests: ['src/engine/flow-engine.stream-reader.'],
    rows: [
      [
        'late pieces of an aborted turn',
        'stream',
        {
          piece: 'return this.#aborted === undefined ? this.#stream : undefined',
          becomes: 'return this.#stream',
        },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/attempts.ts',
    tests: ['src/engine/flow-engine.stream-reader.'],
    rows: [
      [
        'hook called after the deadline, for a reader that was slow',
        'streamWhole',
        {
          piece: 'await control.stream?.sendText(textOf(parts)) control.check()',
          becomes: 'await control.stream?.sendText(textOf(parts))',
        },
      ],
    ],
  },
  {
    file: 'src/engine/core/run-envelope.ts',
    tests: ['src/engine/flow-engine.envelope.', 'src/engine/flow-engine.store-trouble.'],
    rows: [
      [
        'envelope with a sixth field',
        'successEnvelope',
        {
          piece: 'contentType: reply.contentType }',
          becomes: 'contentType: reply.contentType, encoding: reply.encoding }',
        },
      ],
      [
        'failure not completed',
        'failureEnvelope',
        {
          piece: 'success: false, completed: true',
          becomes: 'success: false, completed: false',
        },
      ],
    ],
  },
  {
    file: 'src/engine/core/error-text.ts',
    tests: ['src/engine/error-text.'],
    rows: [
      [
        'redaction off',
        'uncutText',
        {
          piece: 'return redact(words)',
          becomes: 'return words',
        },
      ],
      [
        'half a secret at the end of a text without a space goes out',
        'uncutText',
        {
          piece: 'clean === text ? text :',
          becomes: 'true ? clean :',
        },
      ],
      [
        'end of a long error text searched at each character',
        'cutAfter',
        {
          piece: 'return text.slice(0, end)',
          becomes: "return text.slice(0, maxRawLength).replace(/\\S*$/, '') || text",
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/commit/mask-turn.ts',
    tests: ['src/engine/flow-engine.mask'],
    rows: [
      [
        'reply in JSON masked as a parser reads it',
        'maskReply',
        {
          piece: 'return maskJsonText(mask, text)',
          becomes: "return JSON.stringify(maskJson(mask, JSON.parse(text), 'reply'))",
        },
      ],
      [
        'reasoning of a masked turn stored',
        'maskPart',
        {
          piece: "case 'reasoning': return []",
          becomes: "case 'reasoning': return part",
        },
      ],
      [
        'what only a provider reads of a masked call stored',
        'maskPart',
        {
          piece: 'return { ...call, input,',
          becomes: 'return { ...part, input,',
        },
      ],
      [
        'keys of masked arguments stored',
        'maskJson',
        {
          piece: 'const name = mask(key, where)',
          becomes: 'const name = key',
        },
      ],
      [
        'digits of a masked number stored',
        'maskJson',
        {
          piece: 'return masked === digits ? value : masked',
          becomes: 'return value',
        },
      ],
      [
        'JSON of a masked reply broken',
        'maskReply',
        {
          piece: 'if (!/^',
          becomes: 'if (text !== "" || !/^',
        },
      ],
      [
        'memory of a masked turn stored as it was said',
        'maskTurn',
        {
          piece: 'messages.replaceAdded((one) => maskMessage(masked, one))',
          becomes: 'messages.replaceAdded((one) => one)',
        },
      ],
    ],
  },
  {
    file: 'src/engine/core/mask-text.ts',
    tests: ['src/engine/flow-engine.mask'],
    rows: [
      [
        'cause of a mask that fails reported',
        'maskText',
        {
          piece: '}.`)',
          becomes: '}.`, text)',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/run-turn.ts',
    tests: ['src/engine/flow-engine.mask'],
    rows: [
      [
        'reply of a masked turn stored as it was said',
        'prepareCommit',
        {
          piece: 'masked?.message ?? input.userMessage, masked?.reply)',
          becomes: 'masked?.message ?? input.userMessage)',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/commit/settle-turn-error.ts',
    tests: ['src/engine/flow-engine.mask'],
    rows: [
      [
        'text of a failure stored without its mask',
        'settleTurnError',
        {
          piece: 'maskedText(engine, text, failed, error.cause)',
          becomes: 'text',
        },
      ],
      [
        'error of a failure reported without its mask',
        'settleTurnError',
        {
          piece: 'error: maskedError(engine, error, failed)',
          becomes: 'error',
        },
      ],
    ],
  },
  {
    file: 'src/util/redaction.ts',
    tests: ['src/util/redaction.'],
    rows: [
      [
        'run of digits asks for what follows it: time of the square',
        'patterns',
        {
          piece: '[ -]?\\d){13,}/g',
          becomes: '[ -]?\\d){13,}(?!\\w|[.-]\\d)/g',
        },
      ],
      [
        'token found at any place of a token: time of the square',
        'patterns',
        {
          piece: '(?<![\\w-])eyJ',
          becomes: '\\beyJ',
        },
      ],
      [
        'card without its check digit blacked out',
        'isCard',
        {
          piece: 'sum % 10 === 0',
          becomes: 'sum > 0',
        },
      ],
      [
        'IMEI blacked out as a card',
        'isCard',
        {
          piece: '|| !issuers.test(digits)',
          becomes: '',
        },
      ],
      [
        'user of an address in its query',
        'patterns',
        {
          piece: String.raw`[^\s/?#]+@`,
          becomes: String.raw`[^\s/]+@`,
        },
      ],
      [
        'account number without its check digits blacked out',
        'isAccount',
        {
          piece: 'remainder === 1',
          becomes: 'remainder > 0',
        },
      ],
      [
        'password in quotation marks stays',
        'patterns',
        {
          piece: String.raw`(\\?["'])`,
          becomes: String.raw`(\\?[!])`,
        },
      ],
    ],
  },
  {
    file: 'src/prompt/prompt.ts',
    tests: ['src/prompt/prompt.'],
    rows: [
      [
        'prompt searched to its end at each pair of braces',
        'tokens',
        {
          piece: '.{0,500}?',
          becomes: '.*?',
        },
      ],
    ],
  },
  {
    file: 'src/engine/core/engine-events.ts',
    tests: ['src/engine/engine-events.', 'src/engine/flow-engine.listeners.'],
    rows: [
      [
        'error of a listener reaches the turn',
        'callListener',
        {
          piece: '} catch (error) { this.#report(error, name)',
          becomes: '} catch (error) {\nthrow error',
        },
      ],
    ],
  },
  {
    file: 'src/engine/sessions/remove-session.ts',
    tests: ['src/engine/remove-session.', 'src/engine/flow-engine.delete.'],
    rows: [
      [
        'delete without the revision',
        'removeSession',
        {
          piece: 'await access.remove(sessionId, revisionOf(stored), holder)',
          becomes: 'await access.remove(sessionId, undefined, holder)',
        },
      ],
      [
        'delete of a missing session fails',
        'removeSession',
        {
          piece: 'if (stored === undefined || holder.isStranger) return undefined',
          becomes: "if (stored === undefined) throw new Error('There is no such session.')",
        },
      ],
      [
        "another owner's session deleted",
        'load',
        {
          piece: 'if (caller === undefined)',
          becomes: 'if (true)',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/execute-turn.ts',
    tests: ['src/engine/flow-engine.context.', 'src/engine/flow-engine.waiting.', 'src/engine/flow-engine.limits.'],
    rows: [
      [
        'config stored where none was given',
        'checkInput',
        {
          piece: 'config === undefined ? givenContext : { config }',
          becomes: '{ config: config ?? null }',
        },
      ],
    ],
  },
  {
    file: 'src/engine/lock/busy.ts',
    tests: ['src/engine/flow-engine.waiting.', 'src/engine/flow-engine.limits.'],
    rows: [
      ['queue limit off', 'checkMayWait', { condition: 'stay >= limits.maxQueuedTurnsPerSession', becomes: 'false' }],
    ],
  },
  {
    file: 'src/engine/turn/execute-turn.ts',
    tests: ['src/engine/flow-engine.lock.', 'src/engine/flow-engine.delete.', 'src/engine/flow-engine.envelope.'],
    rows: [
      [
        'turns of one session at once',
        'runWithLock',
        {
          piece: 'input.sessionId ?? control.claimed?.id',
          becomes: 'undefined',
        },
      ],
    ],
  },
  {
    file: 'src/engine/sessions/remove-session.ts',
    tests: ['src/engine/flow-engine.lock.', 'src/engine/flow-engine.delete.', 'src/engine/flow-engine.envelope.'],
    rows: [
      [
        'delete does not wait for the turn',
        'removeOnce',
        {
          piece: 'session.hold(sessionId, remove,',
          becomes: 'session.hold(undefined, remove,',
        },
      ],
      [
        'delete of an empty ID reaches the store',
        'executeDelete',
        {
          piece: "if (sessionId === '') return deleteSuccess('')",
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/execute-turn.ts',
    tests: ['src/engine/flow-engine.bad-input.'],
    rows: [
      [
        'refused input rejects the run',
        'executeTurn',
        {
          statement: 'outcome = refusal(engine, unchecked, givenId, thrown, control)',
          becomes: 'throw thrown',
        },
      ],
    ],
  },
]
