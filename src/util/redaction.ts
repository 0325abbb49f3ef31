/**
 * Redacts secrets in texts that may leave the process: keys, tokens, card and account numbers in known formats. The
 * table in docs/failures.md lists them; redaction.test.ts compares both. A secret in any other format is not redacted.
 *
 * Each pattern takes linear time: an unbounded scan ends in a match, or is done only once, because the pattern cannot
 * begin inside the scanned text.
 */

export const redacted = '[redacted]'

/** Tokens with a vendor prefix, followed by letters and digits. */
const plainTokens =
  'npm_|rubygems_|cio|oy2|do[opr]_v1_|vc[aikpr]_|nfp_|sbp_|NRAK-|shp(?:at|ca|pa|ss)_|lin_api_|ntn_|secret_|hf_|gsk_|xai-|r8_|pplx-|fw_|csk-'

/** Tokens with a vendor prefix, followed by letters, digits and other characters. */
const otherTokens = [
  'gh[oprsu]_|github_pat_|gl(?:pat|dt|rt|rtr|cbt|ptt|ft|soat|imt|agent|oas|ffct|wt)-|AT[AC]TT3|ATBB|pypi-|dckr_[a-z]at_',
  String.raw`AIza|ya29\.|GOCSPX-|1\/\/0|hv[brs]\.|HRKU-|PMAK-|gl(?:c|sa)_|sntry[su]_|pscale_[a-z]{1,9}_|dp\.[a-z]{2,5}\.|figd_|ops_ey`,
  String.raw`xox[a-z]-|xapp-|SG\.|whsec_`,
].join('|')

/**
 * Tokens that are recognised by their whole format: AWS, Azure, Databricks, Terraform, Discord, Telegram, Twilio and
 * mail services.
 */
const wholeTokens = [
  'A(?:3T[A-Z0-9]|BIA|CCA|GPA|IDA|IPA|KIA|NPA|NVA|ROA|SCA|SIA)[A-Z0-9]{16}',
  String.raw`[\w.~-]{3}\dQ~[\w.~-]{31,34}|dapi[a-f0-9]{32}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,90}`,
  String.raw`[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}|\d{8,10}:AA[\w-]{33}`,
  String.raw`(?:SK|key-)[a-f0-9]{32}|[a-f0-9]{32}-us\d{1,2}|pat-[a-z]{2}\d-[a-f0-9-]{36}`,
].join('|')

/** The end of a name whose value is a secret, and the characters allowed between the name and the sign after it. */
const secretName = String.raw`(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|authorization|sig(?:nature)?|(?:api|access|account|private|signing|encryption|shared|auth)[-_ ]?key)(?:[-_ ]?access)?(?:[-_ ]?(?:key|value|hash))?\\?["']?\s{0,3}`

const account = /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/g

const card = /^(?:\d{14,19}|\d{4}([ -])(?:\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|\d{6}\1\d{4,5}))$/

/**
 * First digits by length: Diners Club; American Express; Visa, Mastercard, JCB, Diners Club,
 * Discover, UnionPay and Maestro.
 */
const issuers =
  /^(?:3[0689]\d{12}|3[47]\d{13}|(?=\d{16,19}$)(?:4|5[0-8]|6[02-7]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|3[05689])\d+)$/

