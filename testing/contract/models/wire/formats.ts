// The formats that are proven.
import { anthropicWire } from './anthropic.js'
import { googleWire } from './google.js'
import { openaiWire } from './openai.js'
import { openaiChatWire } from './openai-chat.js'
import { openaiCompatibleWire } from './openai-compatible.js'
import type { WireFormat } from './wire-format.js'

/** All of them. */
export const formats: readonly WireFormat[] = [
  openaiWire,
  openaiChatWire,
  anthropicWire,
  googleWire,
  openaiCompatibleWire,
]
