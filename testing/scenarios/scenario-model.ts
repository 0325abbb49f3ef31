/** The models of a scenario: they answer what its lines `Model:` and `Model calls:` say, message by message. */
import type { ModelRequest } from '../../src/index.js'
import { askedOf, count, ExpectationError, whereOf } from '../expectations/expectation-error.js'
import type { ScriptedReply } from '../scripted-model/scripted-answer.js'
import type { ModelLine, Place } from './scenario-lines.js'

/** The answers to one message after the other. */
export class ScenarioModel {
  #lines: readonly (ModelLine & Place)[] = []
  #used = 0
  #wrong: Place | undefined

  /** The answers to the next message. */
  begin(lines: readonly (ModelLine & Place)[]): void {
    this.#lines = lines
    this.#used = 0
    this.#wrong = undefined
  }

  /**
   * The next answer.
   *
   * @throws `ExpectationError` if there is none left, or it calls a tool that the step does not offer.
   */
  answer(request: ModelRequest): ScriptedReply {
    const line = this.#lines[this.#used++]
    if (line === undefined) {
      const lines = count(this.#lines.length, 'line "Model:"', 'lines "Model:"')
      throw new ExpectationError(
        `The model is asked once more than the scenario says: ${whereOf(request)}.\n${askedOf(request)}\n  below this message: ${lines}\nAdd what the model answers below the message, as in Model: What is your name?`,
      )
    }
    if (line.kind === 'model') return line.text
    if (!request.tools.some(({ name }) => name === line.tool)) {
      this.#wrong = line
      throw new ExpectationError(
        `The model calls a tool that the step does not offer: '${line.tool}' (${whereOf(request)}).\n${askedOf(request)}\nCorrect the name, or find out why the conversation is at this step.`,
      )
    }
    return { toolCalls: [{ name: line.tool, input: line.input }] }
  }

  /** The answer that cannot be given; `undefined` if there is none. */
  get wrong(): Place | undefined {
    return this.#wrong
  }

  /** The first answer that no model was asked for; `undefined` if all were used. */
  get left(): Place | undefined {
    return this.#lines[this.#used]
  }
}
