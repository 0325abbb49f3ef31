// An application types its services by augmenting the package. Optional here, because this
// declaration applies to every file.
import { expectTypeOf, test } from 'vitest'
import { FlowEngine, type FlowServices, type Turn } from '../index.js'

interface Mailer {
  send(to: string, text: string): Promise<void>
}

declare module '../index.js' {
  interface FlowServices {
    mailerOfTypeTests?: Mailer
  }
}

test('the services of a turn are those of the application', () => {
  expectTypeOf<FlowServices['mailerOfTypeTests']>().toEqualTypeOf<Mailer | undefined>()
  expectTypeOf<Turn['services']['mailerOfTypeTests']>().toEqualTypeOf<Mailer | undefined>()
})

test('the engine accepts no others', () => {
  const mailer: Mailer = { send: async () => undefined }
  new FlowEngine({ services: { mailerOfTypeTests: mailer } })
  // @ts-expect-error not a mailer
  new FlowEngine({ services: { mailerOfTypeTests: 'smtp://localhost' } })
})
