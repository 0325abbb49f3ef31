/**
 * The scripts that run inside Redis, each as one atomic step. A session is one hash with the fields `revision` and
 * `head`, and one field per chunk. A hash with one other field marks a removed session. A lease is one string, its
 * holder's token. An owner's sessions are one sorted set. Unless stated otherwise, a script returns 1 for done and 0
 * for a conflict.
 */

/** A script, and the digest by which Redis identifies it. */
export interface RedisScript {
  readonly source: string
  /** Computed only once. */
  digest(): Promise<string>
}

/**
 * Arguments, in this order: `create` or `save`; the expected revision; the time to live in milliseconds (empty: for
 * ever); the latest time of expiry in milliseconds since 1970 (empty: never); `1` to remove all other chunks; the
 * number of chunks to remove by name; the names and texts of the fields, the new revision first; the names of the
 * chunks to remove.
 *
 * The order matters on a server whose memory is full. It refuses HSET, but only before the script's first write: after
 * removing a field, a script could store any amount. So HSET comes first. A swap that was already done writes its
 * revision again, so that a WAIT on this connection counts the replicas that have it. It removes the revision first:
 * HDEL needs no memory, and after it the HSET works on a full server too.
 *
 * A save without a time to live removes one that an earlier setting left. Checking first whether there is one would
 * cost as much as PERSIST, which changes nothing and is not replicated if there is none.
 *
 * Lua's `unpack` handles only a few thousand values at once, so many fields are written in several calls.
 */
export const swapScript: RedisScript = script(`
local key, revision = KEYS[1], ARGV[8]
local ttl, latest = ARGV[3], ARGV[4]
local last = #ARGV - tonumber(ARGV[6])
local stored = redis.call('HGET', key, 'revision')
if stored == revision then
  redis.call('HDEL', key, 'revision')
  redis.call('HSET', key, 'revision', revision)
  return 1
end
if ARGV[1] == 'create' then
  if redis.call('EXISTS', key) == 1 then return 0 end
elseif stored ~= ARGV[2] then
  return 0
end
for first = 7, last, 1000 do
  redis.call('HSET', key, unpack(ARGV, first, math.min(first + 999, last)))
end
for first = last + 1, #ARGV, 1000 do
  redis.call('HDEL', key, unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
if ARGV[5] == '1' then
  local written = {}
  for index = 7, last, 2 do written[ARGV[index]] = true end
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if not written[field] then redis.call('HDEL', key, field) end
  end
end
if latest ~= '' then
  redis.call('PEXPIREAT', key, latest)
  if ttl ~= '' and tonumber(ttl) < redis.call('PTTL', key) then redis.call('PEXPIRE', key, ttl) end
elseif ttl ~= '' then
  redis.call('PEXPIRE', key, ttl)
elseif stored then
  redis.call('PERSIST', key)
end
return 1
`)

/** The field of a mark. A mark has no other field, and a session does not have this one. */
export const markField = '~removed'

/**
 * Removes a session, and leaves a mark that keeps its key from being used again. Arguments: the time to live of the
 * mark in milliseconds, and the expected revision, if there is one. UNLINK comes first: it frees memory, and after it a
 * full server takes the mark.
 */
export const removeScript: RedisScript = script(`
local key = KEYS[1]
if ARGV[2] and redis.call('EXISTS', key) == 1 and redis.call('HEXISTS', key, '${markField}') == 0 then
  if redis.call('HGET', key, 'revision') ~= ARGV[2] then return 0 end
end
redis.call('UNLINK', key)
redis.call('HSET', key, '${markField}', '1')
redis.call('PEXPIRE', key, ARGV[1])
return 1
`)

/**
 * Adds a session to its owner's set, and makes the set live at least as long as the session. Arguments: the member, the
 * time to live in milliseconds (empty: for ever). A set without an expiry stays that way, because it may contain a
 * session without one. ZADD is skipped if the member is there: a full server refuses ZADD, but must accept a repeated
 * creation.
 */
export const addOwnedScript: RedisScript = script(`
local left = redis.call('PTTL', KEYS[1])
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then redis.call('ZADD', KEYS[1], 0, ARGV[1]) end
if ARGV[2] == '' then
  if left >= 0 then redis.call('PERSIST', KEYS[1]) end
elseif left == -2 or (left >= 0 and left < tonumber(ARGV[2])) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
`)

/**
 * For servers before 7.0. Arguments: the session ID, the time to live in milliseconds. Returns the ID the key holds.
 */
export const claimScript: RedisScript = script(`
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return redis.call('GET', KEYS[1])
`)

/** Arguments: the token of the holder, the time to live in milliseconds. */
export const renewLeaseScript: RedisScript = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`)

/** Arguments: the token of the holder. */
export const releaseLeaseScript: RedisScript = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`)

/** Makes a script from its source. */
export function script(text: string): RedisScript {
  const source = text.trim()
  let digest: string | undefined
  return {
    source,
    async digest() {
      digest ??= await sha1(source)
      return digest
    },
  }
}

async function sha1(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text)))
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
