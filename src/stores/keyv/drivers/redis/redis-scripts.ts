/**
 * The scripts that run inside Redis, each as one step. A session is one hash with the fields `revision` and `head`, and
 * one field for each chunk. A lease is one text, the token of its holder. The sessions of an owner are one sorted set.
 * A script returns 1 for done and 0 for a conflict, where it says nothing else.
 */

/** A script and its digest, by which Redis knows it. */
export interface RedisScript {
  readonly source: string
  /** A promise only at the first call. */
  digest(): Promise<string>
}

/**
 * Arguments: `create` or `save`, the expected revision, the time to live in milliseconds (empty: for ever), when the
 * session expires at the latest, in milliseconds since 1970 (empty: never), `1` to remove all other chunks, how many
 * names of chunks to remove come last, then names and texts of fields, the first of which is the new
 * revision, and those names.
 *
 * The order matters on a full server. It refuses HSET, but only before the script's first write: a script that began by
 * removing fields could store whatever it likes. So HSET comes first. A swap that was done already writes its revision
 * once more, so that a WAIT on this connection counts the replicas that have it; it removes the revision before,
 * because that needs no memory and must work on a full server, too.
 *
 * A save without a time to live ends the one of a former setting. To ask first whether there is one would cost as much
 * as PERSIST, which changes nothing, and reaches no replica, if there is none.
 *
 * Lua takes a few thousand values from a list at once, so many fields are written in several steps.
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

/** Arguments: the expected revision. */
export const removeScript: RedisScript = script(`
local stored = redis.call('HGET', KEYS[1], 'revision')
if not stored and redis.call('EXISTS', KEYS[1]) == 0 then return 1 end
if stored ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1])
return 1
`)

/**
 * Adds a session to the list of its owner, and lets that live as long as the session at least. Arguments: the member,
 * the time to live in milliseconds (empty: for ever). A list that lives for ever stays so: a session may be on it that
 * does. A full server refuses ZADD, and must take a creation that is sent again.
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

/** For servers before 7.0. Arguments: the session ID, the time to live in milliseconds. Returns the ID that is kept. */
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

/** A script of this text. */
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
