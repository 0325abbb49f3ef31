/** The server of the example: the users' routes, and the page on which a colleague answers them. */
import { join } from 'node:path'
import KeyvSqlite from '@keyv/sqlite'
import { Hono } from 'hono'
import { html } from 'hono/html'
import { type Clock, FlowEngine, type FlowServices, type ModelProviderAdapter } from 'turnkeeper'
import { flowRoutes } from 'turnkeeper/hono'
import { createSqliteKeyv, KeyvSessionStore } from 'turnkeeper/keyv'
import { isFinal } from '../approval/is-final.js'
import { WakeTable } from '../schedulers/cron.js'
import { Desk } from './desk.js'
import { Inbox } from './inbox.js'

export interface Settings {
  /** For the sessions, and for the tables of the application. */
  readonly folder: string
  /** Has the provider `museum`. */
  readonly models: ModelProviderAdapter
  /** Default: the machine's. */
  readonly clock?: Clock
}

export async function createApplication({ folder, models, clock }: Settings) {
  const file = new KeyvSqlite({ uri: `sqlite://${join(folder, 'desk.sqlite')}`, table: 'keyv', busyTimeout: 2_500 })
  const query = (statement: string, values: (string | number)[] = []): Promise<unknown> =>
    file.query(statement, ...values)
  const [wakes, inbox] = [new WakeTable(query), new Inbox(query)]
  await wakes.create()
  await inbox.create()
  const engine = new FlowEngine({
    flows: [Desk],
    providers: [models],
    sessionStore: new KeyvSessionStore({ keyv: await createSqliteKeyv(join(folder, 'sessions.sqlite')) }),
    onTurnError: 'rollback',
    // Alone in a project, it needs no cast: other examples of this folder declare more services.
    services: { inbox } as FlowServices,
    schedule: wakes.schedule,
    ...(clock === undefined ? {} : { clock }),
  })
  return {
    engine,
    wakes,
    app: routesOf(engine, inbox),
    async close(): Promise<void> {
      await engine.close()
      await file.close()
    },
  }
}

function routesOf(engine: FlowEngine, inbox: Inbox): Hono {
  const app = new Hono()
  app.route('/ai', flowRoutes(engine, { authorize: 'none', session: true }))

  // Demonstrations: your application checks that these callers are colleagues, and who.
  app.get('/inbox', async (context) => {
    const forms = Array.from(await inbox.list(), ([session, messages]) => {
      // Of the page, so that a second click says nothing twice.
      const key = crypto.randomUUID()
      return html`<form method="post" action="/inbox/${session}?key=${key}">
        ${messages.map((message) => html`<p>${message}</p>`)}
        <textarea name="text"></textarea>
        <button name="event" value="says">Answer</button>
        <button name="event" value="gives-back">Give back</button>
      </form>`
    })
    return context.html(html`<!doctype html><html lang="en"><title>Inbox</title><body>${forms}</body></html>`)
  })

  app.post('/inbox/:session', async (context) => {
    const { event, text } = await context.req.parseBody()
    const sessionId = context.req.param('session')
    const result = await engine.sendEvent({
      sessionId,
      event: String(event),
      ...(event === 'says' ? { payload: { text: String(text) } } : {}),
      by: context.req.header('Colleague') ?? 'A colleague',
      idempotencyKey: context.req.query('key') ?? '',
    })
    return result.error === undefined ? context.redirect('/inbox', 303) : context.text('', isFinal(result) ? 409 : 503)
  })

  return app
}
