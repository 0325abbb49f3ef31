import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { Flow, FlowEngine, finish, go, LogicStep, reply, type Turn } from 'turnkeeper'
import { flowRoutes } from 'turnkeeper/hono'

class AskName extends LogicStep<{ name?: string }> {
  static override readonly id = 'AskName'
  override run(turn: Turn) {
    if (turn.entered) return reply('Hello! What is your name?')
    if (turn.message.trim() === '') return reply('A name, please.')
    this.state.name = turn.message.trim()
    return go(AskSeats)
  }
}

class AskSeats extends LogicStep {
  static override readonly id = 'AskSeats'
  override run(turn: Turn) {
    const { name } = turn.stateOf(AskName)
    if (turn.entered) return reply(`How many seats, ${name}?`)
    const seats = Number(turn.message)
    if (!Number.isInteger(seats) || seats < 1) return reply('A whole number, please.')
    return finish(`${seats} seats are kept for ${name}.`)
  }
}

class Tickets extends Flow {
  static override readonly id = 'Tickets'
  override steps() {
    return [AskName, AskSeats]
  }
}

const engine = await FlowEngine.create({ flows: [Tickets], onTurnError: 'rollback' })
const app = new Hono()
app.route('/ai', flowRoutes(engine))
serve({ fetch: app.fetch, port: 3000, hostname: '127.0.0.1' })
