/** The booking, turn by turn, on a fixed Tuesday. */
import { Conversation, coverageOf } from 'turnkeeper/testing'
import { expect, test } from 'vitest'
import { type Calendar, createCalendar } from '../services/calendar.js'
import { createOrders } from '../services/orders.js'
import { createLocalParcels } from '../services/parcels.js'
import {
  Appointment,
  AskContact,
  Booked,
  Cancelled,
  ChooseDay,
  ChooseRepair,
  ChooseTime,
  Confirm,
} from './appointment.js'

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

async function upToConfirm(calendar: Calendar = tuesday()) {
  const conversation = start(calendar)
  for (const answer of ['', 'brakes', '1', '09:00', 'Ife Okafor, +44 20 7946 0000']) await conversation.say(answer)
  return conversation.expectStep(Confirm)
}

test('books a repair, and keeps the answers', async () => {
  await using conversation = start()
  await conversation.say('Hello')
  conversation.expectReply('What does your bicycle need: tune-up (60), brakes (35), new tyre (25)?')
  await conversation.say('brakes')
  conversation
    .expectState(ChooseRepair, { repair: 'brakes' })
    .expectReply(/^On which day\? 1\. Wednesday 25 November, /)
  await conversation.say('1')
  conversation.expectState(ChooseDay, { day: '2026-11-25' }).expectStep(ChooseTime)
  await conversation.say('09:00')
  conversation.expectState(ChooseTime, { time: '09:00' }).expectStep(AskContact)
  await conversation.say('Ife Okafor, +44 20 7946 0000')
  conversation
    .expectState(AskContact, { name: 'Ife Okafor', phone: '+442079460000' })
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
  [ChooseRepair, [''], 'a horn', /^We do not offer that\. What does your bicycle need/],
  [ChooseDay, ['', 'Tune-up'], '2026-11-28', /^That is none of the days we are open\. On which day\?/],
  [ChooseDay, ['', 'Tune-up'], '6', /^That is none of the days/],
  [ChooseTime, ['', 'brakes', '2026-11-25'], '11:11', /^That time is not free\. At what time\? Free: 09:00, 10:30, /],
  [AskContact, ['', 'brakes', '1', '9:00'], 'Ife', /^That is not a phone number\./],
  [AskContact, ['', 'brakes', '1', '9:00'], ', 020 7946 0000', /^The name is missing\./],
])('%o asks again', async (step, before, answer, reply) => {
  await using conversation = start()
  for (const message of before) await conversation.say(message)
  await conversation.say(answer)
  conversation.expectReply(reply).expectStep(step)
})

test('a deploy in the middle changes nothing', async () => {
  await using conversation = await upToConfirm()
  await conversation.restart()
  await conversation.say('yes')
  conversation.expectReply(/^Booked, Ife Okafor: brakes/).expectCompleted()
})

test('an answer can be corrected at the end, and the other answers stay', async () => {
  await using conversation = await upToConfirm()
  await conversation.say('change repair')
  conversation.expectStep(ChooseRepair)
  await conversation.say('new tyre')
  conversation.expectReply(/^new tyre on Wednesday 25 November at 09:00, for Ife Okafor/)
  await conversation.say('change contact')
  conversation.expectStep(AskContact)
  await conversation.say('Ola Nordmann, 5550101')
  conversation.expectReply(/^new tyre on Wednesday .* for Ola Nordmann, 5550101\./).expectStep(Confirm)
})

test('an answer can be corrected on the way', async () => {
  await using conversation = start()
  for (const message of ['', 'brakes', '1', 'change repair']) await conversation.say(message)
  conversation.expectStep(ChooseRepair)
  await conversation.say('tune-up')
  conversation.expectStep(ChooseTime)
})

test('a time cannot be changed before there is a day', async () => {
  await using conversation = start()
  for (const message of ['', 'change time']) await conversation.say(message)
  conversation.expectStep(ChooseDay)
})

