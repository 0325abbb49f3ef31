/** The whole booking in German, on a fixed Tuesday: nothing that the user reads is English. */
import { Conversation, VirtualClock } from 'turnkeeper/testing'
import { expect, test } from 'vitest'
import { dayInWords } from './german.js'
import { Salon } from './salon.js'

const tuesday = Date.UTC(2026, 10, 24, 12)
const services = 'Was dürfen wir tun: schneiden oder färben?'
const day = 'An welchem Tag möchten Sie kommen?'
const time = 'Um wie viel Uhr? Am Dienstag, 1. Dezember geht es um 9:00, 11:00, 14:00, 16:00 Uhr.'
const name = 'Wie heißen Sie?'
const phone = 'Unter welcher Nummer erreichen wir Sie? Oder sagen Sie: weiter.'
const whatToChange = 'Was soll anders sein: Wunsch, Tag, Uhrzeit, Name, Telefon? Wenn alles stimmt, sagen Sie bitte ja.'
const review = (...rows: readonly string[]) => `${rows.join('\n')}\nStimmt das so?`

/** Any word of the sentences and labels that a form has by default, and of those that Zod has. */
const english = /\b(?:the|is|that|right|what|should|be|please|say|change|needed|yes|no|skip|invalid|expected)\b/i

/** What a user says, what the user reads, and the buttons below it. */
type Said = readonly [said: string, reply: string, buttons?: readonly string[]]

async function play(conversation: Conversation, turns: readonly Said[]): Promise<void> {
  for (const [said, reply, buttons = []] of turns) {
    await conversation.say(said)
    conversation.expectReply(reply)
    const { parts = [] } = conversation.reply
    const labels = parts.flatMap((part) => (part.type === 'choices' ? part.options : [])).map(({ label }) => label)
    expect(labels).toEqual(buttons)
    for (const text of [reply, ...labels]) expect(text).not.toMatch(english)
  }
}

const start = () => new Conversation(Salon, { clock: new VirtualClock(tuesday) })

const serviceButtons = ['Schneiden', 'Färben']
const timeButtons = ['9:00', '11:00', '14:00', '16:00']
const yesNo = ['Ja', 'Nein']
const fieldButtons = ['Wunsch', 'Tag', 'Uhrzeit', 'Name', 'Telefon']

const rows = ['Wunsch: Färben', 'Tag: Dienstag, 1. Dezember', 'Uhrzeit: 16:00', 'Name: Jörg Müller']
const onSaturday = ['Wunsch: Färben', 'Tag: Samstag, 28. November', 'Uhrzeit: 9:00', 'Name: Jörg Müller']
const saturday = 'Um wie viel Uhr? Am Samstag, 28. November geht es um 9:00, 11:00 Uhr.'

test('errors, corrections, an answer left out, a no, and a yes', async () => {
  await using conversation = start()
  await play(conversation, [
    ['Guten Tag', services, serviceButtons],
    ['rasieren', `Das bieten wir nicht an. ${services}`, serviceButtons],
    ['schneiden', day],
    ['irgendwann', `Diesen Tag verstehe ich nicht. ${day}`],
    ['am nächsten Sonntag', `Sonntags und montags haben wir zu. ${day}`],
    ['nächsten Dienstag', time, timeButtons],
    ['um 15 Uhr', `Diese Uhrzeit geht an dem Tag nicht. ${time}`, timeButtons],
    ['weiter', `Ohne Uhrzeit geht es nicht. ${time}`, timeButtons],
    ['um 16 Uhr', name],
    ['J', `Das ist kein Name. ${name}`],
    ['ändere den Wunsch', services, serviceButtons],
    ['Färben', name],
    ['Jörg Müller', phone],
    ['keine', `Das ist keine Telefonnummer. ${phone}`],
    ['weiter', review(...rows), yesNo],
    ['Nein', whatToChange, fieldButtons],
    ['Hm?', whatToChange, fieldButtons],
    ['Ändere den Tag auf Samstag', `Diese Uhrzeit geht an dem Tag nicht. ${saturday}`, ['9:00', '11:00']],
    ['9', review(...onSaturday), yesNo],
    ['Telefon ändern', phone],
    ['030 23125 002', review(...onSaturday, 'Telefon: 030 23125 002'), yesNo],
    ['ändere das Telefon auf weiter', review(...onSaturday), yesNo],
    ['stimmt', 'Eingetragen, Jörg Müller: Samstag, 28. November um 9:00 Uhr. Bis dann!'],
  ])
  conversation.expectCompleted()
})

test('after three wrong answers in a row the salon gives its number', async () => {
  await using conversation = start()
  await play(conversation, [
    ['', services, serviceButtons],
    ['Färben', day],
    ['bald', `Diesen Tag verstehe ich nicht. ${day}`],
    ['später', `Diesen Tag verstehe ich nicht. ${day}`],
    ['egal', 'Am Telefon geht das sicher besser: 030 23125 001.'],
  ])
  conversation.expectCompleted()
})

test('what a page sends is answered in German, too', async () => {
  await using conversation = start()
  await conversation.say('')
  await conversation.sendEvent('Booking', { service: 'cut', day: 'morgen', time: '', phone: 5 })
  const errors = {
    time: 'Ohne Uhrzeit geht es nicht.',
    name: 'Ohne Name geht es nicht.',
    phone: 'Ungültige Eingabe: erwartet string, erhalten Zahl',
  }
  const titles = { service: 'Wunsch', day: 'Tag', time: 'Uhrzeit', name: 'Name', phone: 'Telefon' }
  const properties = Object.fromEntries(Object.entries(titles).map(([field, title]) => [field, { title }]))
  conversation
    .expectReply(Object.values(errors).join(' '))
    .expectParts([{ type: 'form', schema: { properties }, values: { service: 'cut', day: '2026-11-25' }, errors }])
})

test.each([
  ['morgen', '2026-11-25'],
  ['Tomorrow', '2026-11-25'],
  ['übermorgen', '2026-11-26'],
  ['Dienstag', '2026-12-01'],
  ['am nächsten Dienstag', '2026-12-01'],
  ['next Tuesday', '2026-12-01'],
  ['1.12.', '2026-12-01'],
  ['01.12.2026', '2026-12-01'],
  ['2026-12-01', '2026-12-01'],
])('%s is read on that Tuesday', (said, read) => {
  expect(dayInWords(tuesday).parse(said)).toBe(read)
})

test.each(['24.11.', 'gestern', '2027-12-01'])('%s is not a day that can be booked', (said) => {
  expect(dayInWords(tuesday).safeParse(said).success).toBe(false)
})

test('after midnight in Berlin it is tomorrow', () => {
  expect(dayInWords(Date.UTC(2026, 10, 24, 23, 30)).parse('morgen')).toBe('2026-11-26')
})
