/** The report in its four forms; the PDF is read back the way a viewer finds its way through one. */
import { type FlowEngine, HttpContentType } from 'turnkeeper'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createApplication } from '../application.js'
import { talkTo } from '../checks/talk.js'

let engine: FlowEngine

beforeEach(async () => {
  engine = await createApplication()
})

afterEach(() => engine.close())

async function ask(form: string, title?: string) {
  const say = talkTo(engine, 'VisitReport', title === undefined ? undefined : { title })
  await say('')
  return { say, reply: await say(form) }
}

test('csv', async () => {
  const { reply } = await ask('csv')
  expect(reply.contentType).toBe(HttpContentType.Csv)
  expect(reply.message).toBe(
    'Visits to the lighthouse,\r\nMonth,Visits\r\nApril,412\r\nMay,655\r\nJune,803\r\nJuly,1240\r\nAugust,1318\r\nSeptember,690\r\nTotal,5118\r\n',
  )
})

test.each([
  ['=1+1', "'=1+1,\r\n"],
  ['a "b", c', '"a ""b"", c",\r\n'],
  ['@home', "'@home,\r\n"],
])('a title of %s is no formula and no second column', async (title, firstLine) => {
  const { reply } = await ask('csv', title)
  expect(reply.message.startsWith(firstLine)).toBe(true)
})

test.each([
  ['html', HttpContentType.Html, '<h1>&lt;script&gt;&amp;&quot;</h1>'],
  ['svg', HttpContentType.Svg, '>&lt;script&gt;&amp;&quot;</text>'],
])('%s escapes what comes from the client', async (form, contentType, part) => {
  const { reply } = await ask(form, '<script>&"')
  expect(reply.contentType).toBe(contentType)
  expect(reply.message).toContain(part)
  expect(reply.message).not.toContain('<script>')
})

test('html has a row for each month and the total', async () => {
  const { reply } = await ask('html')
  expect(reply.message.match(/<tr>/g)).toHaveLength(8)
  expect(reply.message).toContain('<tr><td>Total</td><td>5118</td></tr>')
})

test('svg draws the largest bar at full width', async () => {
  const { reply } = await ask('svg')
  expect(reply.message.match(/<rect /g)).toHaveLength(6)
  expect(reply.message).toContain('<rect x="110" y="148" width="300"')
})

test('pdf is a file whose table leads to its objects', async () => {
  const say = talkTo(engine, 'VisitReport', { title: 'Quay (north) \\ ünder' })
  const { session } = await say('')
  const { response, encoding } = await engine.execute({
    flowName: 'VisitReport',
    userMessage: 'pdf',
    sessionId: session,
  })
  expect(response.contentType).toBe(HttpContentType.Pdf)
  expect(encoding).toBe('base64')
  const file = atob(response.message)
  expect(file.startsWith('%PDF-1.4\n')).toBe(true)
  expect(file.endsWith('%%EOF\n')).toBe(true)
  expect(file).toContain('(Quay \\(north\\) \\\\ ?nder) Tj')

  const start = Number(/startxref\n(\d+)\n/.exec(file)?.[1])
  expect(file.slice(start, start + 9)).toBe('xref\n0 6\n')
  const entries = file.slice(start + 9, start + 9 + 6 * 20).match(/.{18} \n/g) ?? []
  expect(entries).toHaveLength(6)
  expect(entries[0]).toBe('0000000000 65535 f \n')
  entries.slice(1).forEach((entry, index) => {
    expect(file.slice(Number(entry.slice(0, 10))).startsWith(`${index + 1} 0 obj\n`)).toBe(true)
  })
  const [, length, stream] = /\/Length (\d+) >>\nstream\n([\s\S]*?)\nendstream/.exec(file) ?? []
  expect(stream).toHaveLength(Number(length))
})

test('a question after a report is plain again, and counts what was sent', async () => {
  const { say } = await ask('csv')
  await say('PDF')
  const question = await say('on paper')
  expect(question.contentType).toBe(HttpContentType.Plain)
  expect(question.message).toMatch(/^In which form would you like the report/)
  expect(await say('done')).toMatchObject({ completed: true, message: '2 sent. Goodbye.', contentType: 'text/plain' })
})

test.each([undefined, '', 7, { title: 1 }])('a title of %j is replaced by the ready one', async (title) => {
  const say = talkTo(engine, 'VisitReport', title === undefined ? {} : { title })
  await say('')
  expect((await say('csv')).message).toMatch(/^Visits to the lighthouse,/)
})
