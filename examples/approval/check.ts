/**
 * Refunds that wait for a manager, over two processes that share a folder: this one serves the customer, on a clock that
 * it moves, and a process of its own serves the managers. Exits with 1 if anything fails.
 *
 *     npm run examples
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createChat } from 'turnkeeper/client'
import { VirtualClock } from 'turnkeeper/testing'
import { findSqlite, sqliteOptions } from '../restart/sqlite-package.js'
import { startChildServer } from '../server/checks/child-server.js'

const secret = 'a secret of the check, at least 32 characters'
const day = 86_400_000

async function checkAll(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-approval-'))
  const environment = { FOLDER: folder, SECRET: secret, ...sqliteOptions() }
  const office = await startChildServer(environment, new URL('serve.js', import.meta.url))
  const { createApplication } = await import('./application.js')
  const clock = new VirtualClock(Date.now())
  const shop = await createApplication({ folder, officeUrl: office.url, secret, clock })
  try {
    const check = new Check(folder, office.url, shop, clock)
    await check.approveElsewhere()
    await check.bothAtOnce()
    await check.withdraw()
    await check.remindAndExpire()
    await check.speakFirst()
    console.log('\nA decision was taken once, by whoever came first, and the customer saw it.')
  } finally {
    await shop.close()
    office.process.kill('SIGTERM')
    await office.ended
    rmSync(folder, { recursive: true, force: true })
  }
}

type Shop = Awaited<ReturnType<typeof import('./application.js').createApplication>>

/** Whoever comes first decides: how often that is tried. */
const races = 5

class Check {
  readonly #folder: string
  readonly #officeUrl: string
  readonly #shop: Shop
  readonly #clock: VirtualClock

  constructor(folder: string, officeUrl: string, shop: Shop, clock: VirtualClock) {
    this.#folder = folder
    this.#officeUrl = officeUrl
    this.#shop = shop
    this.#clock = clock
  }

