// Stores whose listings are broken: each fails the cases that test for it.
import { describe, test } from 'vitest'
import type { SessionDocument, SessionListQuery, SessionSummary } from '../../../../src/index.js'
import { fromCursor, isListed, type SessionPage, toCursor } from '../../../../src/session/session-summary.js'
import { type BrokenStore, DownStore, expectCaught, TextStore } from '../../../contract/text-store.js'

/** A store that shows what a function makes of a row. */
function showing(
  what: string,
  show: (row: SessionSummary, document: SessionDocument) => unknown,
  ...caughtBy: readonly string[]
): BrokenStore {
  const store = class extends TextStore {
    override rowOf(document: SessionDocument): SessionSummary {
      return show(super.rowOf(document), document) as SessionSummary
    }
  }
  return { what, store, caughtBy }
}

/** A store that goes by another query than the one it was given. */
function asking(
  what: string,
  ask: (query: SessionListQuery, row: SessionSummary) => SessionListQuery,
  ...caughtBy: readonly string[]
): BrokenStore {
  const store = class extends TextStore {
    override isShown(row: SessionSummary, query: SessionListQuery): boolean {
      return isListed(row, ask(query, row))
    }
  }
  return { what, store, caughtBy }
}

function without<Key extends keyof SessionListQuery>(query: SessionListQuery, key: Key): SessionListQuery {
  const { [key]: _left, ...rest } = query
  return rest as unknown as SessionListQuery
}

/** A store in which a page by number begins where the one before ended. */
class CountingStore extends TextStore {
  override async list(query: SessionListQuery): Promise<SessionPage> {
    const { limit, cursor } = query
    const [first] = cursor === undefined ? [0] : fromCursor<[number]>(cursor, ([count]) => typeof count === 'number')
    const { sessions } = await super.list({ ...without(query, 'cursor'), limit: 10_000 })
    const page = sessions.slice(first, first + limit)
    return first + limit < sessions.length ? { sessions: page, cursor: toCursor([first + limit]) } : { sessions: page }
  }
}

const broken: readonly BrokenStore[] = [
  showing(
    'a row has the history',
    (row, { history }) => ({ ...row, history }),
    'listing: a session is shown by these fields and no others',
  ),
  asking(
    'owners are compared by their beginning',
    (query, { owner }) => {
      const isPrefix = query.owner !== undefined && owner?.startsWith(query.owner) === true
      return isPrefix ? { ...query, owner: owner as string } : query
    },
    'listing: an owner has its sessions and no others',
  ),
  {
    what: 'the last page is left out',
    store: class extends TextStore {
      override async list(query: SessionListQuery): Promise<SessionPage> {
        const page = await super.list(query)
        return page.cursor === undefined && query.cursor !== undefined ? { sessions: [] } : page
      }
    },
    caughtBy: ['listing: pages have at most as many sessions as the limit, and miss none'],
  },
  asking(
    'without an owner only the sessions of nobody are shown',
    (query, row) => (query.owner === undefined && row.owner !== undefined ? { ...query, owner: 'nobody' } : query),
    'listing: without an owner it has all sessions, owned or not',
  ),
  ...(['flowName', 'runStatus', 'savedBefore'] as const).map((filter) =>
    asking(
      `${filter} is ignored`,
      (query) => without(query, filter),
      'listing: it goes by flow, state and time of the last save',
    ),
  ),
  showing(
    'a row is as the session was created',
    (row) => ({ ...row, turns: 1, runStatus: 'running' }),
    'listing: it shows what the last save made of a session',
  ),
  {
    what: 'a listing remembers what it has shown',
    store: class extends TextStore {
      readonly #shown = new Map<string, SessionSummary>()
      override async delete(sessionId: string, expected?: string): Promise<void> {
        const [row] = this.listed(sessionId)
        if (row !== undefined) this.#shown.set(sessionId, row)
        await super.delete(sessionId, expected)
      }
      override async list(query: SessionListQuery): Promise<SessionPage> {
        const page = await super.list(query)
        const old = [...this.#shown.values()].filter((row) => isListed(row, query))
        return { ...page, sessions: [...page.sessions, ...old].slice(0, query.limit) }
      }
    },
    caughtBy: [
      'listing: a deleted session is gone, and one in its place is shown once',
      'listing: an ID of another owner is shown for that owner alone',
    ],
  },
  {
    what: 'a page is found by the number of sessions before it',
    store: CountingStore,
    caughtBy: ['listing: what is there from the first page to the last is shown, whatever comes and goes'],
  },
  {
    what: 'a handle shows what it has stored itself',
    store: class extends TextStore {
      readonly #own = new Set<string>()
      override write(document: SessionDocument): void {
        this.#own.add(document.id)
        super.write(document)
      }
      override listed(key: string): SessionSummary[] {
        return super.listed(key).filter(({ id }) => this.#own.has(id))
      }
    },
    caughtBy: ['listing: every handle shows the same'],
  },
  showing(
    'an ID is shown without blanks at its ends',
    (row) => ({ ...row, id: row.id.trim() }),
    'listing: hostile IDs and owners are shown as they are',
  ),
  {
    what: 'any cursor is the beginning',
    store: class extends TextStore {
      override async list(query: SessionListQuery): Promise<SessionPage> {
        return super.list(query).catch(() => super.list(without(query, 'cursor')))
      }
    },
    caughtBy: ['listing: an invalid cursor is refused'],
  },
  {
    what: 'what cannot be read ends a listing',
    store: class extends TextStore {
      override listed(key: string): SessionSummary[] {
        return [this.rowOf(JSON.parse(this.data.get(key)?.text ?? ''))]
      }
    },
    caughtBy: ['listing: what cannot be read is left out, and hides no other'],
  },
  {
    what: 'a listing works on a closed store',
    store: class extends TextStore {
      override async list(query: SessionListQuery): Promise<SessionPage> {
        const open = new TextStore(this.data)
        return open.list(query)
      }
    },
    caughtBy: ['listing: after close it rejects'],
  },
  {
    what: 'a listing hides an outage',
    store: TextStore,
    down: class extends DownStore {
      override async list(): Promise<SessionPage> {
        return { sessions: [] }
      }
    },
    caughtBy: ['listing: on a store that is down it rejects in time'],
  },
]

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
