/**
 * The example server checks itself: it starts as a process, holds a whole conversation with each flow over HTTP, runs
 * the lines that it prints, and is stopped in the middle of a turn. Exits with 1 if anything is wrong.
 */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { attachmentOf, createChat } from 'turnkeeper/client'
import { type Carrier, type ChildServer, startCarrier, startChildServer } from './checks/child-server.js'
import { Conversation, type Envelope, post } from './checks/conversation.js'
import { checkParts } from './checks/parts.js'
import { runPrintedLines } from './checks/printed-lines.js'

async function checkPrintedLines({ lines }: ChildServer): Promise<void> {
  const { answers, file } = await runPrintedLines(lines)
  assert.ok(answers.startsWith('["Appointment","SupportDesk","VisitReport"]'))
  assert.match(answers, /On which day\?.*At what time\?/)
  assert.match(answers, /The parcel of FK-1057 is on the night train\./)
  assert.match(answers, /event: text-delta\nid: [\w-]+:\d+\ndata: \{"text":"fern\."\}\n\nevent: result\n/)
  assert.match(answers, /Visits this summer,\r\nMonth,Visits\r\n/)
  assert.match(answers, /\{"success":true,"session":"[\w-]{32}"\}$/)
  assert.equal(new TextDecoder().decode(file.subarray(0, 8)), '%PDF-1.4')
}

async function checkAppointment({ url }: ChildServer): Promise<void> {
  const talk = new Conversation(url, 'Appointment')
  assert.match(await talk.say(''), /^What does your bicycle need/)
  assert.match(await talk.say('a horn'), /^We do not offer that\./)
  assert.match(await talk.say('tune-up'), /^On which day\?/)
  assert.match(await talk.say('1'), /^At what time\?/)
  assert.match(await talk.say('9:00'), /^Your name\?/)
  assert.match(await talk.say('Noor Haddad'), /^A phone number\?/)
  assert.match(await talk.say('12'), /^That is not a phone number\./)
  assert.match(await talk.say('0151 234567'), /^tune-up on .* at 09:00, for Noor Haddad, 0151234567\./)
  assert.match(await talk.say('change repair'), /^What does your bicycle need/)
  assert.match(await talk.say('brakes'), /^brakes on .* at 09:00, for Noor Haddad/)
  assert.match(await talk.say('yes', true), /^Booked, Noor Haddad: brakes on .* Your reference is W-/)

  const second = new Conversation(url, 'Appointment')
  for (const message of ['', 'brakes']) await second.say(message)
  assert.doesNotMatch(await second.say('1'), /09:00/, 'the time is taken now')
}

async function checkSupportDesk({ url }: ChildServer): Promise<void> {
  const talk = new Conversation(url, 'SupportDesk')
  assert.match(await talk.say('Hello'), /^I can find an order/)
  assert.match(await talk.say('What is in my order 12?'), /^That did not work\. Invalid arguments: orderNumber/)
  assert.equal(
    await talk.say('My order is FK-1042'),
    'Order FK-1042 is delivered: cast iron teapot and maidenhair fern.',
  )
  assert.match(await talk.say('I want a refund today'), /^Refunds are decided by the accounts team/)
  assert.match(await talk.say('Then I return something of FK-1042'), /^Gladly\. Which item/)
  assert.match(await talk.say('The teapot came cracked'), /^Return R-1 is open: cast iron teapot, damaged\./)
  assert.equal(await talk.say('No, thank you', true), 'Thank you for writing to Fern & Kettle. Goodbye!')
}

async function checkStream({ url }: ChildServer): Promise<void> {
  const page = await fetch(url)
  assert.equal(page.headers.get('Content-Type'), 'text/html; charset=utf-8')
  assert.match(page.headers.get('Content-Security-Policy') ?? '', /script-src 'self'/)
  for (const [, path] of (await page.text()).matchAll(/(?:src|href)="([\w.]+)"/g)) {
    assert.equal((await fetch(`${url}/${path}`)).status, 200, path)
  }
  const scripts = ['page.js']
  for (const script of scripts) {
    const reply = await fetch(`${url}/${script}`)
    assert.equal(reply.status, 200, script)
    const imported = Array.from(
      (await reply.text()).matchAll(/^import .* from '\.\/([\w.-]+)'/gm),
      ([, path = '']) => path,
    )
    scripts.push(...imported.filter((path) => !scripts.includes(path)))
  }

  const chat = createChat({ url: `${url}/ai`, flow: 'SupportDesk' })
  let text = ''
  const taken: string[] = []
  chat.on('text-delta', ({ text: next }) => {
    text += next
  })
  chat.on('reset', () => {
    taken.push(text)
    text = ''
  })
  const { text: reply } = await chat.send('I want a refund today')
  assert.equal(text, reply)
  assert.deepEqual(taken, ['You will have your money back soon.'])
  assert.match(text, /^Refunds are decided by the accounts team/)
  console.log(`SupportDesk > I want a refund today\n    (${taken}) ${text}`)

  const photo = new Blob([new Uint8Array(1000)], { type: 'image/jpeg' })
  const { text: thanks } = await chat.send('What is wrong with my fern?', [await attachmentOf(photo)])
  assert.match(thanks, /^Thank you for the photo\./)
  const shown = await chat.history()
  assert.deepEqual(
    shown.map(({ message, text: answer }) => [message, answer]),
    [
      ['I want a refund today', reply],
      ['What is wrong with my fern?', thanks],
    ],
  )
  const reports = createChat({ url: `${url}/ai`, flow: 'VisitReport' })
  await reports.send('')
  const { file } = await reports.send('pdf')
  assert.equal(file?.type, 'application/pdf')
  assert.match(await file.text(), /^%PDF-1\.4/)
}

