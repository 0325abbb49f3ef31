/** A form in another language: every sentence and every command can be replaced. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { buttons, flowOfForm, formOf, otherWords, said, submit } from '../../../testing/contract/forms/test-forms.js'
import { flow } from '../../../testing/contract/side-flows/talk.js'
import { Conversation } from '../../../testing/index.js'
import { type FormFields, type FormWords, field } from '../index.js'
import { english } from '../words.js'

const text = z.string()
const fields: FormFields = {
  tag: field(text.regex(/tag$/, '~ Das ist kein Tag.'), { ask: '~ Welcher Tag?' }),
  zeit: field(text, {
    ask: '~ Wann?',
    label: 'Uhrzeit',
    needs: ['tag'],
    check: (zeit, { tag }) => tag !== 'Sonntag' || `~ Um ${zeit} ist zu.`,
  }),
  geschenk: field(z.boolean('~ Ja oder nein?'), { ask: '~ Ein Geschenk?' }),
  telefon: field(text, { ask: '~ Ihr Telefon?', optional: true }),
}

describe('a form whose words are all replaced', () => {
  test('says no sentence of its own, in a conversation that reaches each', async () => {
    class Buchung extends formOf(fields) {
      override readonly words = otherWords
    }
    await using conversation = new Conversation(flow('Talk', [Buchung]))
    const lines = [
      ['Hallo', '~ Welcher Tag?'],
      // The commands are not English any more.
      ['skip', '~ Das ist kein Tag. ~ Welcher Tag?'],
      ['weiter', '~ tag fehlt. ~ Welcher Tag?'],
      ['', '~ tag fehlt. ~ Welcher Tag?'],
      ['Freitag', '~ Wann?'],
      ['change tag', '~ Ein Geschenk?'],
      ['yes', '~ Ja oder nein? ~ Ein Geschenk?'],
      ['stimmt', '~ Ihr Telefon?'],
      ['ändere UHRZEIT auf 9 Uhr.', '~ Ihr Telefon?'],
      ['Weiter!', '~ tag = Freitag; Uhrzeit = 9 Uhr; geschenk = Ja, stimmt das?'],
      ['ändere tag auf Sonntag', '~ Um 9 Uhr ist zu. ~ Wann?'],
      ['ändere tag', '~ Welcher Tag?'],
      ['Montag', '~ Wann?'],
      ['10 Uhr', '~ tag = Montag; Uhrzeit = 10 Uhr; geschenk = Ja, stimmt das?'],
      ['ok', '~ Was soll anders sein: tag / Uhrzeit / geschenk / telefon?'],
      ['skip', '~ Was soll anders sein: tag / Uhrzeit / geschenk / telefon?'],
      ['nein', '~ Was soll anders sein: tag / Uhrzeit / geschenk / telefon?'],
      ['Geschenk', '~ Ein Geschenk?'],
      ['falsch', '~ tag = Montag; Uhrzeit = 10 Uhr; geschenk = Nein, stimmt das?'],
      ['ändere telefon auf weiter', '~ tag = Montag; Uhrzeit = 10 Uhr; geschenk = Nein, stimmt das?'],
    ] as const
    const labels = new Set<string>()
    for (const [line, reply] of lines) {
      expect([line, await said(conversation, line)]).toEqual([line, reply])
      for (const label of buttons(conversation)) labels.add(label)
    }
    expect([...labels]).toEqual(['Ja', 'Nein', 'tag', 'Uhrzeit', 'geschenk', 'telefon'])
    await submit(conversation, { tag: '' })
    conversation.expectReply('~ tag fehlt.')
    expect(await said(conversation, 'Dienstag')).toMatch(/^~ tag = Dienstag/)
    await conversation.choose('Ja')
    conversation.expectReply('Done: {"tag":"Dienstag","zeit":"10 Uhr","geschenk":false}')
  })

  test('has the same words as the English ones, so that none is left out above', () => {
    expect(Object.keys(otherWords).sort()).toEqual(Object.keys(english).sort())
  })
})

describe('one word is replaced, and the others stay', () => {
  const name = { name: field(text, { ask: 'Your name?' }), note: field(text, { ask: 'A note?', optional: true }) }
  test.each<[keyof FormWords, Partial<FormWords>, readonly string[], string]>([
    ['yes', { yes: ['Aye'] }, ['Ada', 'skip', 'aye'], 'Done: {"name":"Ada"}'],
    ['no', { no: ['Nay'] }, ['Ada', 'skip', 'nay'], 'What should I change: name, note? If nothing, say yes.'],
    ['skip', { skip: ['none', 'No, thanks.'] }, ['Ada', 'no,  thanks.'], 'name: Ada\nIs that right?'],
    ['skip', { skip: ['none', 'No, thanks.'] }, ['Ada', 'NONE'], 'name: Ada\nIs that right?'],
    ['change', { change: ['{field}: {value}'] }, ['Ada', 'Name: Grace'], 'A note?'],
    ['change', { change: ['my {field} is {value}', 'fix {field}'] }, ['Ada', 'fix name'], 'Your name?'],
    ['needed', { needed: (label) => `No ${label}?` }, ['skip'], 'No name? Your name?'],
    ['review', { review: (rows) => JSON.stringify(rows) }, ['Ada', 'hi'], '[["name","Ada"],["note","hi"]]'],
    ['whatToChange', { whatToChange: ([first]) => `${first}?` }, ['Ada', 'skip', 'hm'], 'name?'],
  ])('%s', async (_word, words, lines, expected) => {
    await using conversation = new Conversation(flowOfForm(name, { words }))
    expect(await said(conversation, 'Hello', ...lines)).toBe(expected)
  })

  test('the command for a change has no other form then', async () => {
    await using conversation = new Conversation(flowOfForm(name, { words: { change: ['fix {field}'] } }))
    await said(conversation, 'Hello', 'change note to hi')
    conversation.expectState('Form', { values: { name: 'change note to hi' } })
  })

  test('a command may have characters that mean something in patterns', async () => {
    const words = { change: ['({field}) -> {value}', '[{field}]?'] }
    await using conversation = new Conversation(flowOfForm(name, { words }))
    await said(conversation, 'Hello', '(name) -> Ada', '(NOTE)  ->  a+b')
    conversation.expectState('Form', { values: { name: 'Ada', note: 'a+b' } })
    expect(await said(conversation, '[note]?')).toBe('A note?')
  })

  test('a command may have its value before the field', async () => {
    const words = { change: ['use {value} as {field}'] }
    await using conversation = new Conversation(flowOfForm(name, { words }))
    expect(await said(conversation, 'Hello', 'use a new one as note', 'Ada')).toBe(
      'name: Ada\nnote: a new one\nIs that right?',
    )
  })
})

test.each([['YES!'], ['yes...'], ['Yes …'], ['¡Yes!'], ['y e s'], ['Oui, c\u2019est ça'], ["oui, c'est c\u0327a."]])(
  '%s is one of the words, whose case, spaces, marks and kind of apostrophe do not count',
  async (yes) => {
    const words = { yes: ['Yes', "Oui, c'est \u00e7a"] }
    await using conversation = new Conversation(flowOfForm({ name: field(text, { ask: 'Your name?' }) }, { words }))
    expect(await said(conversation, 'Hello', 'Ada', yes)).toBe('Done: {"name":"Ada"}')
  },
)

test.each([
  'changer le prénom en Ada',
  'Changer le PRE\u0301NOM en Ada!',
  'changer  le prénom  en Ada !',
  'changer le prénom en Ada…',
])('%s is a correction, whatever the accents are made of', async (line) => {
  const fields = {
    note: field(text, { ask: 'Une note ?' }),
    prenom: field(text, { ask: 'Le nom ?', label: 'pr\u00e9nom' }),
  }
  const words = { change: ['changer le {field} en {value}'] }
  await using conversation = new Conversation(flowOfForm(fields, { words }))
  await said(conversation, 'Hello', line)
  conversation.expectState('Form', { values: { prenom: 'Ada' } })
})

test.each([[['change']], [['change {name} to {value}']], [['change {field}', 'use {value}']]])(
  'the commands %j are refused: each must name the field',
  async (change) => {
    const shop = flowOfForm({ name: field(text, { ask: 'Your name?' }) }, { words: { change } })
    await using conversation = new Conversation(shop)
    await conversation.say('Hello')
    conversation.expectError('FLOW_ERROR', "words.change of form 'Form' must have {field} in each pattern.")
  },
)

// With `.+` for the value this would take hours.
test('a command whose value comes first reads a message of many spaces', async () => {
  const fields = { name: field(text, { ask: 'Your name?' }), note: field(text, { ask: 'A note?' }) }
  const words = { change: ['use {value} as {field}'] }
  await using conversation = new Conversation(flowOfForm(fields, { words }))
  const long = `use${' '.repeat(20_000)}note${'.'.repeat(20_000)}`
  await said(conversation, 'Hello', long)
  conversation.expectState('Form', { values: { name: long } })
})

test.each(['Yes', 'No'])('the label of a button may end with %j and a mark', async (label) => {
  const words = { yes: ['Yes!', 'Right!'], no: ['No.'] }
  await using conversation = new Conversation(flowOfForm({ gift: field(z.boolean(), { ask: 'A gift?' }) }, { words }))
  await said(conversation, 'Hello', 'change gift to right!')
  conversation.expectReply('gift: Yes!\nIs that right?')
  await said(conversation, `change gift to ${label}`)
  conversation.expectState('Form', { values: { gift: label === 'Yes' } })
  expect(await said(conversation, 'Right!')).toMatch(/^Done/)
})
