/** Mutations of what the harness says about retries, messages at the same time, and effects. */

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const harnessMutations = [
  {
    file: 'testing/recording/replay-all.ts',
    tests: ['testing/recording/replay-all.'],
    rows: [
      [
        'report of a folder repeats a turn that hangs in several sessions',
        'differenceIn',
        { piece: ".replaceAll(/^ {2}- #\\d+ /gm, '  - ')", becomes: '' },
      ],
    ],
  },
  {
    file: 'testing/simulate/simulate.ts',
    tests: ['testing/simulate/'],
    rows: [
      [
        'simulation shortens a conversation that hangs, which hangs each time',
        'simulate',
        { condition: 'failed?.world?.isHanging === true', becomes: 'false' },
      ],
      [
        'simulation passes if a conversation cannot go on',
        'play',
        { piece: 'return { failed: { world, cause } }', becomes: 'return { world: world as SimulatedWorld }' },
      ],
    ],
  },
  {
    file: 'testing/expectations/author-frames.ts',
    tests: ['testing/expectations/author-frames.', 'testing/conversation/author-lines.'],
    rows: [
      [
        'failure of the harness does not name the line of the flow',
        'causesText',
        { piece: 'authorFrames(cause).map', becomes: '[].map' },
      ],
      [
        'failure of the harness shows the lines of the engine',
        'authorFrames',
        { condition: "path === '' || !isOfAuthor(path)", becomes: "path === ''" },
      ],
    ],
  },
  {
    file: 'testing/conversation/conversation-record.ts',
    tests: ['testing/conversation/author-lines.'],
    rows: [
      [
        'only expectations that look at the reply say why the turn failed',
        'ConversationRecord.fail',
        { piece: 'failure === undefined ? text', becomes: 'true ? text' },
      ],
    ],
  },
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
    file: 'testing/conversation/process-death.ts',
    tests: ['testing/conversation/retries.'],
    rows: [
      [
        'process of the harness writes after its death',
        'ProcessDeath.prepare',
        { piece: 'store?.outage()', becomes: 'undefined' },
      ],
      [
        'client of the harness gets the reply of a dead process',
        'ProcessDeath.endOf',
        { condition: 'diedAfter !== undefined', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'testing/conversation/conversation.ts',
    tests: ['testing/conversation/use.'],
    rows: [
      [
        'conversation of the harness stays open after a test that failed',
        'Conversation.use',
        { piece: 'await this.close().catch(() => undefined)', becomes: 'void this' },
      ],
    ],
  },
  {
    file: 'testing/conversation/conversation.ts',
    tests: ['testing/conversation/leftovers.'],
    rows: [
      [
        'harness takes any options of a fork',
        'Conversation.fork',
        { piece: "checkConversationOptions('fork', options)", becomes: '' },
      ],
    ],
  },
  {
    file: 'testing/conversation/expectations.ts',
    tests: ['testing/contract/failure-messages/'],
    rows: [
      [
        'failure of the harness does not name the tool calls that were expected',
        'toolCallsProblem',
        { piece: ', ...expectedNames(wanted)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/model/model-failure.ts',
    tests: ['src/model/model-failure.'],
    rows: [
      [
        'failure without headers loads the HTTP client, and a first test of the harness takes twice as long',
        'retryAfterOf',
        { condition: 'given === undefined', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'testing/conversation/session-start.ts',
    tests: ['testing/conversation/conversation-at.'],
    rows: [
      [
        'conversation of the harness begins with a state that is not JSON',
        'plain',
        { piece: 'copyJson(value, name, Number.POSITIVE_INFINITY, refuse)', becomes: 'value' },
      ],
      [
        'conversation of the harness that begins at a step loses the initial state of the step',
        'startedSession',
        { piece: '...new stepClass().initialState(), ', becomes: '' },
      ],
    ],
  },
  {
    file: 'testing/conversation/flow-of-one-step.ts',
    tests: ['testing/conversation/run-step.'],
    rows: [
      [
        'step of the harness that runs alone runs the next one',
        'FlowOfOneStep.#redirected',
        { piece: '...returned.fields, target: Elsewhere', becomes: '...returned.fields' },
      ],
    ],
  },
  {
    file: 'testing/conversation/run-step.ts',
    tests: ['testing/conversation/run-step.'],
    rows: [
      [
        'step of the harness that runs alone passes a turn that failed',
        'oneTurn',
        { condition: 'failure !== undefined', becomes: 'false' },
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
    tests: ['testing/conversation/transcript.'],
    rows: [
      [
        'transcript loses an attempt that the engine aborted',
        'attemptOf',
        { piece: 'exceeded === undefined', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'testing/tool-doubles/tool-doubles.ts',
    tests: ['testing/conversation/failures.'],
    rows: [
      [
        'double that drops state does not say so',
        'ToolDoubles.#run',
        { piece: 'this.#answered.add(call.name)', becomes: 'void call' },
      ],
    ],
  },
  {
    file: 'testing/virtual-clock/hang-watch.ts',
    tests: ['testing/conversation/hangs.'],
    rows: [
      [
        'harness takes a turn that goes on for one that hangs',
        'unlessHanging',
        { piece: 'now === last ? left - 1 : looks', becomes: 'left - 1' },
      ],
    ],
  },
  {
    file: 'testing/conversation/turn-driver.ts',
    tests: ['testing/conversation/hangs.'],
    rows: [
      [
        'harness loses the report of a turn that hangs',
        'TurnDriver.drive',
        { piece: 'text: this.#hangText(isAfterTurn)', becomes: "text: ''" },
      ],
    ],
  },
  {
    file: 'testing/conversation/check-options.ts',
    tests: ['testing/conversation/retries.'],
    rows: [['conversation sends a message with a misspelt option', 'checkMessage', { body: '{}' }]],
  },
  {
    file: 'testing/lock-probe/lock-probe.ts',
    tests: ['testing/lock-probe/lock-probe.'],
    rows: [
      [
        'probe takes what a closed engine left under way for a second holder',
        'LockProbe.observe',
        { piece: 'this.#requests.endAll()', becomes: 'void this.#requests' },
      ],
      [
        'probe without an engine finds every lock released',
        'LockProbe.assertReleased',
        {
          piece: 'const session = this.#observed()',
          becomes: 'const session = this.#session as FlowSession',
        },
      ],
    ],
  },
  {
    file: 'testing/expectations/not-a-list.ts',
    tests: ['testing/contract/type-mistakes.'],
    rows: [
      [
        'harness marks every reply of a script with one mistake',
        'NotAList',
        { piece: 'readonly [Symbol.unscopables]?: never', becomes: 'readonly [Symbol.unscopables]?: unknown' },
      ],
    ],
  },
  {
    file: 'testing/lock-probe/gates.ts',
    tests: ['testing/contract/failure-messages/'],
    rows: [['harness loses the line that waits for a gate', 'madeAt', { piece: ', ...lines]', becomes: ']' }]],
  },
  {
    file: 'testing/conversation/conversation-record.ts',
    tests: ['testing/contract/failure-messages/'],
    rows: [
      [
        'harness loses the turn under way in which something else is called',
        'ConversationRecord.failUnderWay',
        { piece: ', { running: saying.underWay() }', becomes: '' },
      ],
      [
        'failure of the harness does not say in which turn it is',
        'ConversationRecord.fail',
        { piece: 'whole.includes(where)', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'testing/conversation/where-text.ts',
    tests: ['testing/contract/failure-messages/', 'testing/conversation/'],
    rows: [
      [
        'failure of the harness names the step before the one in which the turn failed',
        'whereText',
        { piece: '(entered ?? stored)', becomes: 'stored' },
      ],
      [
        'failure of the harness names a step of a turn before the one under way',
        'whereText',
        { piece: 'lastEntered(first.events) ??', becomes: '' },
      ],
    ],
  },
  {
    file: 'testing/conversation/turn-names.ts',
    tests: ['testing/conversation/retries.', 'testing/conversation/at-once.', 'testing/conversation/where-text.'],
    rows: [
      ['harness numbers a repeat as a turn', 'endedNames', { condition: 'reply.replayed === true', becomes: 'false' }],
      [
        'harness counts a turn that was rolled back',
        'endedNames',
        { piece: 'turn.number ?? numberOfFailed(turn)', becomes: 'turns.indexOf(turn) + 1' },
      ],
      [
        'failure of the harness counts the turns of another session',
        'lastRead',
        { piece: 'document?.id === session', becomes: 'document !== undefined' },
      ],
    ],
  },
  {
    file: 'testing/conversation/conversation-talk.ts',
    tests: ['testing/conversation/hangs.', 'testing/conversation/run-step.', 'testing/conversation/where-text.'],
    rows: [
      [
        'harness does not count the messages at once that have ended before one hangs',
        'ConversationTalk.atOnce',
        { piece: 'this.sent.addInOrder(await endedAtOnce(this.world, inputs))', becomes: '' },
      ],
      [
        'harness does not name the step that runs alone and hangs',
        'ConversationTalk.beginAt',
        { piece: 'this.record.start = document', becomes: '' },
      ],
      [
        'harness counts the turns of a fork from 1',
        'ConversationTalk.fork',
        {
          piece:
            'fork.record.start = { ...document, id: fork.sent.sessionId }\n    await this.record.placed(fork.world.engines.create(fork.record.start))',
          becomes: 'await this.record.placed(fork.world.engines.create({ ...document, id: fork.sent.sessionId }))',
        },
      ],
    ],
  },
  {
    file: 'testing/conversation/conversation-engines.ts',
    tests: ['testing/conversation/hangs.', 'testing/conversation/where-text.'],
    rows: [
      [
        'harness makes another engine for a message that is under way at the end',
        'ConversationEngines.end',
        { piece: 'this.#running = running', becomes: '' },
      ],
    ],
  },
  {
    file: 'testing/conversation/conversation-world.ts',
    tests: ['testing/conversation/hangs.', 'testing/conversation/where-text.'],
    rows: [
      [
        'harness takes a summary that hangs for a turn',
        'ConversationWorld.settled',
        { piece: 'isAfterTurn: true', becomes: 'isAfterTurn: false' },
      ],
    ],
  },
  {
    file: 'testing/scripted-model/scripted-answer.ts',
    tests: ['testing/scripted-model/'],
    rows: [
      [
        'scripted model makes a tool call without its misspelt input',
        'checkToolCalls',
        { condition: 'invalid.length > 0', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'testing/conversation/conversation-talk.ts',
    tests: ['testing/judge/', 'testing/conversation/failures.'],
    rows: [
      [
        'conversation of the harness ends before its judge has decided',
        'ConversationTalk.#close',
        { piece: 'this.record.check(notAwaited)', becomes: '' },
      ],
      [
        'conversation of the harness leaves the engine of a restart that was not awaited',
        'ConversationTalk.#end',
        { piece: 'await this.record.restarting?.catch(() => undefined)', becomes: '' },
      ],
    ],
  },
  {
    file: 'testing/scripted-model/model-script.ts',
    tests: ['testing/conversation/failures.'],
    rows: [
      [
        'what a function of a script throws is shown without its line',
        'replyOf',
        { piece: 'thrownText(error)', becomes: 'String(error)' },
      ],
    ],
  },
  {
    file: 'testing/conversation/conversation-talk.ts',
    tests: ['testing/conversation/leftovers.', 'testing/conversation/hangs.'],
    rows: [
      [
        'conversation of the harness checks nothing any more after a failure that the test caught and a restart',
        'ConversationTalk.restart',
        { piece: 'this.record.hasFailed = false', becomes: 'void this.record' },
      ],
      [
        'conversation of the harness checks nothing any more after a failure that the test caught and a message',
        'ConversationTalk.#begin',
        { piece: 'this.record.hasFailed = false', becomes: 'void this.record' },
      ],
      [
        'second hang of a conversation of the harness does not say where it is',
        'ConversationTalk.#requireNoHang',
        { condition: 'hang === undefined', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'testing/conversation/conversation-world.ts',
    tests: ['testing/conversation/unread-sessions.'],
    rows: [
      [
        'harness takes a session that it could not read for one that is not stored',
        'ConversationWorld.turnOf',
        { piece: '{ document: undefined, unread: { error } }', becomes: '{ document: undefined }' },
      ],
    ],
  },
  {
    file: 'testing/conversation/turn-names.ts',
    tests: ['testing/conversation/unread-sessions.'],
    rows: [
      [
        'harness numbers the turn after one that it could not read like that one',
        'nextNumber',
        { condition: 'last?.unread !== undefined', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'testing/conversation/conversation.ts',
    tests: ['testing/judge/judge.'],
    rows: [
      [
        'expectMeaning blames the turn after the one that it is about',
        'Conversation.#expectMeaning',
        { piece: 'problem && { ...problem, turn }', becomes: 'problem' },
      ],
      [
        'expectMeaning passes without a sentence',
        'Conversation.#expectMeaning',
        { condition: "meaning.trim() === ''", becomes: 'false' },
      ],
    ],
  },
  {
    file: 'testing/judge/recordings.ts',
    tests: ['testing/judge/judge.'],
    rows: [
      [
        'judge takes the text of a URL for a path',
        'Recordings.constructor',
        { piece: "file.startsWith('file:')", becomes: 'false' },
      ],
    ],
  },
  {
    file: 'testing/conversation/expectations.ts',
    tests: ['testing/conversation/wrong-inputs.'],
    rows: [
      [
        'expectReplies of the harness takes a text for a list of replies',
        'outcomesProblem',
        { condition: '!isListOf(expected', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'testing/conversation/check-options.ts',
    tests: ['testing/conversation/wrong-inputs.'],
    rows: [
      [
        'conversation of the harness remembers the letters of a message as turns',
        'checkStart',
        { piece: 'isPair(isText, isText)', becomes: 'isText' },
      ],
      [
        'conversation of the harness stores the letters of a text as a state',
        'checkStart',
        { piece: 'must(isObject(state), ', becomes: 'must(true, ' },
      ],
    ],
  },
  {
    file: 'testing/conversation/conversation-record.ts',
    tests: ['testing/conversation/surroundings.'],
    rows: [
      [
        'failure of the harness around the turns does not say where it is',
        'ConversationRecord.rethrow',
        { condition: 'this.#failures.has(error)', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'testing/conversation/conversation-engines.ts',
    tests: ['testing/conversation/surroundings.'],
    rows: [
      [
        'conversation of the harness waits for ever for a store that does not create the session in the middle',
        'ConversationEngines.#createIn',
        { piece: 'this.#surroundings.data.isOwn', becomes: 'true' },
      ],
      [
        'conversation of the harness takes memory where createStore returns nothing',
        'ConversationEngines.#makeStore',
        { condition: "isObject(made) && 'load' in made", becomes: 'true' },
      ],
      [
        'engine of the harness that is being made at the end stays open',
        'ConversationEngines.stop',
        { condition: 'this.#current === undefined', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'testing/recording/replay-engine.ts',
    tests: ['testing/recording/replay-all.'],
    rows: [
      [
        'replay leaves a turn that hangs under way',
        'ReplayEngine.close',
        { piece: 'await this.#clock.runUntil(this.#engine.close()).catch(() => undefined)', becomes: '' },
      ],
    ],
  },
  {
    file: 'testing/simulate/promises.ts',
    tests: ['testing/simulate/promises.'],
    rows: [
      [
        'simulation does not see a turn that is stored twice',
        'doubled',
        { condition: 'earlier !== undefined', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'testing/fake-session-store/check-faults.ts',
    tests: ['testing/fake-session-store/fake-session-store.'],
    rows: [
      [
        'store of the harness prepares a fault with a misspelt option',
        'checkFaultOptions',
        { piece: 'checkOptionNames(method, options, namesOf[method])', becomes: 'void options' },
      ],
      [
        'store of the harness prepares a fault for an operation that no store has',
        'checkFault',
        { condition: 'operation !== undefined', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'testing/conversation/client.ts',
    tests: ['testing/conversation/leftovers.'],
    rows: [
      [
        'client of the harness that nobody knows does nothing',
        'retryAs',
        { piece: '!Object.hasOwn(notesOfRetries, client)', becomes: 'false' },
      ],
      [
        'fault of the harness that retryAs has not made does nothing',
        'requireFault',
        { condition: 'isObject(fault)', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'testing/conversation/run-step.ts',
    tests: ['testing/conversation/leftovers.'],
    rows: [
      [
        'tool of the harness that is called alone loses a state without a step',
        'callTool',
        { condition: 'options.state !== undefined', becomes: 'false' },
      ],
    ],
  },
]
