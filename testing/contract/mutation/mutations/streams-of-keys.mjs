// Mutations: streams that survive their readers, and what HTTP says of requests with a key.

const follow = ['src/engine/turn/turn-stream.follow.']
const onDisconnect = ['src/engine/turn/turn-stream.on-disconnect.', 'src/engine/flow-engine.on-disconnect.']
const http = ['adapters/fetch/keys.']

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const streamOfKeyMutations = [
  {
    file: 'src/engine/stream/turn-stream.ts',
    tests: follow,
    rows: [
      [
        'reader that comes back keeps text that was taken back',
        'TurnStream.follow',
        { piece: "this.#position !== '' && this.#position === source.#position", becomes: "this.#position !== ''" },
      ],
      [
        'reader that was cut off while it caught up has missed nothing',
        'TurnStream.follow',
        { piece: 'hasAll ? source.#number : 0', becomes: 'source.#number' },
      ],
      [
        'reader of a turn that had not begun keeps its old text',
        'TurnStream.follow',
        { piece: 'this.#isStale = true', becomes: 'this.#isStale = false' },
      ],
      [
        'text of a cancelled turn stays in the stream of the next one',
        'TurnStream.#stopFollowing',
        { condition: "this.#text !== ''", becomes: 'false' },
      ],
      [
        'reader of a replayed result keeps its old text',
        'TurnStream.readOptions',
        { piece: 'this.#isStale = true', becomes: 'this.#isStale = false' },
      ],
      [
        'stream of a replayed result has no session',
        'TurnStream.#conclude',
        { condition: 'replayed === true && this.#number === 0', becomes: 'false' },
      ],
      [
        'reader that has joined and leaves waits for the turn',
        'TurnStream.return',
        { condition: 'source === undefined', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/engine/stream/turn-stream.ts',
    tests: onDisconnect,
    rows: [
      [
        'reader that leaves aborts a turn with a key',
        'TurnStream.return',
        { condition: 'this.#goesOn', becomes: 'false' },
      ],
      [
        'slow reader holds back a turn that goes on',
        'TurnStream.room',
        { piece: 'this.#goesOn ? undefined : this.#queue.room()', becomes: 'this.#queue.room()' },
      ],
      [
        'turn without a key goes on without its reader',
        'TurnStream.readOptions',
        { piece: "hasKey ? 'finish' : 'cancel'", becomes: "'finish'" },
      ],
    ],
  },
  {
    file: 'src/engine/stream/piece-queue.ts',
    tests: ['src/engine/turn/turn-stream.test'],
    rows: [
      [
        'slow reader does not hold the turn back',
        'PieceQueue.room',
        { piece: 'this.#waiting.length < maxWaiting', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/engine/stream/piece-queue.ts',
    tests: onDisconnect,
    rows: [
      [
        'pieces of text pile up before a reader that sleeps',
        'PieceQueue.#join',
        { condition: "event.type === 'text-delta' && last?.type === 'text-delta'", becomes: 'false' },
      ],
      [
        'text that was taken back waits for a reader that sleeps',
        'PieceQueue.#join',
        { condition: "event.type === 'reset'", becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/execute-turn.ts',
    tests: onDisconnect,
    rows: [
      [
        'runtime is not given a streamed turn that goes on',
        'checkInput',
        { condition: 'goingOn !== undefined && input.waitUntil !== undefined', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/routes/run.ts',
    tests: http,
    rows: [
      [
        'client that goes away aborts a turn with a key',
        'inputOf',
        { condition: "request.signal && onDisconnect === 'cancel'", becomes: 'request.signal' },
      ],
      [
        'runtime is not given a plain turn that goes on',
        'answer',
        { condition: "onDisconnect === 'finish'", becomes: 'false' },
      ],
      [
        'option onDisconnect is ignored',
        'answer',
        {
          piece: "context.onDisconnect ?? (key === undefined ? 'cancel' : 'finish')",
          becomes: "key === undefined ? 'cancel' : 'finish'",
        },
      ],
    ],
  },
  {
    file: 'adapters/fetch/reply/stream.ts',
    tests: http,
    rows: [
      ['ID of an event ends its line', 'isEventId', { piece: '/^[\\x21-\\x7e]{1,512}$/.test(id)', becomes: 'true' }],
    ],
  },
  {
    file: 'adapters/fetch/reply/statuses.ts',
    tests: http,
    rows: [
      [
        'full queue does not say when to come again',
        'addRetryAfter',
        { condition: 'isPassing(status)', becomes: 'status === 503' },
      ],
    ],
  },
]
