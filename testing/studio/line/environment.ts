/** What the studio reads of its process. */
import { invalidInput } from '../../../src/util/options.js'

/** @throws `InvalidInputError` with `NODE_ENV=production`. */
export function refuseProduction(): void {
  if (process.env.NODE_ENV !== 'production') return
  throw invalidInput('The studio is for development, and NODE_ENV is production. It shows everything to its user.')
}

/** A text of JSON in which the secrets of the environment stand as their names, wherever they come from. */
export function withoutSecrets(json: string): string {
  let text = json
  for (const [name, secret = ''] of Object.entries(process.env)) {
    if (secret.length < 8 || !/key|token|secret|password|credential|dsn|_url$/i.test(name)) continue
    text = text.replaceAll(JSON.stringify(secret).slice(1, -1), `[${name}]`)
  }
  return text
}

/** A line of a stack with the path from the current folder. */
export function belowHere(frame: string): string {
  return frame.replace(`${process.cwd().replaceAll('\\', '/')}/`, '')
}
