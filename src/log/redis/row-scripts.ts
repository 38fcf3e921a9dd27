/**
 * Lua scripts over rows, so that each step is atomic. KEYS[1] is the prefix of every key: `row:<id>` the columns and, as `m:<name>`, the
 * members of `meta` (hash), `head:<id>`, `log:<id>` its entries (list), `tag:<tag>`, `kind:<kind>` and `open:<kind>` rows by the time of
 * their creation, `expiry:<kind>` by the time when they expire (sorted sets); `home:<home>` while that home lives, `log-key` the check value of the key that
 * seals. Each change publishes the row's id on the channel `wake`; a cancel also `cancel:<id>`.
 */
const shared = `
local p = KEYS[1]
local at = 0
local function take() at = at + 1; return ARGV[at] end
local function takeList()
  local list = {}
  for i = 1, tonumber(take()) do list[i] = take() end
  return list
end
local function wake(id) redis.call('PUBLISH', p .. 'wake', id) end
local function remove(id)
  local row = redis.call('HMGET', p .. 'row:' .. id, 'kind', 'tags')
  if not row[1] then return end
  for _, index in ipairs({ 'kind:', 'open:', 'expiry:' }) do redis.call('ZREM', p .. index .. row[1], id) end
  for _, tag in ipairs(cjson.decode(row[2])) do redis.call('ZREM', p .. 'tag:' .. tag, id) end
  redis.call('UNLINK', p .. 'row:' .. id, p .. 'head:' .. id, p .. 'log:' .. id)
  wake(id)
end
`;

/**
 * The operations one after the other, as `packed` has them. First all are checked, each over what the ones before it would leave: `seen`
 * and `held` are rows and keys as they would be. Then all are done, because Redis takes nothing back. Answers the number of the
 * first that is refused and the row in its way, or nothing.
 */
const commit = `
local seen, held, work = {}, {}, {}
local function look(id)
  if seen[id] == nil then
    local row = redis.call('HMGET', p .. 'row:' .. id, 'epoch', 'last', 'open', 'tags')
    seen[id] = row[1] and { epoch = row[1], last = row[2], open = row[3], tags = row[4] } or false
  end
  return seen[id]
end
local function isKey(tag) return string.sub(tag, 1, 4) == 'key:' end
local function holder(tag)
  if held[tag] == nil then held[tag] = redis.call('ZRANGE', p .. 'tag:' .. tag, 0, 0)[1] or false end
  return held[tag]
end
local function plus(number, more) return string.format('%d', tonumber(number) + more) end

local function checkInsert(id)
  local kind, created, open, expires = take(), take(), take(), take()
  local head, tags, fields = take(), takeList(), takeList()
  for _, tag in ipairs(tags) do
    if isKey(tag) and holder(tag) then return holder(tag) end
  end
  if look(id) then return id end
  local row = { open = open }
  for i = 1, #fields, 2 do row[fields[i]] = fields[i + 1] end
  seen[id] = row
  for _, tag in ipairs(tags) do held[tag] = id end
  work[#work + 1] = function()
    redis.call('HSET', p .. 'row:' .. id, 'kind', kind, 'created', created, 'open', open, unpack(fields))
    redis.call('SET', p .. 'head:' .. id, head)
    redis.call('ZADD', p .. 'kind:' .. kind, created, id)
    for _, tag in ipairs(tags) do redis.call('ZADD', p .. 'tag:' .. tag, created, id) end
    if open == '1' then redis.call('ZADD', p .. 'open:' .. kind, created, id) end
    if expires ~= '' then
      redis.call('HSET', p .. 'row:' .. id, 'expires', expires)
      redis.call('ZADD', p .. 'expiry:' .. kind, expires, id)
    end
    wake(id)
  end
end

local function checkGuard(id)
  local guarded, epoch, last, open, goneHome = take(), take(), take(), take(), take()
  local row = look(id)
  if not row then return guarded == '1' end
  if goneHome ~= '' and redis.call('EXISTS', p .. 'home:' .. goneHome) == 1 then return true end
  return (epoch ~= '' and epoch ~= row.epoch) or (last ~= '' and last ~= row.last) or (open ~= '' and open ~= row.open)
end

local function checkRemove(id)
  if checkGuard(id) then return id end
  local row = look(id)
  if not row then return end
  for _, tag in ipairs(cjson.decode(row.tags)) do held[tag] = false end
  seen[id] = false
  work[#work + 1] = function() remove(id) end
end

local function checkUpdate(id)
  local refused = checkGuard(id)
  local claim, open, expires, fields, gone, entries = take(), take(), take(), takeList(), takeList(), takeList()
  local row = look(id)
  if refused or not row then return id end
  row.last = plus(row.last, #entries)
  row.epoch = plus(row.epoch, tonumber(claim))
  if open ~= '' then row.open = open end
  local set = { 'last', row.last, 'epoch', row.epoch }
  for i = 1, #fields do set[#set + 1] = fields[i] end
  work[#work + 1] = function()
    local key = p .. 'row:' .. id
    redis.call('HSET', key, unpack(set))
    if #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
    for _, entry in ipairs(entries) do redis.call('RPUSH', p .. 'log:' .. id, entry) end
    for i = 1, #fields, 2 do
      if fields[i] == 'm:cancel' then wake('cancel:' .. id) end
    end
    if open ~= '' or expires ~= '' then
      local kind, created = unpack(redis.call('HMGET', key, 'kind', 'created'))
      if open ~= '' then redis.call('HSET', key, 'open', open) end
      if open == '1' then redis.call('ZADD', p .. 'open:' .. kind, created, id) end
      if open == '0' then redis.call('ZREM', p .. 'open:' .. kind, id) end
      if expires == 'never' then
        redis.call('HDEL', key, 'expires')
        redis.call('ZREM', p .. 'expiry:' .. kind, id)
      elseif expires ~= '' then
        redis.call('HSET', key, 'expires', expires)
        redis.call('ZADD', p .. 'expiry:' .. kind, expires, id)
      end
    end
    wake(id)
  end
end

local checks = { insert = checkInsert, update = checkUpdate, remove = checkRemove }
for number = 0, tonumber(take()) - 1 do
  local check = checks[take()]
  local inTheWay = check(take())
  if inTheWay then return { number, redis.call('HGETALL', p .. 'row:' .. inTheWay), inTheWay } end
end
for _, doIt in ipairs(work) do doIt() end
return {}`;

