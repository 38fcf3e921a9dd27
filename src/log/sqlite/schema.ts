/** Marks a file as Millrace's ("MilR"), so that another program's database is never mistaken for a log or a usage history. */
export const applicationId = 0x4d696c52;

/**
 * Migrations: entry n takes a file from version n to n + 1, and a fresh file runs them all. A released migration never changes. Events
 * are a rowid table with an index: measured 1.8 times faster to append to than a composite key without rowid.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE turns (
    turn_id TEXT PRIMARY KEY,
    created_at_ms INTEGER NOT NULL,
    caller TEXT NOT NULL,
    key_index TEXT,
    match_index TEXT NOT NULL,
    session_index TEXT,
    header BLOB NOT NULL,
    wrapped_key BLOB NOT NULL,
    owner TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    last_mac BLOB NOT NULL,
    outcome TEXT,
    ended_at_ms INTEGER,
    attached_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    delivered INTEGER NOT NULL,
    cancel_requested TEXT,
    erased_at_ms INTEGER,
    version INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX turns_by_key ON turns (caller, key_index) WHERE key_index IS NOT NULL;
  CREATE INDEX turns_by_time ON turns (created_at_ms, turn_id);
  CREATE INDEX turns_by_match ON turns (caller, match_index);
  CREATE INDEX turns_by_session ON turns (caller, session_index) WHERE session_index IS NOT NULL;
  CREATE INDEX open_turns ON turns (created_at_ms) WHERE outcome IS NULL;
  CREATE INDEX ended_turns ON turns (expires_at_ms) WHERE expires_at_ms IS NOT NULL;

  CREATE TABLE events (
    turn_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    kind TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    payload BLOB NOT NULL,
    mac BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX events_by_turn ON events (turn_id, seq);

  CREATE TABLE owners (owner TEXT PRIMARY KEY, alive_until_ms INTEGER NOT NULL) STRICT;
  `,
  `
  CREATE TABLE streams (
    stream_id TEXT PRIMARY KEY,
    wrapped_key BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    accepted INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    erased_at_ms INTEGER
  ) STRICT;
  CREATE TABLE messages (
    stream_id TEXT NOT NULL,
    seqno INTEGER NOT NULL,
    digest TEXT NOT NULL,
    box BLOB NOT NULL,
    turn_id TEXT
  ) STRICT;
  CREATE UNIQUE INDEX messages_by_stream ON messages (stream_id, seqno);
  `,
  `
  ALTER TABLE streams ADD COLUMN ticket TEXT NOT NULL DEFAULT '';
  ALTER TABLE streams ADD COLUMN ticket_before TEXT NOT NULL DEFAULT '';
  ALTER TABLE turns ADD COLUMN label BLOB NOT NULL DEFAULT x'';
  `,
  `
  ALTER TABLE events ADD COLUMN outline BLOB NOT NULL DEFAULT x'';
  `,
  `
  ALTER TABLE streams ADD COLUMN life TEXT NOT NULL DEFAULT '';
  ALTER TABLE streams ADD COLUMN attach_number INTEGER NOT NULL DEFAULT 0;
  `,
  `
  ALTER TABLE turns ADD COLUMN longer_grace_ms INTEGER NOT NULL DEFAULT 0;
  `,
  // The request has a table of its own: every append changes the turn's row, and rewrote the pages of the request with it.
  `
  CREATE TABLE headers (turn_id TEXT PRIMARY KEY, header BLOB NOT NULL) STRICT;
  INSERT INTO headers (turn_id, header) SELECT turn_id, header FROM turns WHERE length(header) > 0;
  ALTER TABLE turns DROP COLUMN header;
  CREATE INDEX asked_turns ON turns (turn_id) WHERE outcome IS NULL AND cancel_requested IS NOT NULL;
  DROP INDEX ended_turns;
  CREATE INDEX expiring_turns ON turns (expires_at_ms) WHERE expires_at_ms IS NOT NULL AND erased_at_ms IS NULL;
  CREATE INDEX erased_turns ON turns (erased_at_ms) WHERE erased_at_ms IS NOT NULL;
  `,
  // How many flushed commits there were, which the note beside the file is compared with; and the keys of turns that damage took.
  `
  CREATE TABLE log_state (log_id TEXT NOT NULL, commits INTEGER NOT NULL) STRICT;
  INSERT INTO log_state (log_id, commits) VALUES (lower(hex(randomblob(16))), 0);
  CREATE TABLE lost_keys (digest TEXT PRIMARY KEY, turn_id TEXT NOT NULL, created_at_ms INTEGER NOT NULL) STRICT;
  `,
  // Sealed records are chained by their own tags from here on. Programs that know only the older records must not take them for damaged.
  "",
  // Events and headers name their turn by a short number. By their ids, the events of a hundred running turns were on a hundred pages of
  // the index, and each commit wrote those pages again. No number is given twice: what is left of a lost turn never belongs to another.
  `
  CREATE TABLE numbered_turns (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id TEXT NOT NULL UNIQUE,
    created_at_ms INTEGER NOT NULL,
    caller TEXT NOT NULL,
    key_index TEXT,
    match_index TEXT NOT NULL,
    session_index TEXT,
    label BLOB NOT NULL,
    wrapped_key BLOB NOT NULL,
    owner TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    last_mac BLOB NOT NULL,
    outcome TEXT,
    ended_at_ms INTEGER,
    attached_at_ms INTEGER NOT NULL,
    longer_grace_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    delivered INTEGER NOT NULL,
    cancel_requested TEXT,
    erased_at_ms INTEGER,
    version INTEGER NOT NULL
  ) STRICT;
  INSERT INTO numbered_turns
    SELECT NULL, turn_id, created_at_ms, caller, key_index, match_index, session_index, label, wrapped_key, owner, epoch, last_seq,
      last_mac, outcome, ended_at_ms, attached_at_ms, longer_grace_ms, expires_at_ms, delivered, cancel_requested, erased_at_ms, version
    FROM turns ORDER BY created_at_ms;
  CREATE TABLE numbered_events (
    turn INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    kind TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    payload BLOB NOT NULL,
    mac BLOB NOT NULL,
    outline BLOB NOT NULL
  ) STRICT;
  INSERT INTO numbered_events
    SELECT number, seq, events.epoch, kind, at_ms, payload, mac, outline
    FROM events JOIN numbered_turns ON numbered_turns.turn_id = events.turn_id ORDER BY events.rowid;
  CREATE TABLE numbered_headers (turn INTEGER PRIMARY KEY, header BLOB NOT NULL) STRICT;
  INSERT INTO numbered_headers SELECT number, header FROM headers JOIN numbered_turns USING (turn_id);
  DROP TABLE turns;
  DROP TABLE events;
  DROP TABLE headers;
  ALTER TABLE numbered_turns RENAME TO turns;
  ALTER TABLE numbered_events RENAME TO events;
  ALTER TABLE numbered_headers RENAME TO headers;
  CREATE UNIQUE INDEX turns_by_key ON turns (caller, key_index) WHERE key_index IS NOT NULL;
  CREATE INDEX turns_by_time ON turns (created_at_ms, turn_id);
  CREATE INDEX turns_by_match ON turns (caller, match_index);
  CREATE INDEX turns_by_session ON turns (caller, session_index) WHERE session_index IS NOT NULL;
  CREATE INDEX open_turns ON turns (created_at_ms) WHERE outcome IS NULL;
  CREATE INDEX asked_turns ON turns (turn_id) WHERE outcome IS NULL AND cancel_requested IS NOT NULL;
  CREATE INDEX expiring_turns ON turns (expires_at_ms) WHERE expires_at_ms IS NOT NULL AND erased_at_ms IS NULL;
  CREATE INDEX erased_turns ON turns (erased_at_ms) WHERE erased_at_ms IS NOT NULL;
  CREATE UNIQUE INDEX events_by_turn ON events (turn, seq);
  `,
];
