/** Plays cases on sockets, one after the other, on one connection to each application while that is kept. */
import { boundMs, Connection } from './connection.js'
import { headerOf, isOfServer, judgeReply, type SeenReply } from './oracle.js'
import type { Kind, Outcome } from './outcome.js'
import { runPlan, sessionMark, userHeader } from './plan.js'
import type { AppName } from './served-app.js'
import { type DueReply, encodePlan, type WireCase } from './wire-case.js'

/**
 * Milliseconds of silence after which a client that may be owed nothing closes its side: before a reply, and after one.
 */
const firstQuietMs = 750
const nextQuietMs = 15

export class SocketPlayer {
  readonly #ports: Readonly<Record<AppName, number>>
  readonly #connections = new Map<AppName, Connection>()

  constructor(ports: Readonly<Record<AppName, number>>) {
    this.#ports = ports
  }

  async play(app: AppName, wire: WireCase): Promise<Outcome> {
    const session = wire.opener === undefined ? '' : await this.#openSession(app, wire.opener)
    if (session === undefined) return { kinds: [], problems: ['no session could be opened'] }
    const connection = await this.#connect(app)
    if (connection.rest !== '')
      return this.#give(app, [], [`bytes that belong to no reply: ${JSON.stringify(connection.rest.slice(0, 200))}`])
    for (const [index, piece] of wire.pieces.entries()) {
      if (index > 0) await pause(wire.pauseMs)
      connection.write(session === '' ? piece : piece.replaceAll(sessionMark, session))
    }
    try {
      return await this.#finish(app, connection, wire)
    } catch (error) {
      return this.#give(app, [], [error instanceof Error ? error.message : String(error)])
    }
  }

  close(): void {
    for (const app of [...this.#connections.keys()]) this.#drop(app)
  }

  async #finish(app: AppName, connection: Connection, wire: WireCase): Promise<Outcome> {
    if (wire.ending === 'answered') return this.#readAll(app, connection, wire.due)
    if (wire.ending === 'maybe') return this.#readPerhaps(app, connection, wire.due)
    const hasBegun = wire.ending === 'cut' || (await connection.begun())
    await pause(wire.pauseMs)
    return this.#give(app, ['none'], hasBegun ? [] : [`no byte of a reply within ${boundMs} ms`])
  }

  async #readAll(app: AppName, connection: Connection, due: readonly DueReply[]): Promise<Outcome> {
    const kinds: Kind[] = []
    const problems: string[] = []
    for (const expected of due) {
      const reply = await connection.reply(expected.method)
      if (reply === 'late') return this.#give(app, kinds, [...problems, `hang: no reply within ${boundMs} ms`])
      if (reply === 'closed') return this.#give(app, kinds, [...problems, 'the connection closed without a reply'])
      problems.push(...judgeReply(reply, expected, { app, byServer: true }))
      kinds.push(kindOf(reply, app))
      if (isLast(reply)) return this.#give(app, kinds, problems)
    }
    return { kinds, problems }
  }

  /** Reads what comes until it is quiet, and then until the end. */
  async #readPerhaps(app: AppName, connection: Connection, due: readonly DueReply[]): Promise<Outcome> {
    const kinds: Kind[] = []
    const problems: string[] = []
    while (true) {
      const expected = due[kinds.length]
      const reply = await connection.reply(expected?.method ?? 'GET', kinds.length === 0 ? firstQuietMs : nextQuietMs)
      if (typeof reply === 'string') break
      kinds.push(kindOf(reply, app))
      problems.push(...judgePerhaps(reply, expected, app))
    }
    if (!connection.isClosed && !(await connection.end()))
      problems.push(`hang: a closed connection stays open for ${boundMs} ms`)
    return this.#give(app, kinds.length === 0 ? ['none'] : kinds, problems)
  }

  async #openSession(app: AppName, user: string): Promise<string | undefined> {
    const connection = await this.#connect(app)
    const { headers: _, ...plan } = runPlan()
    connection.write(encodePlan({ ...plan, headers: user === '' ? [] : [[userHeader, user]] }))
    const reply = await connection.reply('POST')
    return typeof reply === 'string' ? undefined : headerOf(reply, 'CHAT_SESSION_ID')
  }

  async #connect(app: AppName): Promise<Connection> {
    const kept = this.#connections.get(app)
    if (kept !== undefined && !kept.isClosed) return kept
    const connection = await Connection.open(this.#ports[app])
    this.#connections.set(app, connection)
    return connection
  }

  #give(app: AppName, kinds: readonly Kind[], problems: readonly string[]): Outcome {
    this.#drop(app)
    return { kinds, problems }
  }

  #drop(app: AppName): void {
    this.#connections.get(app)?.cut()
    this.#connections.delete(app)
  }
}

/**
 * A reply of which it was not certain whether it comes. One that is not due answers a request that hid in another; only
 * what the server makes of bytes that are not a request may come in its place.
 */
function judgePerhaps(reply: SeenReply, due: DueReply | undefined, app: AppName): string[] {
  const served = { app, byServer: true } as const
  const isHidden = due === undefined && !isOfServer(reply, served)
  const { method = 'POST', route } = due ?? {}
  return [
    ...(isHidden ? [`an unrequested reply: ${reply.status} ${reply.body.slice(0, 200)}`] : []),
    ...judgeReply(reply, { method, route, expects: undefined }, served),
  ]
}

/** How a reply counts. */
function kindOf(reply: SeenReply, app: AppName): Kind {
  if (isOfServer(reply, { app, byServer: true })) return 'server'
  return reply.status < 400 ? 'success' : 'failure'
}

function isLast(reply: SeenReply): boolean {
  return headerOf(reply, 'Connection')?.toLowerCase() === 'close'
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
