/** The inspector: everything that a turn did, from its record. */
import type { ComponentChildren, VNode } from 'preact'
import type { DocumentChange, EffectCall, ModelCall, StoredTurn, TurnDetail } from '../api/types.js'
import { count, e, fold, json, tag, timeOf } from './element.js'
import { failureOf } from './parts.js'

type Frame = NonNullable<NonNullable<StoredTurn['document']>['flow']['frames']>[number]

export function inspectorOf(detail: (TurnDetail & { readonly turn: number }) | undefined): VNode {
  if (detail === undefined) return e('p.empty', 'A turn shows here what it did.')
  const { turn, at, path, changes, models, calls, frames, usage, error } = detail
  const sections = [
    ...(error === undefined ? [] : [section('Error', [failureOf(error)])]),
    section('What changed', changes.map(changeOf)),
    section('Model calls', models.map(modelOf)),
    section('Tools and effects', calls.map(callOf)),
    section('Open calls and timers', (frames as unknown as readonly Frame[]).flatMap(waitingIn)),
    section('Usage of the session', usage ? [usageText(usage)] : []),
  ]
  const steps = path.map(({ step }) => step).join(' → ') || 'no step'
  return e('div.inspector', e('p.note', `Turn ${turn} · `, timeOf(at), ` · ${steps}`), sections)
}

function waitingIn({ step, called, timers = [] }: Frame): VNode[] {
  const waiting = timers.map(({ name, at }) => e('p', e('code', name), ` of ${step}: `, timeOf(Date.parse(at))))
  return called === undefined ? waiting : [e('p', 'Call of ', e('code', called), `, which is in ${step}`), ...waiting]
}

function usageText({ inputTokens, outputTokens, modelCalls, cost }: NonNullable<TurnDetail['usage']>): string {
  const price = cost === undefined ? '' : `, cost ${cost}`
  return `${count(inputTokens, 'token')} in, ${outputTokens} out, ${count(modelCalls, 'model call')}${price}`
}

function section(title: string, content: readonly ComponentChildren[]): VNode {
  const count = content.length
  return fold('section', count > 0, [e('h2', title), e('span.note', count === 1 ? '' : count)], ...content)
}

const signs = { added: '+ ', removed: '− ', changed: '' }

function changeOf({ key, kind, before, after, children }: DocumentChange): VNode {
  const name = tag('span', { class: kind }, `${signs[kind]}${key}`)
  if (children !== undefined) return fold('change', true, name, ...children.map(changeOf))
  const values = [before, after].filter((value) => value !== undefined)
  const shown = values.map((value, index) => [index === 0 ? ': ' : ' → ', json(value)])
  return e('div.change', name, shown)
}

const ms = (duration: number): string => `${Math.round(duration)} ms`

function modelOf({ provider, model, step, ...call }: ModelCall): VNode {
  const { inputTokens, outputTokens = 0, cost, durationMs } = call
  const tokens = inputTokens !== undefined && `${count(inputTokens, 'token')} in, ${outputTokens} out`
  const facts = [tokens, cost !== undefined && `cost ${cost}`, durationMs !== undefined && ms(durationMs)]
  const summary = [e('code', `${provider}/${model}`), ` in ${step} `, e('span.note', facts.filter(Boolean).join(' · '))]
  const system = call.system !== undefined && said('system prompt', [{ text: call.system }])
  const messages = call.messages.map(({ role, parts }) => said(role, parts))
  const answer = call.answer === undefined ? e('p.problem', 'The call failed.') : said('answer', call.answer)
  const tools = call.tools.map((tool) => said(`tool ${tool.name}`, [{ text: tool.description }, tool.inputSchema]))
  return fold('call', false, summary, system, messages, answer, tools)
}

function said(role: string, parts: readonly unknown[]): VNode {
  const elements = parts.map((part) => {
    const { text } = Object(part) as { text?: unknown }
    return typeof text === 'string' ? e('p.text', text) : e('div', json(part))
  })
  return e('div.part', e('span.who', role), elements)
}

function callOf({ kind, name, input, result, error, durationMs, ...call }: EffectCall): VNode {
  const end = call.isOpen ? 'did not end' : call.isRecorded ? 'recorded' : ms(durationMs)
  const how = e('span.note', kind === 'tool' ? ' tool, ' : ' turn.once, ', end)
  const given = input !== undefined && e('div', json(input))
  const nothing = call.mustRun ? 'it changed the session, or moved on' : 'nothing'
  const got = !call.isOpen && error === undefined && e('div', '→ ', result === undefined ? nothing : json(result))
  return e('div.call', e('code', name), how, given, got, error !== undefined && e('p.problem', error))
}
