/**
 * Run by Deno: the suite over the store, or one of several processes that talk in one session. Writes
 * what happened, a line each.
 *
 *     deno run --unstable-kv -A check.js suite <file>
 *     deno run --unstable-kv -A check.js talk <file> <session> <name> <turns>
 *     deno run --unstable-kv -A check.js read <file> <session>
 */
import { Flow, FlowEngine, LogicStep, reply, type Turn } from 'turnkeeper'
import { sessionStoreSuite } from 'turnkeeper/testing/suites'
import { type DenoKv, DenoKvSessionStore } from './deno-kv-store.js'

declare const Deno: {
  readonly args: readonly string[]
  openKv(path: string): Promise<DenoKv>
  exit(code: number): never
}

class Repeat extends LogicStep {
  static override readonly id = 'Repeat'
  override run(turn: Turn) {
    return reply(`You said: ${turn.message}`)
  }
}

class Echo extends Flow {
  static override readonly id = 'Echo'
  override steps() {
    return [Repeat]
  }
}

const [command, file = '', session = '', name = '', turns = '0'] = Deno.args

async function suite(): Promise<void> {
  const cases: (readonly [string, () => Promise<void>])[] = []
  const skip = (title: string): void => console.log(`skipped ${title}`)
  const test = Object.assign((title: string, body: () => Promise<void>) => void cases.push([title, body]), { skip })
  const kv = await Deno.openKv(file)
  sessionStoreSuite(test, async () => new DenoKvSessionStore(await Deno.openKv(file)), {
    async corrupt(sessionId) {
      for await (const { key, value } of kv.list({ prefix: ['piece'] })) {
        const text = new TextDecoder().decode(value as Uint8Array)
        if (text.includes(sessionId)) await kv.atomic().set(key, new TextEncoder().encode('{"cut":')).commit()
      }
    },
  })
  for (const [title, body] of cases) {
    await body().then(
      () => console.log(`passed ${title}`),
      (error: Error) => console.log(`failed ${title}: ${error.message}`),
    )
  }
}

/** Sends the given number of messages, each until it is stored. */
async function talk(engine: FlowEngine): Promise<void> {
  for (let count = 1; count <= Number(turns); ) {
    const userMessage = `${name}#${count}`
    const { response, error } = await engine.execute({
      flowName: 'Echo',
      userMessage,
      ...(session && { sessionId: session }),
    })
    if (response.success) console.log(`stored ${userMessage} in ${response.session}`)
    else if (error?.code === 'SESSION_CONFLICT') console.log(`conflict ${userMessage}`)
    else throw error
    if (response.success) count++
  }
}

if (command === 'suite') await suite()
else {
  const store = new DenoKvSessionStore(await Deno.openKv(file))
  const engine = new FlowEngine({ flows: [Echo], sessionStore: store })
  if (command === 'talk') await talk(engine)
  else {
    for (const turn of (await engine.getSession(session))?.history ?? []) console.log(`read ${turn.message}`)
    console.log(`swept ${await store.sweep(0)} and ${await store.sweep(0)}`)
  }
  await engine.close()
}
// The suite's own connection would keep the process alive.
Deno.exit(0)
