/** The report in its forms. The test reads the PDF as a viewer does. */
import { HttpContentType, type JsonObject } from 'turnkeeper'
import { file } from 'turnkeeper/parts'
import { Conversation, coverageOf } from 'turnkeeper/testing'
import { expect, test } from 'vitest'
import { reportRoutes } from '../report-file.js'
import { reportAddress } from '../reports/address.js'
import { ChooseForm, VisitReport } from './report.js'

const coverage = coverageOf(VisitReport)

/** A conversation up to the report in one form. */
async function ask(form: string, config: JsonObject = {}) {
  const conversation = new Conversation(VisitReport, { config, onEngine: coverage.watch })
  await conversation.say('')
  conversation.expectReply(/^In which form would you like the report/)
  await conversation.say(form)
  return conversation
}

test('csv', async () => {
  await using conversation = await ask('csv')
  conversation.expectReply(
    'Visits to the lighthouse,\r\nMonth,Visits\r\nApril,412\r\nMay,655\r\nJune,803\r\nJuly,1240\r\nAugust,1318\r\nSeptember,690\r\nTotal,5118\r\n',
  )
  expect(conversation.reply.contentType).toBe(HttpContentType.Csv)
})

test.each([
  ['=1+1', "'=1+1,\r\n"],
  ['a "b", c', '"a ""b"", c",\r\n'],
  ['@home', "'@home,\r\n"],
])('a title of %s is neither a formula nor a second column', async (title, firstLine) => {
  await using conversation = await ask('csv', { title })
  expect(conversation.reply.message.startsWith(firstLine)).toBe(true)
})

test.each([
  ['html', HttpContentType.Html, '<h1>&lt;script&gt;&amp;&quot;</h1>'],
  ['svg', HttpContentType.Svg, '>&lt;script&gt;&amp;&quot;</text>'],
])('%s escapes what comes from the client', async (form, contentType, part) => {
  await using conversation = await ask(form, { title: '<script>&"' })
  expect(conversation.reply.contentType).toBe(contentType)
  expect(conversation.reply.message).toContain(part)
  expect(conversation.reply.message).not.toContain('<script>')
})

test('html has a row for each month and the total', async () => {
  await using conversation = await ask('html')
  expect(conversation.reply.message.match(/<tr>/g)).toHaveLength(8)
  conversation.expectReply(/<tr><td>Total<\/td><td>5118<\/td><\/tr>/)
})

test('svg draws the largest bar at full width', async () => {
  await using conversation = await ask('svg')
  expect(conversation.reply.message.match(/<rect /g)).toHaveLength(6)
  conversation.expectReply(/<rect x="110" y="148" width="300"/)
})

test('pdf is a file whose table leads to its objects', async () => {
  await using conversation = await ask('pdf', { title: 'Quay (north) \\ ünder' })
  expect(conversation.reply).toMatchObject({ contentType: HttpContentType.Pdf, encoding: 'base64' })
  const file = atob(conversation.reply.message)
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

test('a summary has the address of the PDF beside it', async () => {
  await using conversation = await ask('summary', { title: 'Quay & "Lights"' })
  conversation.expectReply('Quay & "Lights": 5118 in all. The PDF shows each month.')
  const url = 'http://127.0.0.1:3000/reports/visits.pdf?title=Quay+%26+%22Lights%22'
  conversation.expectParts([file({ name: 'visits.pdf', mediaType: 'application/pdf', url })])
})

test('the address leads to the PDF with that title', async () => {
  const reply = await reportRoutes().request(reportAddress('Quay (north)'))
  expect(reply.headers.get('Content-Type')).toBe('application/pdf')
  expect(await reply.text()).toContain('(Quay \\(north\\)) Tj')
})

test.each(['2', 'HTML', ' html '])('%j is the answer html', async (answer) => {
  await using conversation = await ask(answer)
  expect(conversation.reply.contentType).toBe(HttpContentType.Html)
})

test('a question after a report is plain again, and counts the reports', async () => {
  await using conversation = await ask('csv')
  await conversation.choose('PDF')
  conversation.expectState(ChooseForm, { sent: 2 })
  await conversation.say('on paper')
  conversation.expectReply(/^In which form would you like the report/).expectState(ChooseForm, { sent: 2 })
  expect(conversation.reply.contentType).toBe(HttpContentType.Plain)
  await conversation.say('done')
  conversation.expectReply('2 sent. Goodbye.').expectCompleted()
  expect(conversation.reply.contentType).toBe(HttpContentType.Plain)
})

test.each([{}, { title: '' }, { title: 7 }, { title: { title: 1 } }])(
  'a config of %j gets the default title',
  async (config) => {
    await using conversation = await ask('csv', config)
    conversation.expectReply(/^Visits to the lighthouse,/)
  },
)

test('the conversations above reach every step', () => {
  coverage.expectFull()
})
