// What the suite cannot test in a format.
const asJson = 'The format carries arguments as JSON, not as text.'
const noReasoning = 'Chat completions of OpenAI keep their thoughts to themselves.'

/** Keyed by the name of the format. */
export const leftOut: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  google: {
    'answers: a tool call with arguments that are not valid JSON': asJson,
    'streams: a tool call with arguments that are not valid JSON': asJson,
  },
  // Streamed, they are text.
  anthropic: { 'answers: a tool call with arguments that are not valid JSON': asJson },
  'openai-chat': {
    'answers: reasoning is kept apart from the text': noReasoning,
    'streams: reasoning is kept apart from the text': noReasoning,
  },
}
