/**
 * Wakes sessions by a cron job over one table. A row is a time at which a session must be woken. The statements are
 * those of Postgres, and SQLite takes them, too.
 *
 *     const wakes = new WakeTable((statement, values) => pool.query({ text: statement, values }).then(({ rows }) => rows))
 *     await wakes.create()
 *     const engine = new FlowEngine({ flows, sessionStore, schedule: wakes.schedule })
 *     setInterval(() => wakes.wakeDue(engine).catch(report), 60_000) // or a job of cron, or of the platform
 */
import type { FlowEngine } from 'turnkeeper'

/** Runs one statement, with the values of `$1`, `$2` and so on. Resolves to the rows that it returns. */
export type Query = (statement: string, values?: (string | number)[]) => Promise<unknown>

interface Row {
  readonly session_id: string
  /** ISO 8601, UTC: such texts sort as the times do. */
  readonly due_at: string
}

/** Until a wake that failed is tried again. */
const retryMs = 300_000

/** The times at which sessions must be woken. */
export class WakeTable {
  readonly #query: Query

  constructor(query: Query) {
    this.#query = query
  }

  /** Creates the table, unless it exists. */
  async create(): Promise<void> {
    await this.#query(
      'CREATE TABLE IF NOT EXISTS wake (due_at text, session_id text, PRIMARY KEY (due_at, session_id))',
    )
  }

  /** The engine option `schedule`. */
  readonly schedule = async ({ sessionId, at }: { sessionId: string; at: string }): Promise<void> => {
    await this.#query('INSERT INTO wake VALUES ($1, $2) ON CONFLICT DO NOTHING', [at, sessionId])
  }

  /**
   * Wakes each session that is due. A row goes after its wake, so nothing is lost if the process ends in between, or if
   * two processes do this at once: waking twice does no harm. If a wake failed, its row comes again after five minutes,
   * behind the others.
   *
   * @returns how many wakes succeeded
   */
  async wakeDue(engine: FlowEngine, now: number = Date.now()): Promise<number> {
    const due = 'SELECT due_at, session_id FROM wake WHERE due_at <= $1 ORDER BY due_at LIMIT 100'
    const rows = (await this.#query(due, [isoAfter(now, 0)])) as readonly Row[]
    let done = 0
    for (const { due_at: at, session_id: sessionId } of rows) {
      const { results } = await engine.wake({ sessionId })
      const hasFailed = results.some(({ error }) => error !== undefined)
      if (hasFailed) await this.schedule({ sessionId, at: isoAfter(now, retryMs) })
      else done += 1
      await this.#query('DELETE FROM wake WHERE due_at = $1 AND session_id = $2', [at, sessionId])
    }
    return done
  }
}

function isoAfter(now: number, ms: number): string {
  return new Date(now + ms).toISOString()
}
