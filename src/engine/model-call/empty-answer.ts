/**
 * Answers without content: no tool call, and only white space as text. The model only reasoned, or its answer was cut
 * off too early. Such an answer is never a reply and is not stored; the model is asked again.
 */
import { textMessage } from '../../flow/conversation-memory.js'
import type { FinishReason, MessagePart } from '../../model/message.js'
import { textOf } from './model-answer.js'
import { AttemptFailure, type ModelQuestion } from './model-attempt.js'

/** The failure of an attempt whose answer was empty. */
export class EmptyAnswer extends AttemptFailure {
  readonly isCut: boolean

  constructor(isCut: boolean) {
    // `attempts.ts` asks again, but does not treat this as a failure of the provider.
    super(isCut ? 'Its answer was cut before it had any text.' : 'Its answer has neither text nor a tool call.', false)
    this.isCut = isCut
  }
}

/** @throws {@link EmptyAnswer} */
export function checkNotEmpty(parts: readonly MessagePart[], finishReason: FinishReason | undefined): void {
  if (parts.some((part) => part.type === 'tool-call') || textOf(parts).trim() !== '') return
  throw new EmptyAnswer(finishReason === 'length')
}

/**
 * The question with a last message that gives the reason for asking again. Only the next attempts at this model get the
 * message.
 */
export function askedAgain(question: ModelQuestion, turnNumber: number, { isCut }: EmptyAnswer): ModelQuestion {
  const { messages, tools } = question
  const wanted = tools.length === 0 ? 'with text' : 'with text or a tool call'
  const problem = isCut ? 'reached its maximum length before it had any text' : 'was empty'
  const reason = textMessage('user', `Your last answer ${problem}. Answer again, ${wanted}.`, turnNumber)
  return { ...question, messages: Object.freeze([...messages, reason]) }
}