/** The patterns in the order in which they are tried, each with the replacement of a match. */
function patterns(): readonly (readonly [RegExp, string | ((match: string, ...rest: never[]) => string)])[] {
  // A token never begins in the middle of an ID.
  const anyOf = (tokens: string, rest: string): RegExp => new RegExp(`(?<![A-Za-z0-9])(?:${tokens})${rest}`, 'g')
  const valueAfter = (sign: string, value: string): RegExp => new RegExp(`(${secretName}${sign})${value}`, 'gi')
  const keepName = `$1${redacted}`
  return [
    // Up to the end of the key, or of a truncated text.
    [
      /-----BEGIN ?(?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END[ A-Z0-9]{0,60}-----|$)/g,
      redacted,
    ],
    // A password that was not encoded may have a slash. After a host of the web, digits and a slash are a port.
    [
      /((?<!\b(?:http|ws)s?):\/\/|:\/\/(?!\[|[^\s/?#:@]+:\d{1,5}[/?#]))[^\s/?#:@"'<>]{0,256}:[^\s"'<>]{0,256}@/gi,
      `${keepName}@`,
    ],
    [/(:\\?\/\\?\/)[^\s/?#]+@/g, `${keepName}@`],
    [
      /((?:hooks\.slack\.com|discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks|webhook\.office\.com)\/)[\w/@-]+/gi,
      keepName,
    ],
    [/\bBearer\s+[\w.~+/=-]+/gi, `Bearer ${redacted}`],
    [/\b(Basic\s+)([\w+/-]{4,}={0,2})/gi, redactBasic],
    [/(?<![\w-])eyJ[\w-]{8,}(?:\.[\w-]*){1,4}/g, redacted],
    // Other names, of tables or courses, begin the same way: match only texts as long as a key that contain a digit.
    [/\b(?:sk|pk|rk)[-_](?=[a-z_-]{0,99}\d)[\w-]{16,}/gi, redacted],
    [anyOf(plainTokens, '[A-Za-z0-9]{20,}'), redacted],
    [anyOf(otherTokens, '[\\w.~+/=-]{16,}'), redacted],
    [anyOf(wholeTokens, '(?![A-Za-z0-9])'), redacted],
    // A value in quotation marks, which may be escaped; up to the end of a truncated text.
    [valueAfter(String.raw`[:=]>?\s{0,3}(\\?["'])`, String.raw`(?:(?!\2)(?:\\[\s\S]|[\s\S]))+`), redactQuoted],
    [valueAfter(String.raw`(?:=>?(?!=)|>)\s{0,3}`, '[^\\s"\'`&,;<>]+'), keepName],
    // After a colon, match only a value with a digit: people write "Wrong password: try again".
    [
      valueAfter(String.raw`:\s{0,3}(?:(?:ApiKey|Digest|Token)\s)?`, '(?=[^\\s\\d]{0,99}\\d)[^\\s"\'&,;<>]{6,}'),
      keepName,
    ],
    // Match a whole run of groups: a pattern that also checked the text around it would retry every end of the run.
    [/\d(?:[ -]?\d){13,}/g, redactRun],
    [account, redactAccount],
  ]
}

/** `text` with `[redacted]` in place of credentials, card numbers and account numbers. */
export function redact(text: string): string {
  let result = text
  for (const [pattern, replacement] of patterns()) result = result.replace(pattern, replacement as string)
  return result
}

/** A secret has at least four letters or digits: `unexpected token: "}"` has none. */
function redactQuoted(match: string, name: string): string {
  const value = match.slice(name.length)
  return value.replace(/[^\p{L}\p{N}_]/gu, '').length < 4 ? match : name + redacted
}

/** Ordinary words also follow "basic", so only base64 of `user:password`, in ASCII or UTF-8, is redacted. */
function redactBasic(match: string, scheme: string, value: string): string {
  try {
    const bytes = atob(value.replaceAll('-', '+').replaceAll('_', '/'))
    return /^[ -9;-~]*:/.test(bytes) || /^\P{Cc}*:\P{Cc}*$/u.test(utf8(bytes)) ? scheme + redacted : match
  } catch {
    return match
  }
}

/** Decodes bytes. Throws if they are not UTF-8. */
function utf8(bytes: string): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)))
}

/** A run of digit groups, without groups at its ends that belong to a word, a number or an ID. */
function redactRun(run: string, offset: number, text: string): string {
  const before = text.slice(Math.max(0, offset - 5), offset)
  const first = /(?<![\w.]|[\da-f]{4}-)\d/g
  first.lastIndex = before.length
  const found = first.exec(before + run)
  const after = text.slice(offset + run.length, offset + run.length + 2)
  const end = /^(?:\w|[.-]\d)/.test(after) ? run.lastIndexOf(' ') : run.length
  if (found === null || end < 0) return run
  const start = found.index - before.length
  if (start >= end) return run
  return run.slice(0, start) + redactCards(run.slice(start, end)) + run.slice(end)
}

/** Redacts the cards in a run of digit groups. A card may begin at any group. */
function redactCards(run: string): string {
  let result = ''
  for (let at = 0; at < run.length; ) {
    const length = /\d/.test(run.charAt(at - 1)) ? 0 : lengthOfCard(run.slice(at, at + 24))
    result += length === 0 ? run.charAt(at) : redacted
    at += length || 1
  }
  return result
}

/** The length of the card number at the start of a text; 0 if there is none. */
function lengthOfCard(text: string): number {
  for (let length = Math.min(23, text.length); length >= 14; length--) {
    if (!/\d/.test(text.charAt(length)) && isCard(text.slice(0, length))) return length
  }
  return 0
}

/** Whether digits are grouped as on a card, begin with an issuer's digits, and have a valid check digit (Luhn). */
function isCard(text: string): boolean {
  const digits = text.replace(/[ -]/g, '')
  if (!card.test(text) || !issuers.test(digits)) return false
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const product = Number(digits.at(-1 - index)) * (1 + (index % 2))
    sum += product > 9 ? product - 9 : product
  }
  return sum % 10 === 0
}

/** Redacts an account number (IBAN) between words in capitals. */
function redactAccount(match: string): string {
  for (let end = match.length; end >= 15; end = match.lastIndexOf(' ', end - 1)) {
    if (isAccount(match.slice(0, end))) return redacted + match.slice(end)
  }
  const next = match.indexOf(' ') + 1
  return next === 0 ? match : match.slice(0, next) + match.slice(next).replace(account, redactAccount)
}

/** Whether the IBAN's check digits are valid: the number is 1 modulo 97, with A as 10, B as 11 and so on. */
function isAccount(text: string): boolean {
  const characters = text.replaceAll(' ', '')
  let remainder = 0
  for (const character of characters.slice(4) + characters.slice(0, 4)) {
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
  }
  return characters.length >= 15 && remainder === 1
}
