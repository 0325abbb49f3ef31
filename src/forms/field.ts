/** The fields of a form, as authors declare them, and the types of their values. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { flowCodeError } from '../errors/engine-errors.js'
import type { Awaitable } from '../flow/base-step.js'
import type { Turn } from '../flow/turn.js'
import { shownValue } from '../util/shown-value.js'

/** The values of the fields that a field needs, by name. */
// biome-ignore lint/suspicious/noExplicitAny: a field cannot know the types of the fields beside it
export type NeededValues<Needs extends string> = Readonly<Record<Needs, any>>

/** An option of a field: what is stored, and what the user reads. A text is both. @inline */
export type FieldChoice = string | { readonly value: string; readonly label: string }

/** The options of {@link field}. */
export interface FieldOptions<Output, Needs extends string, Optional extends boolean> {
  /** The question: a text, or a function of the values of `needs`. */
  readonly ask: string | ((values: NeededValues<Needs>, turn: Turn) => Awaitable<string>)
  /** What users call the field, in corrections and on a page. Default: its name, in words: `pickUpDay`: `pick up day`. */
  readonly label?: string
  /**
   * Fields above this one that `ask`, `check` and `choices` get the values of. If one of them changes, this field's value
   * is checked again. Default: none.
   */
  readonly needs?: readonly Needs[]
  /**
   * Checks a value that fits the schema: `true`, or what is wrong, for the user. Called once the fields of `needs` have
   * their values, and again if one of them changes. Default: no check.
   */
  check?(value: Output, values: NeededValues<Needs>, turn: Turn): Awaitable<true | string>
  /**
   * What to choose from: buttons, and a list on a page. Default: the values of an enum, yes and no for a boolean. They
   * help to answer; the schema and `check` decide.
   */
  readonly choices?:
    | readonly FieldChoice[]
    | ((values: NeededValues<Needs>, turn: Turn) => Awaitable<readonly FieldChoice[]>)
  /** Whether the user may leave it empty. Default `false`. */
  readonly optional?: Optional
  /**
   * Whether the value is a secret. The message that answers it is hidden (see `Turn.hideMessage`), the model of a
   * `ModelFormStep` never gets it, and the default review does not show it. The value itself is in the step's state.
   * Default `false`.
   */
  readonly secret?: boolean
}

/** A field of a form. Create it with {@link field}. */
export interface Field<Output = unknown, Needs extends string = string, Optional extends boolean = boolean>
  // biome-ignore lint/suspicious/noExplicitAny: `check` takes what its own schema has made
  extends FieldOptions<any, any, Optional> {
  readonly schema: StandardSchemaV1<unknown, Output>
  /** Empty if it needs none. */
  readonly needs: readonly Needs[]
}

/** What `fields()` returns: fields by name, in the order of the questions. */
export type FormFields = Readonly<Record<string, Field>>

/** The options, and the types that each may have. */
const optionTypes: Readonly<Record<string, string>> = {
  ask: 'string or function',
  label: 'string',
  needs: 'list',
  check: 'function',
  choices: 'list or function',
  optional: 'boolean',
  secret: 'boolean',
}

/**
 * Declares a field of a form.
 *
 * @param schema - A Standard Schema (Zod, Valibot, ArkType). It reads what a user says (a text), what a page sends and
 * what a model passes, so dates and numbers in words are its business; its issues are said to the user. It must accept
 * its own output, and return plain JSON. Create it once, outside the step.
 * @throws `FlowCodeError` if an option is unknown or not valid.
 * @example
 * ```ts
 * field(z.enum(['tune-up', 'brakes']), { ask: 'What does your bicycle need?' })
 * field(Time, { needs: ['day'], ask: ({ day }) => `When? Free: ${free(day)}.`, check: (time, { day }) => isFree(day, time) })
 * ```
 */
export function field<Output, const Needs extends string = never, Optional extends boolean = false>(
  schema: StandardSchemaV1<unknown, Output>,
  options: FieldOptions<NoInfer<Output>, Needs, Optional>,
): Field<Output, Needs, Optional> {
  if (typeof schema?.['~standard']?.validate !== 'function') {
    throw flowCodeError(`field needs a Standard Schema (Zod, Valibot, ArkType); got ${shownValue(schema)}.`)
  }
  const given = Object(options) as Readonly<Record<string, unknown>>
  for (const name of new Set(['ask', ...Object.keys(given)])) checkOption(name, given[name])
  return Object.freeze({ ...options, schema, needs: options.needs ?? [] })
}

function checkOption(name: string, value: unknown): void {
  const allowed = Object.hasOwn(optionTypes, name) ? (optionTypes[name] as string) : undefined
  if (allowed === undefined) {
    throw flowCodeError(`field has no option '${name}'. Its options: ${Object.keys(optionTypes).join(', ')}.`)
  }
  if (value === undefined && name !== 'ask') return
  const type = Array.isArray(value) ? 'list' : typeof value
  if (value !== '' && value !== null && allowed.includes(type)) return
  throw flowCodeError(`field: ${name} must be a ${allowed}; got ${shownValue(value)}.`)
}

/**
 * The values of a form, by the types of its fields; those of optional fields may be missing. If `needs` of a field names
 * none of the fields, there are no values, so that `done` does not compile.
 *
 * @typeParam Form - The form's class.
 * @example
 * ```ts
 * override review({ day, time }: FormValues<Booking>) { return `${day} at ${time}. Right?` }
 * ```
 */
export type FormValues<Form> = Form extends {
  /** See `FormStep.fields`. */
  fields(turn: never): infer Fields
}
  ? [
      {
        [Name in keyof Fields]: Fields[Name] extends Field<unknown, infer Needs> ? Exclude<Needs, keyof Fields> : never
      }[keyof Fields],
    ] extends [never]
    ? {
        readonly [Name in keyof Fields as Fields[Name] extends Field<unknown, string, false>
          ? Name
          : never]: Fields[Name] extends Field<infer Value> ? Value : never
      } & {
        readonly [Name in keyof Fields as Fields[Name] extends Field<unknown, string, false>
          ? never
          : Name]?: Fields[Name] extends Field<infer Value> ? Value : never
      }
    : {
        readonly 'needs names no field': {
          [Name in keyof Fields]: Fields[Name] extends Field<unknown, infer Needs>
            ? Exclude<Needs, keyof Fields>
            : never
        }[keyof Fields]
      }
  : never
