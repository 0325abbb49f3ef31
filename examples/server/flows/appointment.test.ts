/** The booking, turn by turn, on a fixed Tuesday. */
import { Conversation, coverageOf } from 'turnkeeper/testing'
import { expect, test } from 'vitest'
import { type Calendar, createCalendar } from '../services/calendar.js'
import { createOrders } from '../services/orders.js'
import { createLocalParcels } from '../services/parcels.js'
import { Appointment, Booked, Booking, Cancelled } from './appointment.js'

const coverage = coverageOf(Appointment)

const tuesday = () => createCalendar(() => Date.UTC(2026, 10, 24, 12))

function start(calendar: Calendar = tuesday()) {
  return new Conversation(Appointment, {
    services: { calendar, orders: createOrders(), parcels: createLocalParcels() },
    onTurnError: 'rollback',
    // The reference of a booking is made from the session's ID, so two customers need different IDs.
    generateId: () => crypto.randomUUID(),
    onEngine: coverage.watch,
  })
}

const answers = { repair: 'brakes', day: '1', time: '09:00', name: 'Ife Okafor', phone: '+44 20 7946 0000' }

async function upToReview(calendar: Calendar = tuesday()) {
  const conversation = start(calendar)
  await conversation.fill(answers)
  return conversation.expectState(Booking, { reviewing: true })
}

test('books a repair, and keeps the answers', async () => {
  await using conversation = start()
  await conversation.say('Hello')
  conversation.expectReply('What does your bicycle need: tune-up (60), brakes (35), new tyre (25)?')
  await conversation.say('brakes')
  conversation.expectField(Booking, 'repair', 'brakes').expectReply(/^On which day\? 1\. Wednesday 25 November, /)
  await conversation.say('1')
  conversation
    .expectField(Booking, 'day', '2026-11-25')
    .expectReply('At what time? Free: 09:00, 10:30, 13:00, 14:30, 16:00.')
  await conversation.say('09:00')
  conversation.expectField(Booking, 'time', '09:00').expectReply('Your name?')
  await conversation.say('Ife Okafor')
  conversation.expectField(Booking, 'name', 'Ife Okafor').expectReply('A phone number?')
  await conversation.say('+44 20 7946 0000')
  conversation
    .expectField(Booking, 'phone', '+442079460000')
    .expectReply(/^brakes on Wednesday 25 November at 09:00, for Ife Okafor, \+442079460000\. Is that right\?/)
  await conversation.say('yes')
  const reference = `W-${conversation.sessionId.slice(0, 8)}`
  conversation
    .expectReply(
      `Booked, Ife Okafor: brakes on Wednesday 25 November at 09:00, for Ife Okafor, +442079460000. Your reference is ${reference}.`,
    )
    .expectStep(Booked)
    .expectCompleted()
})

test.each([
  ['repair', [''], 'a horn', /^We do not offer that\. What does your bicycle need/],
  ['day', ['', 'Tune-up'], '2026-11-28', /^That is none of the days we are open\. On which day\?/],
  ['day', ['', 'Tune-up'], '6', /^That is none of the days/],
  ['time', ['', 'brakes', '2026-11-25'], '11:11', /^That time is not free\. At what time\? Free: 09:00, 10:30, /],
  ['name', ['', 'brakes', '1', '9:00'], 'I', /^The name is missing\. Your name\?/],
  ['phone', ['', 'brakes', '1', '9:00', 'Ife'], '12', /^That is not a phone number\. A phone number\?/],
])('%s is asked again', async (asking, before, answer, reply) => {
  await using conversation = start()
  for (const message of before) await conversation.say(message)
  await conversation.say(answer)
  conversation.expectReply(reply).expectState(Booking, { asking })
})

test('a deploy in the middle changes nothing', async () => {
  await using conversation = await upToReview()
  await conversation.restart()
  await conversation.say('yes')
  conversation.expectReply(/^Booked, Ife Okafor: brakes/).expectCompleted()
})

test('an answer can be corrected at the end, and the other answers stay', async () => {
  await using conversation = await upToReview()
  await conversation.say('change repair')
  conversation.expectReply(/^What does your bicycle need/)
  await conversation.say('new tyre')
  conversation.expectReply(/^new tyre on Wednesday 25 November at 09:00, for Ife Okafor/)
  await conversation.say('change name to Ola Nordmann')
  conversation.expectReply(/^new tyre on Wednesday .* for Ola Nordmann, \+442079460000\./)
  await conversation.say('change the phone')
  await conversation.say('5550101')
  conversation.expectReply(/^new tyre on Wednesday .* for Ola Nordmann, 5550101\./)
})

test('an answer can be corrected on the way', async () => {
  await using conversation = start()
  for (const message of ['', 'brakes', '1', 'change repair']) await conversation.say(message)
  conversation.expectState(Booking, { asking: 'repair' })
  await conversation.say('tune-up')
  conversation.expectField(Booking, 'repair', 'tune-up').expectState(Booking, { asking: 'time' })
})

test('a time cannot be changed before there is a day', async () => {
  await using conversation = start()
  for (const message of ['', 'change time']) await conversation.say(message)
  conversation.expectReply(/^On which day\?/)
})

