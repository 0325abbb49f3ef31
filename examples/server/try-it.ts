/** The lines to try that the server prints when it starts. `check.ts` runs them unchanged. */

/** @param url - The server's URL, without a slash at the end. */
export function tryItLines(url: string): string {
  const begin = (body: object): string =>
    `ID=$(curl -s -o /dev/stderr -w '%header{chat_session_id}' --json '${JSON.stringify(body)}' ${url}/ai/run)`
  const say = (body: object, options = ''): string =>
    `curl -s${options} --json '${JSON.stringify(body)}' -H "CHAT_SESSION_ID: $ID" ${url}/ai/run`
  const turn = (flowName: string, message: string): object => ({ flowName, message })
  return `Talk to the support desk in a browser, get a report there, or book a repair ("form" shows all questions at once):
  ${url}/
  ${url}/?flow=VisitReport
  ${url}/?flow=Appointment

The flows:
  curl -s ${url}/ai/flows

Book a repair. The first reply brings the session's ID in a header; every later turn sends it back:
  ${begin({ flowName: 'Appointment' })}
  ${say(turn('Appointment', 'brakes'))}
  ${say(turn('Appointment', '2'))}

Ask the support desk:
  ${begin(turn('SupportDesk', 'Where is my parcel?'))}
  ${say(turn('SupportDesk', 'FK-1057'))}

The same as a stream, event by event:
  ${say(turn('SupportDesk', 'What is in order FK-1063?'), "N -H 'Accept: text/event-stream'")}

Get a report, as text and as a file:
  ${begin({ flowName: 'VisitReport', config: { title: 'Visits this summer' } })}
  ${say(turn('VisitReport', 'csv'))}
  ${say(turn('VisitReport', 'pdf'), ' -o report.pdf')}

Delete that session:
  curl -s -X POST -H "CHAT_SESSION_ID: $ID" ${url}/ai/end`
}
