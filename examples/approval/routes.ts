/** The routes: the customers', the page on which a manager decides, and the webhook of the shipping service. */
import { Hono } from 'hono'
import { html } from 'hono/html'
import { type FlowEngine, FlowError, type SendEventInput } from 'turnkeeper'
import { flowRoutes } from 'turnkeeper/hono'
import { isFinal } from './is-final.js'
import type { Office } from './office.js'

export function routesOf(engine: FlowEngine, { tickets }: Office): Hono {
  const app = new Hono()

  // A demonstration: your application checks who this is.
  const authorize = (request: Request) => ({ principal: request.headers.get('Customer') ?? 'guest' })
  app.route('/ai', flowRoutes(engine, { authorize, session: true }))

  // The link of a mail. Mail scanners open links, so it only shows a form.
  app.get('/decide', async (context) => {
    const input = await opened(() => tickets.open(context.req.query('ticket') ?? ''))
    return input === undefined ? context.html(page('This link is not valid.'), 400) : context.html(form(input))
  })

  app.post('/decide', async (context) => {
    const { approved } = await context.req.parseBody()
    const payload = { approved: approved === 'yes' }
    const input = await opened(() => tickets.open(context.req.query('ticket') ?? '', payload))
    if (input === undefined) return context.html(page('This link is not valid.'), 400)
    const result = await engine.sendEvent(input)
    if (result.error === undefined) return context.html(page('Thank you. The customer knows.'))
    if (isFinal(result)) return context.html(page('Nobody waits for this any more.'), 409)
    return context.html(page('Nobody waits for this now. If you were asked just now, try again.'), 503)
  })

  // The provider names its event, and the session that the shop gave it with the order. Check its signature here.
  app.post('/webhooks/shipped', async (context) => {
    const { id, session, order, parcel } = await context.req.json<Record<string, string>>()
    const result = await engine.sendEvent({
      sessionId: String(session),
      event: 'shipped',
      payload: { order: String(order), parcel: String(parcel) },
      idempotencyKey: `shipped-event-${id}`,
    })
    return context.json({ taken: result.error === undefined }, isFinal(result) ? 200 : 503)
  })

  return app
}

async function opened(open: () => Promise<SendEventInput>): Promise<SendEventInput | undefined> {
  return open().catch((error: unknown) => {
    if (FlowError.isInstance(error)) return undefined
    throw error
  })
}

function form({ by, about }: SendEventInput) {
  const { amount } = about as { amount: number }
  return page(html`${by}, do you agree to a refund of ${amount}?
    <form method="post">
      <button name="approved" value="yes">Approve</button>
      <button name="approved" value="no">Decline</button>
    </form>`)
}

function page(content: unknown) {
  return html`<!doctype html>
    <html lang="en"><title>Refund</title><meta name="referrer" content="no-referrer"><body>${content}</body></html>`
}
