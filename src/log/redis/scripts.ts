/**
 * One Lua script for each step of the medium, so that each is atomic. KEYS[1] is the prefix of every key: `turn:<id>` the row (hash),
 * `events:<id>` its records (stream; entry `<seq>-0`), `key:…` the turn that holds an idempotency key, `turns`, `open`, `match:…`,
 * `session:…` turns by creation time, `expiry` and `tombs` turns by when they are swept, `owners` (hash), `stream:<id>` and
 * `message:<id>:<seqno>` (hashes) clients' messages, `streams` the time when those are swept. Every change publishes the turn's id on
 * the channel `wake`; a cancel request publishes `cancels` too.
 */

const shared = `
local p = KEYS[1]
local function wake(id) redis.call('PUBLISH', p .. 'wake', id) end
local function changed(id) redis.call('HINCRBY', p .. 'turn:' .. id, 'version', 1); wake(id) end
local function forget(id, gone)
  local t = p .. 'turn:' .. id
  local row = redis.call('HMGET', t, 'caller', 'match_index', 'session_index', 'key_index')
  redis.call('ZREM', p .. 'turns', id)
  redis.call('ZREM', p .. 'open', id)
  redis.call('ZREM', p .. 'expiry', id)
  if row[1] then
    redis.call('ZREM', p .. 'match:' .. row[1] .. ':' .. row[2], id)
    if row[3] then redis.call('ZREM', p .. 'session:' .. row[1] .. ':' .. row[3], id) end
  end
  redis.call('DEL', p .. 'events:' .. id)
  if not gone then return end
  redis.call('ZREM', p .. 'tombs', id)
  if row[4] and redis.call('GET', p .. 'key:' .. row[1] .. ':' .. row[4]) == id then
    redis.call('DEL', p .. 'key:' .. row[1] .. ':' .. row[4])
  end
  redis.call('DEL', t)
  wake(id)
end
local function insert(first)
  local id, caller, keyIndex, match, session, at = unpack(ARGV, first, first + 5)
  for i = first + 6, #ARGV, 2 do redis.call('HSET', p .. 'turn:' .. id, ARGV[i], ARGV[i + 1]) end
  redis.call('ZADD', p .. 'turns', at, id)
  redis.call('ZADD', p .. 'open', at, id)
  redis.call('ZADD', p .. 'match:' .. caller .. ':' .. match, at, id)
  if session ~= '' then redis.call('ZADD', p .. 'session:' .. caller .. ':' .. session, at, id) end
  if keyIndex ~= '' then redis.call('SET', p .. 'key:' .. caller .. ':' .. keyIndex, id) end
end
local function eraseStream(id, at)
  local s = p .. 'stream:' .. id
  if redis.call('HEXISTS', s, 'erased_at_ms') == 1 then return end
  for i = 1, tonumber(redis.call('HGET', s, 'accepted') or '0') do redis.call('DEL', p .. 'message:' .. id .. ':' .. (i - 1)) end
  redis.call('HSET', s, 'wrapped_key', '', 'erased_at_ms', at)
end
local function erase(id, at)
  local t = p .. 'turn:' .. id
  if redis.call('EXISTS', t) == 0 or redis.call('HEXISTS', t, 'erased_at_ms') == 1 then return end
  forget(id, false)
  redis.call('HSET', t, 'header', '', 'label', '', 'wrapped_key', '', 'erased_at_ms', at)
  redis.call('ZADD', p .. 'tombs', at, id)
  changed(id)
end
`;

function script(body: string): string {
  return shared + body;
}