test('a new day asks for a new time only if the old one is taken', async () => {
  const calendar = tuesday()
  calendar.book({ reference: 'somebody', day: '2026-11-26', time: '09:00' })
  await using conversation = await upToConfirm(calendar)
  for (const message of ['change day', '3']) await conversation.say(message)
  conversation.expectReply(/^brakes on Friday 27 November at 09:00/)
  for (const message of ['change day', '2']) await conversation.say(message)
  conversation
    .expectReply('At what time? Free: 10:30, 13:00, 14:30, 16:00.')
    .expectState(ChooseTime, { time: undefined })
})

test('the user who confirms last gets another time', async () => {
  const calendar = tuesday()
  await using first = await upToConfirm(calendar)
  await using second = await upToConfirm(calendar)
  await first.say('yes')
  first.expectCompleted()
  await second.say('yes')
  second.expectReply('Somebody was quicker and took that time. Name another one, please.').expectStep(ChooseTime)
  await second.say('10:30')
  second.expectReply(/^brakes on Wednesday 25 November at 10:30/)
  await second.say('yes')
  second.expectCompleted()
})

test('nothing is booked if the user cancels', async () => {
  const calendar = tuesday()
  await using conversation = await upToConfirm(calendar)
  await conversation.say('perhaps')
  conversation.expectReply('Yes, cancel, or change what?')
  await conversation.say('cancel')
  conversation.expectReply('Nothing was booked. Until another time.').expectStep(Cancelled).expectCompleted()
  expect(calendar.freeTimes('2026-11-25')).toContain('09:00')
})

test('if the answer of the database is lost when the booking is saved, it is booked once, and the user gets the reply', async () => {
  const calendar = tuesday()
  await using conversation = await upToConfirm(calendar)
  conversation.store.failNext('save', { after: true })
  await conversation.say('yes')
  conversation.expectReply(/^Booked, Ife Okafor/).expectCompleted()
  expect(calendar.freeTimes('2026-11-25')).toEqual(['10:30', '13:00', '14:30', '16:00'])
})

test('if the calendar is down in turn 5, the next message goes on at the same step', async () => {
  let isDown = false
  const calendar = tuesday()
  const freeTimes = (day: string) => {
    if (isDown) throw new Error('The calendar is down.')
    return calendar.freeTimes(day)
  }
  await using conversation = start({ ...calendar, freeTimes })
  for (const answer of ['', 'brakes', '1', '09:00']) await conversation.say(answer)
  conversation.expectStep(AskContact)
  isDown = true
  await conversation.say('change time')
  conversation.expectError('FLOW_ERROR', 'The calendar is down.').expectStep(AskContact)
  isDown = false
  await conversation.say('Ife Okafor, +44 20 7946 0000')
  conversation.expectReply(/^brakes on Wednesday 25 November at 09:00, for Ife Okafor/).expectStep(Confirm)
  await conversation.say('yes')
  conversation.expectReply(/^Booked, Ife Okafor/).expectCompleted()
})

test('if the calendar fails after it booked, the next message goes on at the same step, and it is booked once', async () => {
  const calendar = tuesday()
  let failures = 1
  const book: Calendar['book'] = (booking) => {
    const isBooked = calendar.book(booking)
    if (failures-- > 0) throw new Error('The calendar did not answer.')
    return isBooked
  }
  await using conversation = await upToConfirm({ ...calendar, book })
  await conversation.say('yes')
  conversation.expectError('FLOW_ERROR', 'The calendar did not answer.').expectStep(Confirm)
  expect((await conversation.document()).runStatus).toBe('running')
  await conversation.say('yes')
  conversation.expectReply(/^Booked, Ife Okafor: brakes on Wednesday 25 November at 09:00/).expectCompleted()
  expect(calendar.freeTimes('2026-11-25')).toEqual(['10:30', '13:00', '14:30', '16:00'])
})

test('the conversations above reach every step and both ends', () => {
  coverage.expectFull()
})
