/** Runs docs/waiting.md: its flow, the tests of the flow, and the page behind a link. */
import { type FlowConstructor, FlowEngine, type FlowServices, type Turn } from 'turnkeeper'
import { type Tickets, tickets } from 'turnkeeper/tickets'
import { expect, test } from 'vitest'
import { Page } from './page.js'

const page = new Page('waiting')

page.write('refund.ts', page.text('class Approval'))
page.runTests('refund.test.ts', page.block('new Conversation(Refund'))

type Decide = (request: Request, engine: FlowEngine, links: Tickets) => Promise<Response>

test('the page behind a link shows a form, sends the decision once, and says why it was not taken', async () => {
  const { Refund } = await page.load<{ Refund: FlowConstructor }>('flow.ts', "export { Refund } from './refund.js'")
  const { decide } = await page.load<{ decide: Decide }>('decide.ts', page.text('links.open('))
  const links = tickets({ secrets: ['a secret of the page, at least 32 characters'] })
  const sent: string[] = []
  const paid: number[] = []
  const mails = { ask: async (ticket: string) => void sent.push(ticket) }
  const bank = { pay: async (amount: number) => void paid.push(amount) }
  const engine = new FlowEngine({ flows: [Refund], services: { mails, bank, links } as FlowServices })
  const url = (ticket = ''): string => `https://office.example/decide?ticket=${ticket}`
  const post = async (ticket: string | undefined, approved: string): Promise<number> => {
    const body = new URLSearchParams({ approved })
    return (await decide(new Request(url(ticket), { method: 'POST', body }), engine, links)).status
  }

  const { session: id } = await engine.run({ flowName: 'Refund', userMessage: '250' })
  const [ticket] = sent
  const form = await (await decide(new Request(url(ticket)), engine, links)).text()
  expect([...form.matchAll(/<button name="approved" value="(\w+)">/g)].map(([, value]) => value)).toEqual(['yes', 'no'])
  expect(paid).toEqual([])

  const [frame] = (await engine.getSession(id))?.flow.frames ?? []
  // What a ticket needs of the turn that asks.
  const turnOf = (session: string) => ({ session: { id: session }, ...frame }) as unknown as Turn
  expect(await post('forged', 'yes')).toBe(400)
  expect(await post(await links.seal(turnOf('no ID'), 'decision', { by: 'Bo Lund' }), 'yes')).toBe(400)
  expect(await post(await links.seal(turnOf(id), 'a name of no event', { by: 'Bo Lund' }), 'yes')).toBe(503)
  for (const _ of ['a click', 'a second click']) expect(await post(ticket, 'yes')).toBe(200)
  expect(await post(ticket, 'no')).toBe(409)
  expect(paid).toEqual([250])
})

page.testThatAllAreUsed()
