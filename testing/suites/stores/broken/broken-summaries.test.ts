// Stores whose summaries are broken: each fails the cases that test for it.
import { describe, test } from 'vitest'
import type { SessionSummary } from '../../../../src/index.js'
import { type BrokenStore, expectCaught, TextStore } from '../../../contract/text-store.js'

const fields = 'summary: it is what a listing shows of a session, as long as there is one'

const broken: readonly BrokenStore[] = [
  {
    what: 'a summary is the document',
    store: class extends TextStore {
      override async summary(sessionId: string): Promise<SessionSummary | undefined> {
        return (await this.load(sessionId)) as never
      }
    },
    caughtBy: [fields],
  },
  {
    what: 'a summary stays as it was first read',
    store: class extends TextStore {
      readonly #read = new Map<string, SessionSummary | undefined>()
      override async summary(sessionId: string): Promise<SessionSummary | undefined> {
        const summary = this.#read.get(sessionId) ?? (await super.summary(sessionId))
        this.#read.set(sessionId, summary)
        return summary
      }
    },
    caughtBy: [fields],
  },
  {
    what: "a stranger's session is missing",
    store: class extends TextStore {
      override async summary(sessionId: string, caller?: { owner?: string }): Promise<SessionSummary | undefined> {
        const summary = await super.summary(sessionId)
        return caller !== undefined && summary?.owner !== caller.owner ? undefined : summary
      }
    },
    caughtBy: ['summary: a stranger gets one that names the owner'],
  },
  {
    what: 'what cannot be read is missing',
    store: class extends TextStore {
      override summary(sessionId: string): Promise<SessionSummary | undefined> {
        return super.summary(sessionId).catch(() => undefined)
      }
    },
    caughtBy: ['summary: that of an unreadable session rejects'],
  },
]

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
