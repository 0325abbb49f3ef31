/**
 * Which attachments HTTP clients may send: the option `attachments`. This module decides about addresses, media types
 * and names. The engine checks the rest: forms, and sizes.
 */
import { checkOptionNames, invalidInput } from '../../../src/util/options.js'
import { Refusal } from '../reply/refusal.js'
import { isObject } from './is-object.js'

/**
 * Which attachments clients may send. `false`: none. `'bytes'`: bytes in base64. An object also admits addresses, or
 * more media types.
 *
 * @inline
 */
export type AttachmentsOption =
  | false
  | 'bytes'
  | {
      /**
       * Whether a client may send this address; a model's provider may fetch it, inside your network if you host the
       * model. Allow your own hosts only. Called for `https` addresses that name a host of the internet: literal IP
       * addresses, names without a dot, and names that end in `.localhost`, `.local` or `.internal` are refused before.
       * Any result but `true` refuses the address.
       *
       * @defaultValue addresses are refused
       */
      readonly addresses?: (url: URL) => boolean
      /**
       * Media types besides the usual ones: `image/heic`, or `video/*` for all types of a kind. The usual ones are
       * `image/png`, `image/jpeg`, `image/gif`, `image/webp`, `application/pdf`, `audio/*`, `text/plain`, `text/csv`
       * and `text/markdown`.
       */
      readonly mediaTypes?: readonly string[]
    }

/**
 * Returns the attachments of a request as the engine gets them: with addresses as they were checked, and without
 * folders in names. Items of a wrong form are returned unchanged, because the engine names what is wrong with them.
 *
 * @throws Refusal for an attachment that is not allowed
 */
export type AttachmentCheck = <Item>(attachments: readonly Item[]) => Item[]

const usualTypes = [
  ...['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf', 'audio/*'],
  ...['text/plain', 'text/csv', 'text/markdown'],
]

/** Parsing a long address takes far longer than the address is worth. */
const maxAddressLength = 8_192

/**
 * The most characters of its host and port: a host name has at most 253 (RFC 1035, section 2.3.4). Converting a longer
 * international name takes time that grows with its square.
 */
const maxAuthorityLength = 260

/** @throws `InvalidInputError` if the option is wrong. `caller` is the function the user called. */
export function checkAttachmentsOption(option: unknown, caller: string): void {
  if (option === undefined || option === false || option === 'bytes') return
  if (!isObject(option)) {
    throw invalidInput(`${caller}: attachments must be false, 'bytes' or { addresses, mediaTypes }.`)
  }
  checkOptionNames(caller, option, { addresses: true, mediaTypes: true }, 'attachments')
  const { addresses, mediaTypes = [] } = option
  if (addresses !== undefined && typeof addresses !== 'function') {
    throw invalidInput(`${caller}: attachments.addresses must be a function of a URL.`)
  }
  if (!Array.isArray(mediaTypes) || !mediaTypes.every(isTypePattern)) {
    throw invalidInput(`${caller}: attachments.mediaTypes must be a list of types such as 'image/heic' or 'video/*'.`)
  }
}

function isTypePattern(type: unknown): boolean {
  return typeof type === 'string' && /^[\w.+-]+\/(?:[\w.+-]+|\*)$/.test(type)
}

/** Makes the check of an option. */
export function createAttachmentCheck(option: AttachmentsOption = 'bytes'): AttachmentCheck {
  const { addresses, mediaTypes = [] } = typeof option === 'object' ? option : {}
  const allowed = new Set([...usualTypes, ...mediaTypes].map((type) => type.toLowerCase()))

  function checkType(mediaType: string): void {
    const type = mediaType.toLowerCase()
    if (allowed.has(type) || allowed.has(type.replace(/\/.*/s, '/*'))) return
    throw new Refusal('Files of this type cannot be sent here.')
  }

  function checkAddress(address: string): string {
    if (addresses === undefined) throw new Refusal('An attachment must be sent as bytes in base64, not as an address.')
    const url = hasUsualLength(address) && URL.canParse(address) ? new URL(address) : undefined
    // The normalized text is passed on: another parser may see another host in the client's.
    const { href } = url ?? {}
    if (url === undefined || href === undefined || !isOfInternet(url) || !mayBeSent(addresses(url))) {
      throw new Refusal('This address cannot be sent as an attachment.')
    }
    return href
  }

  function checkOne<Item>(item: Item): Item {
    if (!isObject(item)) return item
    const { mediaType, url, name } = item
    if (typeof mediaType === 'string') checkType(mediaType)
    return {
      ...item,
      ...(typeof url === 'string' ? { url: checkAddress(url) } : {}),
      ...(typeof name === 'string' ? { name: baseName(name) } : {}),
    }
  }

  return function checkAttachments(attachments) {
    if (option === false && attachments.length > 0) throw new Refusal('Attachments cannot be sent here.')
    return attachments.map(checkOne)
  }
}

/** @throws TypeError for an answer of `addresses` that is not a boolean, such as a promise */
function mayBeSent(answer: unknown): boolean {
  if (typeof answer === 'boolean') return answer
  // Nothing else handles its rejection.
  Promise.resolve(answer).catch(() => undefined)
  throw new TypeError(`attachments.addresses must return true or false, and not a promise; got ${typeof answer}.`)
}

function hasUsualLength(address: string): boolean {
  const [, authority = ''] = /^[^/\\]*[/\\]*([^/\\?#]*)/.exec(address) ?? []
  return address.length <= maxAddressLength && authority.length <= maxAuthorityLength
}

/**
 * Whether an address is `https` and names a host that can be outside the own network. The parser of the URL has already
 * converted every notation of an IPv4 address (WHATWG URL, section 3.5).
 */
function isOfInternet({ protocol, hostname }: URL): boolean {
  const isLiteral = hostname.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(hostname)
  // A name may also end with dots; then it would hide its last label.
  const isInside = !hostname.includes('.') || /\.(?:localhost|local|internal)?$/.test(hostname)
  return protocol === 'https:' && !isLiteral && !isInside
}

/** A file name without folders. */
function baseName(name: string): string {
  const base = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1)
  return base === '.' || base === '..' || base === '' ? 'file' : base
}
