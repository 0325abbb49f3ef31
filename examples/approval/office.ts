/** What the flow has outside: managers, mails and payouts. They are files in a folder, so that you can look at them. */
import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Turn } from 'turnkeeper'
import { type Tickets, tickets } from 'turnkeeper/tickets'

export const managers = [
  { id: 'emp-17', name: 'Ada Meier' },
  { id: 'emp-21', name: 'Bo Lund' },
] as const

export interface Office {
  /** Seals what a mail's link does, and opens it again. */
  readonly tickets: Tickets
  readonly mails: {
    send(mail: { to: string; subject: string; ticket: string; key: string }): Promise<void>
  }
  readonly payouts: {
    send(amount: number, key: string): Promise<void>
  }
}

declare module 'turnkeeper' {
  interface FlowServices {
    /** Optional, because other examples of this folder have no office. In your application it is not. */
    readonly office?: Office
  }
}

export function officeOf(turn: Turn): Office {
  const { office } = turn.services
  if (office === undefined) throw new Error('The engine needs the service office.')
  return office
}

/**
 * An office whose mails are the files of `mails` in the folder, and whose payouts are the lines of `payouts.txt`.
 *
 * @param url - Where the managers' pages are.
 */
export function openOffice(folder: string, url: string, secret: string): Office {
  return {
    tickets: tickets({ secrets: [secret] }),
    mails: {
      async send({ to, subject, ticket, key }) {
        const link = `${url}/decide?ticket=${encodeURIComponent(ticket)}`
        await mkdir(join(folder, 'mails'), { recursive: true })
        // A mail that is sent again under its key is the same mail.
        await writeFile(join(folder, 'mails', `${key}.txt`), `To: ${to}\nSubject: ${subject}\n\n${link}\n`)
      },
    },
    payouts: {
      send: (amount, key) => appendFile(join(folder, 'payouts.txt'), `${amount} ${key}\n`),
    },
  }
}
