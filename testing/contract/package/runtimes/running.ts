/** A runtime that was started, and serves the application of servers/app.js. */
export interface Running {
  readonly version: string
  /** Sends one request. `path` begins with `/`. */
  send(path: string, init?: RequestInit): Promise<Response>
  close(): Promise<void>
}
