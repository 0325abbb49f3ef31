/** What the studio reads of its process. */
import { invalidInput } from '../../../src/util/options.js'

/** @throws `InvalidInputError` with `NODE_ENV=production`. */
export function refuseProduction(): void {
  if (process.env.NODE_ENV !== 'production') return
  throw invalidInput('The studio is for development, and NODE_ENV is production. It shows everything to its user.')
}

const secretName = /key|token|secret|pass|(?<!^(?:old)?)pwd|credential|auth|private|_pat$|dsn/i
const secretUrl = /^[a-z+]+:\/\/[^/]*@/i

/** JSON in whose texts the secrets of the environment stand as their names, wherever they come from. */
export function withoutSecrets(value: unknown): string {
  const secrets = Object.entries(process.env).filter(
    ([name, secret = '']) => secret.length >= 8 && (secretName.test(name) || secretUrl.test(secret)),
  )
  return JSON.stringify(value, (_key, one: unknown) =>
    typeof one !== 'string'
      ? one
      : secrets.reduce((text, [name, secret = '']) => text.replaceAll(secret, `[${name}]`), one),
  )
}

/** A line of a stack with the path from the current folder. */
export function belowHere(frame: string): string {
  return frame.replace(`${process.cwd().replaceAll('\\', '/')}/`, '')
}
