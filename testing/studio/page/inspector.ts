/** The inspector: everything that a turn did, from its record. */
import type { ComponentChildren, VNode } from 'preact'
import type { DocumentChange, EffectCall, LineView, ModelCall, TurnDetail } from '../api/types.js'
import { e, fold, json, tag, timeOf } from './element.js'
import { failureOf } from './parts.js'

export function inspectorOf({ timers }: LineView, detail: TurnDetail | undefined): VNode {
  if (detail === undefined) return e('p.empty', 'A turn shows here what it did.')
  const { at, path, changes, models, calls, frames, usage, error } = detail
  const waiting = timers.map((timer) => e('p', e('code', timer.name), ` of ${timer.step}: `, timeOf(timer.at)))
  const sections = [
    ...(error === undefined ? [] : [section('Error', [failureOf(error)])]),
    section('What changed', changes.map(changeOf)),
    section('Model calls', models.map(modelOf)),
    section('Tools and effects', calls.map(callOf)),
    section('Frames and timers', [...waiting, ...frames.map((frame) => e('div.part', json(frame, true)))]),
    section('Usage of the session', usage ? [json(usage, true)] : []),
  ]
  return e(
    'div.inspector',
    e('p.note', timeOf(at), ' · ', path.map(({ step }) => step).join(' → ') || 'no step'),
    sections,
  )
}

function section(title: string, content: readonly ComponentChildren[]): VNode {
  const count = content.length
  return fold('section', count > 0, [e('h2', title), e('span.note', count === 1 ? '' : count)], ...content)
}

const signs = { added: '+', removed: '−', changed: '~' }

function changeOf({ key, kind, before, after, children }: DocumentChange): VNode {
  const name = tag('span', { class: kind }, `${signs[kind]} ${key}`)
  if (children !== undefined) return fold('change', true, name, ...children.map(changeOf))
  const values = [before, after].filter((value) => value !== undefined)
  return e(
    'div.change',
    name,
    values.map((value, index) => [index === 0 ? ': ' : ' → ', json(value)]),
  )
}

const ms = (duration: number): string => `${Math.round(duration)} ms`

function modelOf({ provider, model, step, ...call }: ModelCall): VNode {
  const { inputTokens, outputTokens = 0, cost, durationMs } = call
  const tokens = inputTokens !== undefined && `${inputTokens} → ${outputTokens} tokens`
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

function callOf({ kind, name, input, result, error, durationMs, isRecorded }: EffectCall): VNode {
  const how = e('span.note', kind === 'tool' ? ' tool, ' : ' turn.once, ', isRecorded ? 'recorded' : ms(durationMs))
  const given = input !== undefined && e('div', json(input))
  const got = result !== undefined && e('div', '→ ', json(result))
  return e('div.call', e('code', name), how, given, got, error !== undefined && e('p.problem', error))
}
