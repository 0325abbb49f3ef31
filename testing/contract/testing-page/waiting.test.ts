/** Runs docs/waiting.md: its flow, the tests of the flow, and the page behind a link. */
import type { FlowEngine, Turn } from 'turnkeeper'
import type { Tickets } from 'turnkeeper/tickets'
import { expect, test, vi } from 'vitest'
import { Page } from './page.js'

const page = new Page('waiting')

/** A block with what its reader has in place of the declared values. */
function completed(text: string, before: string): string {
  return `${before}\n${text.replaceAll(/^declare const .*\n/gm, '')}`
}

page.write(
  'refund.ts',
  completed(
    page.text('class Approval'),
    'const mails = { ask: async () => {} }; export const paid = []; const bank = { pay: async (amount) => void paid.push(amount) }',
  ),
)
const tests = page.block('new Conversation(Refund)')
page.runTests('refund.test.ts', { ...tests, text: completed(tests.text, "import { Refund } from './refund.ts'") })

test('the page behind a link shows a form, sends the decision once, and says when nobody waits', async () => {
  vi.stubEnv('TICKET_SECRET', 'a secret of the page, at least 32 characters')
  page.write(
    'engine.ts',
    "import { FlowEngine } from 'turnkeeper'\nimport { Refund } from './refund.ts'\nexport const engine = new FlowEngine({ flows: [Refund] })",
  )
  const { engine } = await page.load<{ engine: FlowEngine }>('engine-again.ts', "export { engine } from './engine.ts'")
  const { paid } = await page.load<{ paid: number[] }>('paid.ts', "export { paid } from './refund.ts'")
  const { links, decide } = await page.load<{ links: Tickets; decide(request: Request): Promise<Response> }>(
    'link.ts',
    completed(page.text('links.open('), "import { engine } from './engine.ts'"),
  )
  vi.unstubAllEnvs()

  paid.length = 0
  const { session: id } = await engine.run({ flowName: 'Refund', userMessage: '250' })
  const [frame] = (await engine.getSession(id))?.flow.frames ?? []
  // What a ticket needs of the turn that asks.
  const turn = { session: { id }, step: frame?.step, entry: frame?.entry } as unknown as Turn
  const seal = (by: string): Promise<string> => links.seal(turn, 'decision', { by })
  const url = `https://office.example/decide?ticket=${await seal('Ada Meier')}`
  const post = (to: string): Promise<Response> =>
    decide(new Request(to, { method: 'POST', body: new URLSearchParams({ approved: 'yes' }) }))

  expect(await (await decide(new Request(url))).text()).toContain('<button name="approved" value="yes">')
  expect(paid).toEqual([])
  expect((await post('https://office.example/decide?ticket=forged')).status).toBe(400)
  for (const _ of ['a click', 'a second click']) expect((await post(url)).status).toBe(200)
  expect((await post(`https://office.example/decide?ticket=${await seal('Bo Lund')}`)).status).toBe(409)
  expect(paid).toEqual([250])
})

page.testThatAllAreUsed()
