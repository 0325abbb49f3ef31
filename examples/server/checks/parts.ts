/** Buttons, a card and a file, as a page with the client gets them: a reply's parts. */
import assert from 'node:assert/strict'
import { type Chat, type ChatTurn, createChat } from 'turnkeeper/client'

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