/** id, 1 to read the head too. The columns, and the head. */
const get = `
local id, withHead = take(), take()
return { redis.call('HGETALL', p .. 'row:' .. id), withHead == '1' and redis.call('GET', p .. 'head:' .. id) }`;

/**
 * The index, the kind, 1 or 0 or '' for the state, how many to return, skip and look at, the time up to which
 * `expiry:<kind>` is read or ''. Answers ids and columns in turn, and how many it looked at.
 */
const find = `
local index, kind, open, limit, skip, page, upTo = unpack(ARGV, 1, 7)
local found, ids = {}, nil
if upTo == '' then ids = redis.call('ZREVRANGE', p .. index, skip, skip + page - 1)
else ids = redis.call('ZRANGEBYSCORE', p .. index, '-inf', upTo, 'LIMIT', skip, page) end
for _, id in ipairs(ids) do
  local row = redis.call('HMGET', p .. 'row:' .. id, 'kind', 'open')
  if row[1] == kind and (open == '' or open == row[2]) then
    found[#found + 1] = id
    found[#found + 1] = redis.call('HGETALL', p .. 'row:' .. id)
    if #found == 2 * tonumber(limit) then break end
  end
end
return { found, #ids }`;

/** id, after which number, most entries, most bytes. Each piece of the list is as long as entries like those before it would fit. */
const entries = `
local key = p .. 'log:' .. take()
local from, most, room = tonumber(take()), tonumber(take()), tonumber(take())
local found, bytes, piece = {}, 0, 1
while #found < most do
  local some = redis.call('LRANGE', key, from, from + math.min(piece, most - #found) - 1)
  if #some == 0 then break end
  for _, entry in ipairs(some) do
    bytes = bytes + #entry
    if #found > 0 and bytes > room then return found end
    found[#found + 1] = entry
  end
  from = from + #some
  piece = math.max(1, math.floor((room - bytes) * #found / (bytes + 1)))
end
return found`;

/** Now, how many at most, the kinds. How many rows were removed. */
const sweep = `
local now, most = take(), tonumber(take())
local removed = 0
for _, kind in ipairs(takeList()) do
  local expired = redis.call('ZRANGEBYSCORE', p .. 'expiry:' .. kind, '-inf', now, 'LIMIT', 0, most - removed)
  for _, id in ipairs(expired) do remove(id) end
  removed = removed + #expired
end
return removed`;

/** A home, and for how long it is kept from now on or ''. Whether it was there, and the server's time. */
const home = `
local key, keepMs = p .. 'home:' .. take(), take()
local was = redis.call('EXISTS', key)
if keepMs ~= '' then redis.call('SET', key, '1', 'PX', keepMs) end
local time = redis.call('TIME')
return { was, time[1], time[2] }`;

/** A check value. The one that is there, or is there now. */
const key = `
redis.call('SETNX', p .. 'log-key', take())
return redis.call('GET', p .. 'log-key')`;

export const rowScripts = {
  commit: shared + commit,
  get: shared + get,
  find: shared + find,
  entries: shared + entries,
  sweep: shared + sweep,
  home: shared + home,
  key: shared + key,
} as const;
