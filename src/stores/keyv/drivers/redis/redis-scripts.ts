/**
 * What happens inside Redis, in one step each: a session is one hash with the fields `revision` and `head`, and one
 * field for each chunk. Both answer 1 for done and 0 for a conflict.
 */

/** A script and its digest, by which Redis knows it. */
export interface RedisScript {
  readonly source: string
  digest(): Promise<string>
}

/**
 * Arguments: `create` or `save`, the expected revision, the new one, the head, the time to live in milliseconds (empty:
 * for ever), `1` to replace the chunks, then names and texts of chunks. A swap that was done already writes its revision
 * once more: so that a WAIT on this connection counts the replicas that have it.
 */
export const swapScript: RedisScript = script(`
local key, stored = KEYS[1], redis.call('HGET', KEYS[1], 'revision')
if stored == ARGV[3] then
  redis.call('HSET', key, 'revision', stored)
  return 1
end
if ARGV[1] == 'create' then
  if redis.call('EXISTS', key) == 1 then return 0 end
elseif stored ~= ARGV[2] then
  return 0
end
if ARGV[6] == '1' then redis.call('UNLINK', key) end
redis.call('HSET', key, 'revision', ARGV[3], 'head', ARGV[4])
for index = 7, #ARGV, 2 do redis.call('HSET', key, ARGV[index], ARGV[index + 1]) end
if ARGV[5] == '' then redis.call('PERSIST', key) else redis.call('PEXPIRE', key, ARGV[5]) end
return 1
`)

/** Arguments: the expected revision. */
export const removeScript: RedisScript = script(`
local stored = redis.call('HGET', KEYS[1], 'revision')
if not stored and redis.call('EXISTS', KEYS[1]) == 0 then return 1 end
if stored ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1])
return 1
`)

function script(text: string): RedisScript {
  const source = text.trim()
  let digest: Promise<string> | undefined
  return {
    source,
    digest: () => {
      digest ??= sha1(source)
      return digest
    },
  }
}

async function sha1(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text)))
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
