/** Whether two values are the same as JSON; a field that is `undefined` is one that is missing. */
export function same(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false
    return one.every((item, index) => same(item, other[index]))
  }
  return covers(one, other) && covers(other, one)
}

function covers(one: object, other: object): boolean {
  for (const key in one) {
    if (!same(one[key as never], other[key as never])) return false
  }
  return true
}
