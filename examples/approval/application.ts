/**
 * The server of the example: the customers' routes, the page on which a manager decides, and the webhook of the
 * shipping service. Any number of processes may run it over one folder.
 */
import { join } from 'node:path'
import KeyvSqlite from '@keyv/sqlite'
import { type Clock, FlowEngine, type FlowServices } from 'turnkeeper'
import { createSqliteKeyv, KeyvSessionStore } from 'turnkeeper/keyv'
import { WakeTable } from '../schedulers/cron.js'
import { Help } from './help.js'
import { openOffice } from './office.js'
import { routesOf } from './routes.js'

export interface Settings {
  /** For the sessions, the table of wakes, the mails and the payouts. */
  readonly folder: string
  /** Where the managers' pages are. */
  readonly officeUrl: string
  /** Seals the links: at least 32 random characters. */
  readonly secret: string
  /** Default: the machine's. */
  readonly clock?: Clock
}

export async function createApplication({ folder, officeUrl, secret, clock }: Settings) {
  const file = new KeyvSqlite({ uri: `sqlite://${join(folder, 'wakes.sqlite')}`, table: 'keyv', busyTimeout: 2_500 })
  const wakes = new WakeTable((statement, values = []) => file.query(statement, ...values))
  await wakes.create()
  const office = openOffice(folder, officeUrl, secret)
  const engine = new FlowEngine({
    flows: [Help],
    sessionStore: new KeyvSessionStore({ keyv: await createSqliteKeyv(join(folder, 'sessions.sqlite')) }),
    onTurnError: 'rollback',
    // Alone in a project, it needs no cast: other examples of this folder declare more services.
    services: { office } as FlowServices,
    schedule: wakes.schedule,
    ...(clock === undefined ? {} : { clock }),
  })
  return {
    engine,
    wakes,
    app: routesOf(engine, office),
    async close(): Promise<void> {
      await engine.close()
      await file.close()
    },
  }
}