async function checkReport({ url }: ChildServer): Promise<void> {
  const talk = new Conversation(url, 'VisitReport', { title: '<b>Quays & "Lights"</b>' })
  await talk.say('')
  const forms = [
    ['csv', 'text/csv; charset=utf-8', '"<b>Quays & ""Lights""</b>",\r\nMonth,Visits\r\nApril,412\r\n'],
    ['html', 'text/html; charset=utf-8', '<h1>&lt;b&gt;Quays &amp; &quot;Lights&quot;&lt;/b&gt;</h1>'],
    ['svg', 'image/svg+xml', '&lt;b&gt;Quays &amp; &quot;Lights&quot;&lt;/b&gt;</text>'],
    ['pdf', 'application/pdf', '(<b>Quays & "Lights"</b>) Tj'],
  ] as const
  for (const [form, contentType, part] of forms) {
    const reply = await talk.send(form)
    assert.equal(reply.headers.get('Content-Type'), contentType)
    assert.equal(reply.headers.get('Chat-Reply'), 'raw')
    assert.equal(reply.headers.get('Chat-Completed'), 'false')
    assert.ok(reply.text.includes(part), `the ${form} has the title, escaped`)
    console.log(`VisitReport > ${form}\n    ${reply.bytes.length} bytes of ${contentType}`)
  }
  assert.match(await talk.say('xlsx'), /^In which form/)
  assert.equal(await talk.say('done', true), '4 sent. Goodbye.')
}

async function checkRoutes({ url }: ChildServer): Promise<void> {
  const flows = await fetch(`${url}/ai/flows`)
  assert.deepEqual(await flows.json(), ['Appointment', 'SupportDesk', 'VisitReport'])
  const preflight = await fetch(`${url}/ai/run`, {
    method: 'OPTIONS',
    headers: { Origin: 'http://localhost:5173', 'Access-Control-Request-Method': 'POST' },
  })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers.get('Access-Control-Allow-Origin'), 'http://localhost:5173')
  assert.match(preflight.headers.get('Access-Control-Allow-Headers') ?? '', /CHAT_SESSION_ID/)

  const unknown = await post(`${url}/ai/run`, '', { flowName: 'Nowhere', message: '' })
  assert.equal(unknown.status, 400)
  assert.equal((JSON.parse(unknown.text) as Envelope).message, "Flow class 'Nowhere' not registered.")
  const talk = new Conversation(url, 'Appointment')
  await talk.say('')
  const ended = await post(`${url}/ai/end`, talk.session)
  assert.deepEqual(JSON.parse(ended.text), { success: true, session: talk.session })
}

/** The turn waits for the carrier, and the carrier waits until the server has said that it is closing. */
async function checkShutdown(server: ChildServer, carrier: Carrier): Promise<void> {
  const talk = new Conversation(server.url, 'SupportDesk')
  const asked = carrier.hold()
  const answer = talk.say('Where is FK-1057?')
  await asked
  server.process.kill('SIGTERM')
  await server.printed('Closing:')
  assert.equal(await connectionTo(server.url), 'ECONNREFUSED', 'no new connections')
  carrier.release()
  assert.equal(await answer, 'The parcel of FK-1057 is at the door.')
  assert.equal(await server.ended, 0)
  assert.equal(server.lines.at(-1), 'Closed.')
}

function connectionTo(url: string): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    socket.once('connect', () => socket.destroy() && resolve('connected'))
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })
}

const carrier = await startCarrier()
const server = await startChildServer({ CARRIER_URL: carrier.url })
try {
  await checkPrintedLines(server)
  await checkAppointment(server)
  await checkSupportDesk(server)
  await checkStream(server)
  await checkReport(server)
  await checkParts(server.url)
  await checkRoutes(server)
  await checkShutdown(server, carrier)
  console.log('The example server works.')
} finally {
  server.process.kill('SIGKILL')
  carrier.close()
}
