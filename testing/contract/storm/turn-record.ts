/** A client's knowledge of one requested turn. verdict.ts compares it with the stored session. */

/** One turn, as its client saw it. Times are milliseconds of a clock that all processes of the machine share. */
export interface TurnRecord {
  /** Unique; it begins with the slot. */
  readonly message: string
  /** The conversation that it is meant for. Its session changes when one ended: a slot then continues in a new one. */
  readonly slot: string
  /** The requested session; empty for a new one. */
  readonly asked: string
  readonly sentAt: number
  /** Absent if the process was killed before the answer came. */
  readonly answer?: TurnAnswer
}

/** What the engine answered. */
export interface TurnAnswer {
  readonly at: number
  /** `acknowledged`, or the code of the error. */
  readonly outcome: string
  /** The session in the answer. */
  readonly session: string
  readonly reply: string
}

/** The time, of a clock that all processes of the machine share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000
}

/** What a message asks for: an answer, an answer that ends the session, or a failure of the flow, which aborts it. */
export type MessageKind = 'plain' | 'last' | 'failing'

/** The text of a message: its slot, who sends it, the sender's count of it, and its kind. */
export function messageOf(slot: string, sender: string, count: number, kind: MessageKind): string {
  return `${slot} ${sender}#${count} ${kind}`
}

/** Who sent a message, and the sender's count of it. */
export function senderOf(message: string): { readonly sender: string; readonly count: number } {
  const [sender = '', count] = (message.split(' ')[1] ?? '').split('#')
  return { sender, count: Number(count) }
}

/** What a message asks for. */
export function kindOf(message: string): MessageKind {
  return message.endsWith(' last') ? 'last' : message.endsWith(' failing') ? 'failing' : 'plain'
}

/** The bytes that come with a message, in base64. */
export function photoOf(message: string): string {
  return btoa(message)
}

/** The number of the turn in a reply. */
export function turnOf(reply: string): number {
  return Number.parseInt(reply, 10)
}

/** The reply to a message, as the turn with this number gives it. */
export function replyTo(message: string, turn: number): string {
  return `${turn}: ${message}`
}
