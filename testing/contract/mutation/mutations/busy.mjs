// Mutations of what becomes of messages for a busy session: refused, superseded, interrupted, merged, cancelled.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const busyMutations = [
  {
    file: 'src/engine/lock/busy.ts',
    tests: ['src/engine/flow-engine.busy.', 'src/engine/flow-engine.interrupt.'],
    rows: [
      ['message waits where busy says reject', 'checkMayWait', { condition: "policy === 'reject'", becomes: 'false' }],
      [
        'busy: refused message not reported',
        'reject',
        { statement: "control.report('turn:rejected', { code: 'SESSION_BUSY' })", becomes: '' },
      ],
      [
        'busy: turn counted whose place is taken',
        'checkMayWait',
        { piece: 'queued - waitersToSupersede(turn, policy, lock).length', becomes: 'queued' },
      ],
      [
        'static busy of a flow ignored',
        'policyFor',
        { piece: 'engine.flows.get(flowName)?.busy ?? engine.busy', becomes: 'engine.busy' },
      ],
      [
        'message of another flow interrupts',
        'policyFor',
        {
          piece: "policy === 'reject' || flowName === control.flowName ? policy : 'queue'",
          becomes: 'flowName === control.flowName ? policy : policy',
        },
      ],
      [
        'stranger interrupts a turn that loads',
        'policyFor',
        { piece: 'underWay === undefined || underWay.input.owner !== input.owner', becomes: 'underWay === undefined' },
      ],
      [
        'busy: turn in the queue not told whose message took its place',
        'takePlace',
        { statement: "control.report('turn:superseded', { byTurnId: turn.control.turnId })", becomes: '' },
      ],
      [
        'busy: latest interrupts',
        'takePlace',
        { piece: "policy === 'interrupt' ? turnOf(lock.holder) : undefined", becomes: 'turnOf(lock.holder)' },
      ],
      [
        'busy: interrupted turn goes on',
        'takePlace',
        { piece: 'interrupted.control.abort(new TurnSupersededError())', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/lock/busy.ts',
    tests: ['testing/contract/busy/busy.'],
    rows: [
      [
        'busy model: messages superseded merged in another order',
        'takeMessages',
        { piece: '[...other.control.replaced, other]', becomes: '[other, ...other.control.replaced]' },
      ],
      [
        'busy model: place taken of another owner',
        'waitersToSupersede',
        { piece: 'other.input.owner === input.owner && other.control', becomes: 'other.control' },
      ],
      [
        'busy model: place taken of another flow',
        'waitersToSupersede',
        { piece: ' && other.control.flowName === control.flowName', becomes: '' },
      ],
      [
        'busy model: latest passes on messages',
        'takePlace',
        { piece: "if (policy === 'interrupt') takeMessages", becomes: 'takeMessages' },
      ],
      [
        'busy model: all messages superseded are kept',
        'takeMessages',
        { piece: 'all.slice(-engine.limits.maxQueuedTurnsPerSession)', becomes: 'all' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/merge-messages.ts',
    tests: ['src/engine/flow-engine.merge.', 'src/engine/turn/merge-messages.'],
    rows: [
      [
        'turn merged that ended otherwise',
        'replacedTurns',
        { piece: 'replaced.slice(ended + 1)', becomes: 'replaced' },
      ],
      [
        'keys of merged messages forgotten',
        'mergeMessages',
        { piece: '[...keysOf(replaced), ...control.requestKeys]', becomes: 'control.requestKeys' },
      ],
      [
        'merged text of any length',
        'checkMerged',
        { piece: 'utf8Length(merged) <= limits.maxMessageBytes', becomes: 'true' },
      ],
      [
        'merge keeps all attachments',
        'mergeAttachments',
        { piece: 'jsonSize(all.slice(first - 1)) <= mostBytes', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/engine/lock/cancel-turn.ts',
    tests: ['src/engine/flow-engine.cancel.'],
    rows: [
      [
        'cancel ends the turn of another owner',
        'turnUnderWay',
        { piece: 'turn.input.owner === caller.owner', becomes: 'turn !== undefined' },
      ],
      [
        'cancel does not wait until the turn is settled',
        'cancelTurn',
        {
          statement: 'await atMost(engine, engine.limits.storeTimeoutMs * writeAttempts, holder.ended())',
          becomes: '',
        },
      ],
      [
        'cancel waits for ever for a dropped turn',
        'cancelTurn',
        {
          piece: 'await atMost(engine, engine.limits.storeTimeoutMs * writeAttempts, holder.ended())',
          becomes: 'await holder.ended()',
        },
      ],
      [
        'second cancel knows nothing of the first',
        'cancelTurn',
        { condition: '!control.isCancelled', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/engine/core/session-state.ts',
    tests: ['src/engine/flow-engine.busy.', 'src/engine/flow-engine.interrupt.'],
    rows: [
      [
        'state of a busy session looked up',
        'stateUnseen',
        { condition: "error.code === 'SESSION_BUSY'", becomes: 'false' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/routes/cancel.ts',
    tests: ['adapters/fetch/routes/cancel.'],
    rows: [
      [
        'cancel over HTTP without its owner',
        'cancelTurn',
        { piece: 'caller?.principal === undefined ? {} : { owner: caller.principal }', becomes: 'undefined' },
      ],
    ],
  },
]
