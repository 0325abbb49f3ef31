/** Buttons, a card, a form and a file, as a page with the client gets them: a reply's parts. */
import assert from 'node:assert/strict'
import { type Chat, type ChatTurn, createChat } from 'turnkeeper/client'
import { post } from './conversation.js'

/** @param url - The server's URL. */
export async function checkParts(url: string): Promise<void> {
  const desk = createChat({ url: `${url}/ai`, flow: 'SupportDesk' })
  const order = await desk.send('What is in order FK-1063?')
  assert.equal(order.text, 'Order FK-1063 is being packed: green glaze cup and boston fern.')
  assert.deepEqual(partOf(order, 'card').rows.slice(0, 2), [
    ['State', 'being packed'],
    ['Item', 'green glaze cup'],
  ])
  await desk.send('I return something of FK-1042')
  await desk.send('The teapot')
  const aside = await desk.send('What are your opening hours?')
  assert.match(aside.text, /^We are here from Monday to Friday, 9 to 17\.\n\nWhy does the cast iron teapot go back/)
  const { text } = await press(desk, aside, 'It came damaged')
  assert.match(text, /^Return R-\d is open: cast iron teapot, damaged\./)

  const reports = createChat({ url: `${url}/ai`, flow: 'VisitReport', config: { title: 'Quays & Lights' } })
  const summary = await press(reports, await reports.send(''), 'Summary')
  assert.equal(summary.text, 'Quays & Lights: 5118 in all. The PDF shows each month.')
  const { url: address } = partOf(summary, 'file')
  assert.ok(address.startsWith(`${url}/`), address)
  const pdf = await fetch(address)
  assert.equal(pdf.headers.get('Content-Type'), 'application/pdf')
  assert.match(await pdf.text(), /^%PDF-1\.4\n.*\(Quays & Lights\) Tj/s)
  await checkForm(url)
}

/** A form is shown, sent with a mistake, sent again, and confirmed with a button. */
async function checkForm(url: string): Promise<void> {
  const chat = createChat({ url: `${url}/ai`, flow: 'Appointment' })
  const { schema } = partOf(await chat.send('form'), 'form')
  assert.deepEqual(schema.required, ['repair', 'day', 'time', 'name', 'phone'])
  const { day } = schema.properties as { readonly day: { readonly enum: readonly string[] } }
  const values = { repair: 'new tyre', day: day.enum[4], time: '16:00', name: 'Noor Haddad', phone: '0151 234567' }
  const { errors } = partOf(await fillIn(chat, url, { ...values, phone: '12' }), 'form')
  assert.deepEqual(errors, { phone: 'That is not a phone number.' })
  const review = await fillIn(chat, url, values)
  assert.match(review.text, /^new tyre on .* at 16:00, for Noor Haddad, 0151234567\. Is that right\?/)
  assert.match((await press(chat, review, 'Yes')).text, /^Booked, Noor Haddad: new tyre on /)
}

/** Sends a form, as the page does: see `page/send-form.js`. */
async function fillIn(chat: Chat, url: string, payload: object): Promise<ChatTurn> {
  const event = { name: 'Booking', payload }
  const sent = await post(`${url}/ai/run?envelope=1`, chat.state.session, { flowName: 'Appointment', event })
  assert.equal(sent.status, 200, sent.text)
  await chat.refresh()
  const reply = chat.state.turns.at(-1)
  assert.ok(reply)
  console.log(`[Send the form]\n    ${reply.text}`)
  return reply
}

/** Presses a button of a reply. */
async function press(chat: Chat, reply: ChatTurn, label: string): Promise<ChatTurn> {
  const { turn, name, options } = partOf(reply, 'choices')
  const option = options.find((each) => each.label === label)
  assert.ok(option, `there is a button '${label}'`)
  const next = await chat.send(label, { choice: { turn, name, value: option.value } })
  console.log(`[${label}]\n    ${next.text}`)
  return next
}

type Part = NonNullable<ChatTurn['parts']>[number]

function partOf<Type extends Part['type']>({ parts = [] }: ChatTurn, type: Type): Extract<Part, { type: Type }> {
  const part = parts.find((each): each is Extract<Part, { type: Type }> => each.type === type)
  assert.ok(part, `the reply has a ${type}`)
  return part
}