export const scripts = {
  /** id, caller, key index or '', match index, session index or '', created at, then field, value, … Answers the holder, if any. */
  create: script(`
if ARGV[3] ~= '' then
  local held = redis.call('GET', p .. 'key:' .. ARGV[2] .. ':' .. ARGV[3])
  if held then return redis.call('HGETALL', p .. 'turn:' .. held) end
end
insert(1)
return {}`),

  /** id, owner. */
  claim: script(`
local t = p .. 'turn:' .. ARGV[1]
if redis.call('EXISTS', t) == 0 or redis.call('HEXISTS', t, 'outcome') == 1 then return {} end
redis.call('HSET', t, 'owner', ARGV[2])
redis.call('HINCRBY', t, 'epoch', 1)
changed(ARGV[1])
return redis.call('HGETALL', t)`),

  /** id, epoch, after seq, last seq, last MAC, outcome or '', ended at, expires at, new wrapped key or '', then seven a record. */
  append: script(`
local id, epoch, after, last, mac, outcome, ended, expires, wrapped = unpack(ARGV, 1, 9)
local t = p .. 'turn:' .. id
local row = redis.call('HMGET', t, 'epoch', 'last_seq', 'outcome')
if not row[1] then return 'removed' end
if row[1] ~= epoch then return 'fenced' end
if row[3] then return 'ended' end
if row[2] ~= after then return 'fenced' end
for i = 10, #ARGV, 7 do
  redis.call('XADD', p .. 'events:' .. id, ARGV[i] .. '-0', 'epoch', ARGV[i + 1], 'kind', ARGV[i + 2],
    'at_ms', ARGV[i + 3], 'payload', ARGV[i + 4], 'mac', ARGV[i + 5], 'outline', ARGV[i + 6])
end
redis.call('HSET', t, 'last_seq', last, 'last_mac', mac)
if outcome ~= '' then
  redis.call('HSET', t, 'outcome', outcome, 'ended_at_ms', ended, 'expires_at_ms', expires)
  if wrapped ~= '' then redis.call('HSET', t, 'wrapped_key', wrapped) end
  redis.call('ZREM', p .. 'open', id)
  redis.call('ZADD', p .. 'expiry', expires, id)
end
changed(id)
return 'appended'`),

  /**
   * id, after seq, most records, most bytes of payloads and outlines. The row, the record at the cursor, the records after
   * it, and 1 when one more had no room. Each piece of the stream is as long as records like those before would fit.
   */
  read: script(`
local row = redis.call('HGETALL', p .. 'turn:' .. ARGV[1])
if #row == 0 then return {} end
local e = p .. 'events:' .. ARGV[1]
local at = ARGV[2] .. '-0'
local previous = {}
if ARGV[2] ~= '0' then previous = redis.call('XRANGE', e, at, at) end
local most, room = tonumber(ARGV[3]), tonumber(ARGV[4])
local records, bytes, piece = {}, 0, 1
while #records < most do
  local count = string.format('%d', math.min(piece, most - #records))
  local some = redis.call('XRANGE', e, '(' .. at, '+', 'COUNT', count)
  if #some == 0 then break end
  for _, record in ipairs(some) do
    local fields = record[2]
    for i = 1, #fields, 2 do
      if fields[i] == 'payload' or fields[i] == 'outline' then bytes = bytes + #fields[i + 1] end
    end
    if #records > 0 and bytes > room then return { row, previous, records, 1 } end
    records[#records + 1] = record
    at = record[1]
  end
  piece = math.max(1, math.floor((room - bytes) * #records / (bytes + 1)))
end
return { row, previous, records, 0 }`),

  /**
   * id, attached at or '', longer grace or '', expires at or '', delivered or '', who asks for a cancel or '', stream or '', its epoch. 'fenced'
   * where the stream has another one.
   */
  mark: script(`
local id, attached, grace, expires, delivered, cancel, stream, epoch = unpack(ARGV, 1, 8)
if stream ~= '' then
  local now = redis.call('HGET', p .. 'stream:' .. stream, 'epoch')
  if now and now ~= epoch then return 'fenced' end
end
local t = p .. 'turn:' .. id
if redis.call('EXISTS', t) == 0 then return end
if attached ~= '' then redis.call('HSET', t, 'attached_at_ms', attached) end
if grace ~= '' and tonumber(grace) > tonumber(redis.call('HGET', t, 'longer_grace_ms') or '0') then
  redis.call('HSET', t, 'longer_grace_ms', grace)
end
if expires ~= '' then
  redis.call('HSET', t, 'expires_at_ms', expires)
  redis.call('ZADD', p .. 'expiry', 'XX', expires, id)
end
if delivered ~= '' then redis.call('HSET', t, 'delivered', 1) end
if cancel == '' or redis.call('HEXISTS', t, 'outcome') == 1 then return end
if redis.call('HSETNX', t, 'cancel_requested', cancel) == 1 then changed(id); wake('cancels') end`),

  /** The running turns whose end was asked for, and by whom, one after the other. */
  cancelRequests: script(`
local asked = {}
for _, id in ipairs(redis.call('ZRANGE', p .. 'open', 0, -1)) do
  local by = redis.call('HGET', p .. 'turn:' .. id, 'cancel_requested')
  if by then asked[#asked + 1] = id; asked[#asked + 1] = by end
end
return asked`),

  /** id. */
  get: script(`return redis.call('HGETALL', p .. 'turn:' .. ARGV[1])`),

  /** Caller, key index. The row that holds the key. */
  held: script(`
local id = redis.call('GET', p .. 'key:' .. ARGV[1] .. ':' .. ARGV[2])
if not id then return {} end
return redis.call('HGETALL', p .. 'turn:' .. id)`),

  /** The index, how many to skip, how many to look at. Rows, newest first. */
  list: script(`
local rows = {}
for _, id in ipairs(redis.call('ZREVRANGE', p .. ARGV[1], ARGV[2], ARGV[2] + ARGV[3] - 1)) do
  rows[#rows + 1] = redis.call('HGETALL', p .. 'turn:' .. id)
end
return rows`),

  /** id, when. */
  erase: script(`erase(ARGV[1], ARGV[2])`),

  /** id. */
  remove: script(`forget(ARGV[1], true)`),

  /** Now, and when the youngest tombstone that goes began. */
  sweep: script(`
for _, id in ipairs(redis.call('ZRANGEBYSCORE', p .. 'expiry', '-inf', ARGV[1])) do erase(id, ARGV[1]) end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', p .. 'tombs', '-inf', ARGV[2])) do forget(id, true) end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', p .. 'streams', '-inf', ARGV[1])) do
  local s = p .. 'stream:' .. id
  local row = redis.call('HMGET', s, 'accepted', 'erased_at_ms')
  if not row[2] then eraseStream(id, ARGV[1])
  elseif tonumber(row[2]) <= tonumber(ARGV[2]) then
    redis.call('DEL', s)
    redis.call('ZREM', p .. 'streams', id)
  end
end
local owners = redis.call('HGETALL', p .. 'owners')
for i = 1, #owners, 2 do
  if tonumber(owners[i + 1]) <= tonumber(ARGV[2]) then redis.call('HDEL', p .. 'owners', owners[i]) end
end`),

  /**
   * Stream, intent, expires at, now, ticket given, next ticket, life or '', number, then field, value, …. The row, and its
   * messages one after the other; or `spent`, or `late`.
   */
  attachStream: script(`
local s = p .. 'stream:' .. ARGV[1]
if redis.call('EXISTS', s) == 0 then
  if ARGV[2] ~= 'create' then return {} end
  for i = 9, #ARGV, 2 do redis.call('HSET', s, ARGV[i], ARGV[i + 1]) end
elseif tonumber(redis.call('HGET', s, 'expires_at_ms')) <= tonumber(ARGV[4]) then
  eraseStream(ARGV[1], ARGV[4])
elseif redis.call('HEXISTS', s, 'erased_at_ms') == 0 and ARGV[2] ~= 'observe' then
  local newest = redis.call('HMGET', s, 'life', 'attach_number')
  if ARGV[7] ~= '' and ARGV[7] == newest[1] and tonumber(ARGV[8]) < tonumber(newest[2]) then return 'late' end
  redis.call('HINCRBY', s, 'epoch', 1)
  if ARGV[7] ~= '' then redis.call('HSET', s, 'life', ARGV[7], 'attach_number', ARGV[8]) end
  wake('stream:' .. ARGV[1])
  local tickets = redis.call('HMGET', s, 'ticket', 'ticket_before')
  if ARGV[5] ~= (tickets[1] or '') and ARGV[5] ~= (tickets[2] or '') then return 'spent' end
  redis.call('HSET', s, 'expires_at_ms', ARGV[3], 'ticket', ARGV[6], 'ticket_before', ARGV[5])
end
redis.call('ZADD', p .. 'streams', redis.call('HGET', s, 'expires_at_ms'), ARGV[1])
local messages = {}
local count = tonumber(redis.call('HGET', s, 'accepted'))
if redis.call('HEXISTS', s, 'erased_at_ms') == 1 then count = 0 end
for i = 1, count do messages[i] = redis.call('HGETALL', p .. 'message:' .. ARGV[1] .. ':' .. (i - 1)) end
return { redis.call('HGETALL', s), messages }`),

  /** Stream, epoch, seqno, digest, box, expires at, then the turn as `create` takes it, or nothing. */
  admit: script(`
local id, epoch, seqno, digest, box, expires = unpack(ARGV, 1, 6)
local s = p .. 'stream:' .. id
local row = redis.call('HMGET', s, 'epoch', 'accepted', 'erased_at_ms')
if not row[1] or row[3] then return 'unknown' end
if row[1] ~= epoch then return 'fenced' end
local m = p .. 'message:' .. id .. ':' .. seqno
local held = redis.call('HGET', m, 'digest')
if held then if held == digest then return 'repeated' end return 'conflict' end
if row[2] ~= seqno then return 'gap' end
redis.call('HSET', m, 'seqno', seqno, 'digest', digest, 'box', box)
if ARGV[7] then redis.call('HSET', m, 'turn_id', ARGV[7]); insert(7) end
redis.call('HSET', s, 'accepted', tonumber(seqno) + 1, 'expires_at_ms', expires)
redis.call('ZADD', p .. 'streams', expires, id)
return 'admitted'`),

  /** Stream. */
  streamEpoch: script(`return redis.call('HGET', p .. 'stream:' .. ARGV[1], 'epoch')`),

  /** Owner, until when. */
  renewOwner: script(`redis.call('HSET', p .. 'owners', ARGV[1], ARGV[2])`),

  owners: script(`return redis.call('HGETALL', p .. 'owners')`),
} as const;
