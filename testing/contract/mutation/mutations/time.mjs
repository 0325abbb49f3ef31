// Mutations of how durations are measured: by monotonic time, never by the time of day.
const durations = ['src/engine/flow-engine.wall-time.']

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const timeMutations = [
  {
    file: 'src/engine/turn/tools/run-tool.ts',
    tests: ['src/engine/flow-engine.broken-clock.'],
    rows: [
      [
        'failure of the clock said to be the time of a tool',
        'withinTime',
        { piece: 'failure ?? passed()', becomes: 'passed()' },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/model-attempt.ts',
    tests: ['src/engine/flow-engine.broken-clock.'],
    rows: [
      [
        'failure of the clock said to be the time of a model',
        '#run',
        { condition: 'failure !== undefined', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/attempts.ts',
    tests: ['src/engine/flow-engine.broken-clock.'],
    rows: [
      [
        "clock's own text shown to the user",
        'pause',
        {
          piece: 'setDeadline(control.engine.clock, delayMs, () => { control.removePending(stopTimer) resolve() })',
          becomes: 'control.engine.clock.setTimer(() => { control.removePending(stopTimer); resolve() }, delayMs)',
        },
      ],
    ],
  },
  {
    file: 'src/config/deadlines.ts',
    tests: ['src/config/deadlines.'],
    rows: [["lists of deadlines kept for flows' own durations", '#listFor', { condition: 'isOwn', becomes: 'false' }]],
  },
  {
    file: 'src/engine/turn/tools/run-tool.ts',
    tests: ['src/engine/turn/run-tool.'],
    rows: [
      [
        "list of deadlines kept for a tool's own limit",
        'timeLimitOf',
        { piece: 'isOwn: true', becomes: 'isOwn: false' },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/model-attempt.ts',
    tests: ['src/engine/model-call/attempts.retry.'],
    rows: [
      [
        "list of deadlines kept for a step's own limit",
        '#run',
        { piece: 'const isOwn = ownTimeoutMs !== undefined', becomes: 'const isOwn = false' },
      ],
    ],
  },
  {
    file: 'src/config/clock.ts',
    tests: durations,
    rows: [
      [
        'durations by the time of day',
        'monotonicTime',
        { piece: 'clock.monotonic?.() ?? clock.now()', becomes: 'clock.now()' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/control/turn-control.ts',
    tests: durations,
    rows: [
      [
        'deadline of a turn by the time of day',
        'TurnControl.begin',
        { piece: 'this.startedAt = monotonicTime(clock)', becomes: 'this.startedAt = clock.now()' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/tools/run-tool.ts',
    tests: durations,
    rows: [
      [
        'duration of a tool by the time of day',
        'runTool',
        { piece: 'const startedAt = monotonicTime(clock)', becomes: 'const startedAt = clock.now()' },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/attempts.ts',
    tests: durations,
    rows: [
      [
        'trial call of a breaker by the time of day',
        'attemptModel',
        {
          piece: 'checkMayCall(draft, breaker, resolved, startedAt)',
          becomes: 'checkMayCall(draft, breaker, resolved, clock.now())',
        },
      ],
      [
        'delay between attempts by the time of day',
        'delayAfter',
        { piece: 'const now = monotonicTime(clock)', becomes: 'const now = clock.now()' },
      ],
    ],
  },
  {
    file: 'src/model/model-failure.ts',
    tests: ['src/model/model-failure.', ...durations],
    rows: [
      [
        'date of Retry-After counted from the time of this machine',
        'retryAfterOf',
        { piece: 'Number.isNaN(sentAt) ? now : sentAt', becomes: 'now' },
      ],
    ],
  },
  {
    file: 'src/session/store-access.ts',
    tests: durations,
    rows: [
      [
        'read-back of a write bounded by the time of day',
        '#settle',
        { piece: 'this.#timeoutMs - monotonicTime(this.#clock)', becomes: 'this.#timeoutMs - this.#clock.now()' },
      ],
    ],
  },
  {
    file: 'src/stores/memory/session-cache.ts',
    tests: ['src/stores/memory/session-cache.'],
    rows: [
      [
        'session in memory that lives by the time of day',
        'SessionCache.set',
        { piece: 'const now = monotonicTime(clock)', becomes: 'const now = clock.now()' },
      ],
    ],
  },
]