test('a new day asks for a new time only if the old one is taken', async () => {
  const calendar = tuesday()
  calendar.book({ reference: 'somebody', day: '2026-11-26', time: '09:00' })
  await using conversation = await upToReview(calendar)
  for (const message of ['change day', '3']) await conversation.say(message)
  conversation.expectReply(/^brakes on Friday 27 November at 09:00/)
  for (const message of ['change day', '2']) await conversation.say(message)
  conversation
    .expectReply('That time is not free. At what time? Free: 10:30, 13:00, 14:30, 16:00.')
    .expectField(Booking, 'day', '2026-11-26')
    .expectField(Booking, 'time', undefined)
})

test('the user who confirms last gets another time', async () => {
  const calendar = tuesday()
  await using first = await upToReview(calendar)
  await using second = await upToReview(calendar)
  await first.say('yes')
  first.expectCompleted()
  await second.say('yes')
  second.expectReply('Somebody was quicker and took that time. At what time? Free: 10:30, 13:00, 14:30, 16:00.')
  await second.say('10:30')
  second.expectReply(/^brakes on Wednesday 25 November at 10:30/)
  await second.say('yes')
  second.expectCompleted()
})

test('nothing is booked if the user cancels', async () => {
  const calendar = tuesday()
  await using conversation = await upToReview(calendar)
  await conversation.say('perhaps')
  conversation.expectReply('What should I change: repair, day, time, name, phone? If nothing, say yes.')
  await conversation.say('Cancel')
  conversation.expectReply('Nothing was booked. Until another time.').expectStep(Cancelled).expectCompleted()
  expect(calendar.freeTimes('2026-11-25')).toContain('09:00')
})

test('if the answer of the database is lost when the booking is saved, it is booked once, and the user gets the reply', async () => {
  const calendar = tuesday()
  await using conversation = await upToReview(calendar)
  conversation.store.failNext('save', { after: true })
  await conversation.say('yes')
  conversation.expectReply(/^Booked, Ife Okafor/).expectCompleted()
  expect(calendar.freeTimes('2026-11-25')).toEqual(['10:30', '13:00', '14:30', '16:00'])
})

test('if the calendar is down in turn 5, the next message goes on at the same question', async () => {
  let isDown = false
  const calendar = tuesday()
  const freeTimes = (day: string) => {
    if (isDown) throw new Error('The calendar is down.')
    return calendar.freeTimes(day)
  }
  await using conversation = start({ ...calendar, freeTimes })
  const { name, phone, ...others } = answers
  await conversation.fill(others)
  conversation.expectReply('Your name?')
  isDown = true
  await conversation.say('change time')
  conversation.expectError('FLOW_ERROR', 'The calendar is down.').expectState(Booking, { asking: 'name' })
  isDown = false
  await conversation.fill({ name, phone })
  conversation.expectReply(/^brakes on Wednesday 25 November at 09:00, for Ife Okafor/)
  await conversation.say('yes')
  conversation.expectReply(/^Booked, Ife Okafor/).expectCompleted()
})

test('if the calendar fails after it booked, the next message goes on at the same question, and it is booked once', async () => {
  const calendar = tuesday()
  let failures = 1
  const book: Calendar['book'] = (booking) => {
    const isBooked = calendar.book(booking)
    if (failures-- > 0) throw new Error('The calendar did not answer.')
    return isBooked
  }
  await using conversation = await upToReview({ ...calendar, book })
  await conversation.say('yes')
  conversation.expectError('FLOW_ERROR', 'The calendar did not answer.').expectState(Booking, { reviewing: true })
  expect((await conversation.document()).runStatus).toBe('running')
  await conversation.say('yes')
  conversation.expectReply(/^Booked, Ife Okafor: brakes on Wednesday 25 November at 09:00/).expectCompleted()
  expect(calendar.freeTimes('2026-11-25')).toEqual(['10:30', '13:00', '14:30', '16:00'])
})

test('a page gets all fields at once, and what is wrong comes back with them', async () => {
  const calendar = tuesday()
  calendar.book({ reference: 'somebody', day: '2026-11-26', time: '09:00' })
  await using conversation = start(calendar)
  await conversation.say('form')
  conversation.expectParts([{ type: 'form', name: 'Booking', schema: { required: Object.keys(answers) } }])
  const values = { ...answers, day: '2026-11-26', time: '10:30' }
  await conversation.sendEvent('Booking', { ...values, time: '9:00', phone: '12' })
  const errors = { time: 'That time is not free.', phone: 'That is not a phone number.' }
  conversation
    .expectReply(Object.values(errors).join(' '))
    .expectParts([{ type: 'form', values: { day: '2026-11-26', name: 'Ife Okafor' }, errors }])
  await conversation.sendEvent('Booking', values)
  conversation.expectReply(/^brakes on Thursday 26 November at 10:30, for Ife Okafor, \+442079460000\. Is that right\?/)
  await conversation.say('yes')
  conversation.expectReply(/^Booked, Ife Okafor: brakes on Thursday/).expectCompleted()
})

test('the conversations above reach every step and both ends', () => {
  coverage.expectFull()
})
