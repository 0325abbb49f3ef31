/**
 * The entry point `turnkeeper/tickets`: opaque texts for links and buttons, each the right of its holder to send one
 * event to one step of a session. `seal.ts` encrypts them. `POST ticket` of the HTTP routes takes them.
 *
 * @module turnkeeper/tickets
 */
import type { JsonValue, SendEventInput, Turn } from '../../src/index.js'
import { canonicalJson, digestOf } from '../../src/util/digest.js'
import { copyJson, jsonSize } from '../../src/util/json.js'
import { checkOptionNames, invalidInput } from '../../src/util/options.js'
import { openText, type Secret, sealText, secretOf } from './seal.js'

/** The options of {@link tickets}. */
export interface TicketsOptions {
  /**
   * Secrets of at least 32 characters. The first one seals; all of them open. To rotate, put the new one first, and
   * remove the old one when its tickets may end.
   */
  readonly secrets: readonly string[]
}

/** Who a ticket is for, and what they are asked. */
export interface TicketHolder {
  /** The holder's name, as `by` of `sendEvent`: customers may read it. 1 to 200 characters. */
  readonly by: string
  /** The holder's ID, as `byId` of `sendEvent`. 1 to 200 characters. */
  readonly byId?: string
  /** What the holder is asked, for `turn.event.about`: plain JSON, at most 1 KiB. */
  readonly about?: JsonValue
}

/** Seals and opens tickets: see {@link tickets}. */
export interface Tickets {
  /**
   * A ticket for an event of the turn's current step, in the letters of base64url. The same content gives the same
   * text, so a turn that is repeated sends the same link. Its event is taken until the step is left or entered again;
   * it is not single-use, and whoever has it may use it. The name is not checked: only an event of the current step can
   * be taken, not one of the flow.
   *
   * @throws `InvalidInputError` (rejects)
   */
  seal(turn: Turn, event: string, holder: TicketHolder): Promise<string>
  /**
   * The input of `engine.sendEvent` for a ticket and a payload. Its key belongs to both, so that a second click repeats
   * the answer of the first.
   *
   * @throws `InvalidInputError` (rejects) for a text that none of the secrets opens
   */
  open(ticket: string, payload?: JsonValue): Promise<SendEventInput>
}

const maxNameLength = 200
const maxAboutDepth = 64
const maxAboutBytes = 1024
const minSecretLength = 32

/**
 * Makes tickets for links in mails and for buttons: the text is encrypted, and says which session, step and event it is
 * for, and whose it is. Needs WebCrypto, which Node.js, Bun, Deno and workerd have.
 *
 * @throws `InvalidInputError` for a missing or short secret, or an unknown option
 * @example
 * ```ts
 * const links = tickets({ secrets: [ticketSecret] })
 * const ticket = await links.seal(turn, 'decision', { by: 'Ada Meier', byId: 'emp-17', about: '100 EUR' })
 * const result = await engine.sendEvent(await links.open(ticket, { approved: true }))
 * ```
 */
export function tickets(options: TicketsOptions): Tickets {
  checkOptionNames('tickets', options, { secrets: true })
  const secrets = checkSecrets(options.secrets).map(secretOf) as [Secret, ...Secret[]]
  return {
    async seal(turn, event, holder) {
      if (typeof event !== 'string' || event.trim() === '' || event.length > maxNameLength) {
        throw invalidInput(`seal: event must be the name of an event: 1 to ${maxNameLength} characters.`)
      }
      checkHolder(holder)
      const { session, step, entry } = turn
      const content = { ...holder, sessionId: session.id, owner: session.owner, event, only: { step, entry } }
      return sealText(secrets[0], canonicalJson(content))
    },
    async open(ticket, payload) {
      const text = typeof ticket === 'string' ? await openText(secrets, ticket) : undefined
      if (text === undefined) {
        throw invalidInput('This ticket cannot be opened: it is not complete, or its secret is not in use any more.')
      }
      const sent = payload === undefined ? {} : { payload }
      return { ...JSON.parse(text), ...sent, idempotencyKey: digestOf(canonicalJson({ ticket, ...sent })) }
    },
  }
}

function checkSecrets(secrets: unknown): readonly string[] {
  const isRight = (secret: unknown): boolean => typeof secret === 'string' && secret.length >= minSecretLength
  if (Array.isArray(secrets) && secrets.length > 0 && secrets.every(isRight)) return secrets
  throw invalidInput(`tickets: secrets must be a list of texts of at least ${minSecretLength} random characters.`)
}

/** @throws `InvalidInputError` */
function checkHolder(holder: TicketHolder): void {
  checkOptionNames('seal', holder, { by: true, byId: true, about: true })
  const { by, byId, about } = holder
  for (const [name, value] of [['by', by], ...(byId === undefined ? [] : [['byId', byId]])] as const) {
    if (typeof value === 'string' && value !== '' && value.length <= maxNameLength) continue
    throw invalidInput(`seal: ${name} must be a text of 1 to ${maxNameLength} characters.`)
  }
  if (about === undefined) return
  const copy = copyJson(about, 'seal: about', maxAboutDepth, (problem, cause) => invalidInput(`${problem}.`, cause))
  if (jsonSize(copy) > maxAboutBytes) throw invalidInput(`seal: about may have at most ${maxAboutBytes} bytes as JSON.`)
}