  async approveElsewhere(): Promise<void> {
    // What the customer's page does: with `refreshEveryMs` it also refreshes by itself.
    const page = createChat({
      url: 'http://shop/ai',
      flow: 'Help',
      headers: { Customer: customer },
      fetch: async (url, options) => this.#shop.app.request(String(url), options),
    })
    assert.match((await page.send('refund 250')).text, /needs a manager/)
    assert.match((await page.send('When do you open?')).text, /^We are open from 9 to 5\. Your refund still waits/)
    const { session } = page.state
    const [first, second] = this.#links('Request') as [string, string]

    console.log('--- a mail scanner opens the link, and then the manager')
    const before = await this.#stored(session)
    for (const _ of ['scanner', 'manager']) {
      const form = await (await fetch(first)).text()
      assert.match(form, /Ada Meier, do you agree to a refund of 250\?/)
    }
    assert.equal(await this.#stored(session), before, 'opening a link does nothing')
    assert.equal((await fetch(`${this.#officeUrl}/decide?ticket=forged`, { method: 'POST' })).status, 400)

    console.log('--- the manager approves in the other process')
    assert.deepEqual(await decide(first, 'yes'), [200, 'Thank you. The customer knows.'])
    const last = (await page.refresh()).at(-1)
    assert.equal(last?.text, 'Ada Meier has agreed. 250 is on its way to you.')
    assert.deepEqual([last.event?.name, last.event?.by], ['decision', 'Ada Meier'])
    assert.equal(this.#payouts(), 1)

    console.log('--- a second click repeats the answer; a colleague comes too late')
    const after = await this.#stored(session)
    assert.deepEqual(await decide(first, 'yes'), [200, 'Thank you. The customer knows.'])
    assert.equal((await decide(first, 'no'))[0], 503)
    assert.equal((await decide(second, 'no'))[0], 503)
    assert.equal(await this.#stored(session), after, 'nothing has changed')
    assert.equal(this.#payouts(), 1)
    assert.equal(await this.#say('bye', session), 'Goodbye.')
    assert.deepEqual(await decide(second, 'no'), [409, 'Nobody waits for this any more.'])
  }

  async bothAtOnce(): Promise<void> {
    console.log('--- two managers approve at once, in two processes')
    for (let race = 0; race < races; race++) {
      const before = this.#payouts()
      const session = await this.#ask(300)
      const [first, second] = this.#links('Request') as [string, string]
      const here = (link: string): Promise<Response> =>
        Promise.resolve(
          this.#shop.app.request(link, { method: 'POST', body: new URLSearchParams({ approved: 'yes' }) }),
        )
      const [[elsewhere], { status }] = await Promise.all([decide(first, 'yes'), here(second)])
      assert.deepEqual([elsewhere, status].sort(), [200, 503])
      assert.equal(this.#payouts(), before + 1)
      const decisions = (await this.#turns(session)).filter(({ reply }) => reply.includes('has agreed'))
      assert.equal(decisions.length, 1)
    }
  }

  async withdraw(): Promise<void> {
    const before = this.#payouts()
    const session = await this.#ask(400)
    const [link = ''] = this.#links('Request')
    assert.equal(await this.#say('withdraw', session), 'Your request is withdrawn.')
    const stored = await this.#stored(session)
    assert.equal((await decide(link, 'yes'))[0], 503)
    assert.equal(await this.#stored(session), stored)
    assert.equal(this.#payouts(), before)
  }

  async remindAndExpire(): Promise<void> {
    console.log('--- nobody decides for a week')
    const session = await this.#ask(500)
    const [link = ''] = this.#links('Request')
    assert.equal(this.#links('Reminder').length, 0)
    for (let passed = 0; passed < 8; passed++) {
      await this.#clock.advance(day)
      await this.#shop.wakes.wakeDue(this.#shop.engine, this.#clock.now())
    }
    assert.equal(this.#links('Reminder').length, 2)
    const spoken = (await this.#turns(session)).slice(1).map(({ reply }) => reply)
    assert.deepEqual(spoken, [
      'I am still here if you need me.',
      '', // the reminder: the customer sees nothing
      'Nobody has decided about your refund within a week. Please ask again.',
    ])
    assert.equal((await decide(link, 'yes'))[0], 503)
  }

  async speakFirst(): Promise<void> {
    console.log('--- the shipping service calls twice, each process once')
    const session = await this.#ask(600)
    const body = JSON.stringify({ id: 'evt_8817', session, order: 'FK-1057', parcel: 'DE 4411' })
    const call = { method: 'POST', body, headers: { 'Content-Type': 'application/json' } }
    const answers = [
      await fetch(`${this.#officeUrl}/webhooks/shipped`, call),
      await this.#shop.app.request('/webhooks/shipped', call),
    ]
    for (const answer of answers) assert.deepEqual([answer.status, await answer.json()], [200, { taken: true }])
    const spoken = (await this.#turns(session)).map(({ reply }) => reply)
    assert.equal(spoken.filter((reply) => reply === 'Order FK-1057 is on its way: parcel DE 4411.').length, 1)

    console.log('--- and for a conversation that has ended')
    await this.#say('withdraw', session)
    await this.#say('bye', session)
    const count = await this.#count()
    const late = { ...call, body: body.replace('evt_8817', 'evt_8818') }
    const answer = await fetch(`${this.#officeUrl}/webhooks/shipped`, late)
    assert.deepEqual([answer.status, await answer.json()], [200, { taken: false }])
    assert.equal(await this.#count(), count, 'nothing has begun')
  }

  /** Asks for a refund in a new conversation. Resolves to its session. */
  async #ask(amount: number): Promise<string> {
    rmSync(join(this.#folder, 'mails'), { recursive: true, force: true })
    const { session, message } = await this.#run(`refund ${amount}`)
    assert.match(message, /needs a manager/)
    return session
  }

  async #say(message: string, session: string): Promise<string> {
    return (await this.#run(message, session)).message
  }

  async #run(message: string, session = ''): Promise<{ session: string; message: string }> {
    const response = await this.#shop.app.request('/ai/run', {
      method: 'POST',
      headers: { ...headersOf(session), 'Content-Type': 'application/json' },
      body: JSON.stringify({ flowName: 'Help', message }),
    })
    const envelope = await response.json()
    assert.ok(envelope.success, envelope.message)
    console.log(`Help > ${message}\n    ${envelope.message}`)
    return envelope
  }

  /** What the customer's page shows. */
  async #turns(session: string): Promise<{ reply: string }[]> {
    const response = await this.#shop.app.request('/ai/session', { headers: headersOf(session) })
    return (await response.json()).turns
  }

  /** The whole document. */
  async #stored(session: string): Promise<string> {
    return JSON.stringify(await this.#shop.engine.getSession(session, { owner: customer }))
  }

  async #count(): Promise<number> {
    return (await this.#shop.engine.listSessions()).sessions.length
  }

  /** The links in the mails with a subject, in the order of their readers. */
  #links(subject: string): string[] {
    const folder = join(this.#folder, 'mails')
    const mails = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
    return mails
      .filter((mail) => mail.includes(`Subject: ${subject}`))
      .sort()
      .map((mail) => /http\S+/.exec(mail)?.[0] ?? '')
  }

  #payouts(): number {
    return readFileSync(join(this.#folder, 'payouts.txt'), 'utf8').split('\n').length - 1
  }
}

const customer = 'ada'

function headersOf(session: string): Record<string, string> {
  return { Customer: customer, ...(session === '' ? {} : { CHAT_SESSION_ID: session }) }
}

/** Presses a button of the page behind a link. */
async function decide(link: string, approved: 'yes' | 'no'): Promise<[status: number, text: string]> {
  const response = await fetch(link, { method: 'POST', body: new URLSearchParams({ approved }) })
  const text = /<body>(.*)<\/body>/.exec(await response.text())?.[1] ?? ''
  console.log(`    ${approved}: ${response.status} ${text}`)
  return [response.status, text]
}

if (findSqlite()) await checkAll()
else {
  console.log('Left out: the package @keyv/sqlite is not installed.')
  if (process.env.CI !== undefined) process.exitCode = 1
}
