/// <reference types="node" />
/**
 * The frameworks of testing/contract/frameworks, each as a server on a port of the system's choice. The files of its
 * folder `apps` are the code of docs/frameworks.md; they are JavaScript, because the frameworks are not installed
 * where the types are checked.
 */
import { existsSync } from 'node:fs'
import type { RequestListener, Server } from 'node:http'
import { type RunningServer, runningServer } from './node-server.js'

type Handler = (request: Request) => Promise<Response>
type CreateServer = (handler: Handler) => Server | Promise<Server>

/** One of the files of `apps/`. */
export interface FrameworkApp {
  readonly plain: CreateServer
  /** The framework has parsed the body. */
  readonly parsed?: CreateServer
  /** Serves below `/api/ai`. */
  readonly mounted?: CreateServer
}

const isMissing = !existsSync(new URL('../frameworks/node_modules/express', import.meta.url))

/** Whether the tests are left out: on a laptop without the frameworks. If `CI` is set they must run, and fail. */
export const areFrameworksMissing: boolean = process.env.CI === undefined && isMissing

/** The title if the tests are left out. */
export const leftOut: string = areFrameworksMissing
  ? ' (left out: npm ci --prefix testing/contract/frameworks has not run)'
  : ''

/** Loads a file of `apps/`. */
export function loadApp<App = FrameworkApp>(name: string): Promise<App> {
  return import(`../frameworks/apps/${name}.mjs`) as Promise<App>
}

/** Starts a server that does not listen yet. */
export async function listen(starting: Server | RequestListener | Promise<Server>): Promise<RunningServer> {
  const server = (await starting) as Server
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return runningServer(server)
}
