/** A promise, property or hazard of the stream engine, or an earlier defect, and the tests that hold it: each a file and the title of a test in it. */
export interface Proof {
  /** `G1`, or several: `H1 – H4, H6`. */
  readonly id: string;
  readonly promise: string;
  readonly tests: readonly (readonly [file: string, title: string])[];
}

/** G: promises; P: properties; H: known hazards. scripts/promises.test.ts checks that each test exists. */
export const promises: readonly Proof[] = [
  {
    id: "G1",
    promise: "A message takes effect once, even if the client sends it again after a broken connection or a restart",
    tests: [
      ["src/log/streams.conformance.ts", "ends in the same state, however often its messages are repeated (P7)"],
      ["src/turns/attach.test.ts", "starts its turn once, however often and over which connections it is sent"],
      [
        "test/faults/crash.test.ts",
        "turns survive a gateway that is killed at a write of its store, at a call to the IDE, and in the middle of answers",
      ],
      ["test/model/model.test.ts", "the algorithm with every fix has no violation in any state"],
      [
        "src/client/stream/stream.test.ts",
        "at any write of its record loses nothing, asks once and runs no tool twice (own cursor: %s)",
      ],
      [
        "test/faults/reliable-client.test.ts",
        "an answer survives when its gateway and its client are killed, and costs one prompt",
      ],
      [
        "src/gateway/streams/idempotent.conformance.ts",
        "R4, R5, R6: acknowledges each message once it is durable, and each repeat of it; a message takes effect once",
      ],
      [
        "test/faults/redis-killed.test.ts",
        "a Redis server that is killed at a step of the log costs no event and no second prompt, and the log is whole in it afterwards",
      ],
    ],
  },
  {
    id: "G2",
    promise: "A client gets the events of the log in their order, without a gap, each once",
    tests: [
      [
        "test/faults/cut.test.ts",
        "a connection that is cut anywhere costs no event and no second prompt, in every dialect",
      ],
      [
        "src/log/store.conformance.ts",
        "random operations give what the model gives, for every cursor and every reader",
      ],
      ["src/turns/open-turns.test.ts", "gives late readers and slow readers the same events, from any cursor"],
      [
        "src/client/stream/stream.test.ts",
        "a connection that is cut after any message, in either direction, every time, costs nothing",
      ],
      [
        "test/browser/client.test.ts",
        "continues an answer after a reload and after the gateway was killed, in one tab at a time",
      ],
      [
        "src/gateway/streams/idempotent.conformance.ts",
        "R8: continues after any cursor with the same bytes, and nothing else",
      ],
      [
        "test/faults/cut-tiers.test.ts",
        "a stream that is cut anywhere is delivered as its log holds it and starts once, over every tier",
      ],
    ],
  },
  {
    id: "G3",
    promise: "The gateway acknowledges a message only after it is on the disk",
    tests: [
      ["src/log/rows.conformance.ts", "keep each commit of a process that is killed, and let others go on"],
      ["src/log/store.conformance.ts", "keeps everything when it is opened again"],
      [
        "test/faults/power-loss.test.ts",
        "after a power cut at any write everything acknowledged is there, and any part of the rest may be lost",
      ],
      [
        "test/faults/redis-killed.test.ts",
        "a Redis server that is killed at a step of the log costs no event and no second prompt, and the log is whole in it afterwards",
      ],
    ],
  },
  {
    id: "G4",
    promise: "The log stores a message and its turn in one transaction",
    tests: [
      ["src/log/streams.conformance.ts", "creates the turn of a message together with it, and only then"],
      [
        "test/faults/crash.test.ts",
        "turns survive a gateway that is killed at a write of its store, at a call to the IDE, and in the middle of answers",
      ],
      [
        "test/faults/power-loss.test.ts",
        "after a power cut at any write everything acknowledged is there, and any part of the rest may be lost",
      ],
    ],
  },
  {
    id: "G5",
    promise: "The gateway refuses a second payload under a used number as a conflict",
    tests: [
      [
        "src/log/streams.conformance.ts",
        "takes no message whose number was used for one that differs in any byte (G5)",
      ],
      ["src/turns/open-turns-keys.test.ts", "with another request is a conflict"],
      [
        "src/gateway/streams/idempotent.conformance.ts",
        "refuses another message under a used number; the log does not change",
      ],
    ],
  },
  {
    id: "G6",
    promise: "A log has one terminal event. A client never takes a stream without that event for a whole answer",
    tests: [
      ["src/turns/decide.test.ts", "I0: a log has at most one terminal event, and nothing follows it"],
      ["src/log/store-events.conformance.ts", "cannot follow a terminal one"],
      ["src/gateway/dialects/surfaces.test.ts", "ends in an error, never as complete, wherever the log breaks"],
      ["src/log/sealing/sealing.test.ts", "whose entries were %s is not shown"],
      [
        "src/gateway/streams/idempotent.conformance.ts",
        "ends once, with the count and the digest of all events before",
      ],
    ],
  },
  {
    id: "G7",
    promise:
      "A client that disconnects cancels nothing. A cancel is stored, stops the model, and may be sent more than once",
    tests: [
      [
        "src/turns/open-turns-disconnect.test.ts",
        "is not a cancel: the turn continues for its grace time, then is cancelled upstream",
      ],
      ["src/turns/grace.test.ts", "grows with a client that joins by the key, and never shrinks: %s"],
      [
        "test/faults/grace.test.ts",
        "a client that joins a turn extends its grace time, in every API, and also if the gateway is killed",
      ],
      ["src/turns/open-turns.test.ts", "ends the turn once, stops the upstream, and does nothing the second time"],
      [
        "src/turns/open-turns-restart-cancel.test.ts",
        "with a cancel not yet carried out leaves it to the next process, which ends and archives the turn",
      ],
      ["test/faults/leaving.test.ts", "an explicit cancel stops the polling and archives the trajectory"],
      [
        "src/gateway/streams/idempotent.conformance.ts",
        "R11: takes an abort without a number on another connection, more than once, and after the end",
      ],
      [
        "test/faults/streams-killed.test.ts",
        "an abort without a number, first thing after a crash, ends the answer and reaches the IDE",
      ],
      ["test/e2e/abort.test.ts", "an abort or a cancel at any step ends the answer once and stops the model"],
      [
        "test/faults/original-client.test.ts",
        "an original client does not retry a final refusal, and its abort ends the answer",
      ],
      [
        "test/faults/abort.test.ts",
        "an abort at any step of a stream over %s, in any way, ends it once and stops the model",
      ],
      ["test/faults/abort.test.ts", "an abort that was acknowledged holds when the gateway is killed at once"],
      [
        "test/faults/abort.test.ts",
        "a cancel over HTTP at any step ends a turn once and stops the model; killed at once: %s",
      ],
    ],
  },
  {
    id: "G8",
    promise: "One connection at a time may send on a stream",
    tests: [
      [
        "src/log/streams.conformance.ts",
        "belongs to its newest attach; the older one gets an error and cannot send any more",
      ],
      ["src/log/streams.conformance.ts", "has its turns ended by its newest attach only"],
      ["src/gateway/streams/interleavings.test.ts", "keep their promises with %s"],
      ["src/gateway/streams/interleavings.test.ts", "keep them over a file too"],
      ["src/turns/attach.test.ts", "over a replaced connection is refused, and that connection gets the reason"],
      ["src/log/store-turns.conformance.ts", "are fenced off by a newer claim, whose epoch is higher"],
      ["src/gateway/streams/session.test.ts", "an attach whose client has left before it is open takes nothing over"],
      [
        "src/gateway/streams/attaches.conformance.ts",
        "R17: belongs to its newest attach; the older one gets the reason, and its messages are not taken",
      ],
      ["test/model/model.test.ts", "the algorithm with every fix has no violation in any state"],
    ],
  },
  {
    id: "G9",
    promise: "Prompts and answers are encrypted in every file. With a wrong key, a stream looks as if it did not exist",
    tests: [
      [
        "test/e2e/secrets.test.ts",
        "no credential shows in a log line, an error or a response, and no prompt or answer in any file (G9)",
      ],
      [
        "src/log/sealing/sealed-turn.test.ts",
        "no file of a sealed log holds a word of prompt, answer, thinking, tools, key, session or error (G9)",
      ],
      [
        "src/log/sealing/sealed-turn.test.ts",
        "is unknown without the client's key or with another, in the same words as one that never was",
      ],
      [
        "src/log/store-events.conformance.ts",
        "show each event's kind, time and length without any text, whether or not the client sealed the turn",
      ],
      [
        "src/gateway/streams/stream-guarantees.test.ts",
        "shows the gateway's owner what happened and when, while it runs and after its end, without any text",
      ],
      [
        "src/gateway/streams/idempotent.conformance.ts",
        "R2, R3: belongs to its caller and its key; for any other it is an unknown stream",
      ],
      [
        "src/gateway/streams/stream-guarantees.test.ts",
        "R12: leaves nothing on the disk that can be read with the gateway's own key",
      ],
      [
        "test/faults/heap.test.ts",
        "once a sealed stream has ended and its client has left, the gateway's memory holds neither its texts nor its key (G9)",
      ],
    ],
  },
  {
    id: "G10",
    promise: "Gateway and client notice each change to stored data before they show the data",
    tests: [
      [
        "src/log/sealing/sealing.test.ts",
        "with any single byte of any entry changed shows nothing of that entry (G10)",
      ],
      ["src/log/sealing/sealing.test.ts", "whose row was given %s is damaged for every caller, and is not listed"],
      ["src/client/records/sealed-record.test.ts", "does not open once any bit of it was flipped"],
      [
        "src/client/stream/stream-changed-log.test.ts",
        "because an event was changed, left out, added, swapped or doubled: the client notices before it delivers the event, or at the end",
      ],
      [
        "src/gateway/streams/attaches.conformance.ts",
        "G10: refuses an attach whose digest at the cursor is another one",
      ],
    ],
  },
  {
    id: "G11",
    promise: "A captured attach cannot be used a second time",
    tests: [
      ["src/client/stream/stream-refused.test.ts", "ends with the gateway's error: %s"],
      [
        "src/gateway/streams/attaches.conformance.ts",
        "G11: spends a ticket with each attach, and accepts the last one until the next is used, since a welcome can be lost or come late",
      ],
    ],
  },
  {
    id: "G12",
    promise:
      "The gateway keeps an ended answer for two hours (`--retention`). For a day after that a request for it gets `expired`, and starts no second answer",
    tests: [
      [
        "src/log/store-turns.conformance.ts",
        "keeps an ended turn for two hours, then answers `expired`, also if the clock goes back later",
      ],
      ["src/log/store-turns.conformance.ts", "leaves a tombstone for a day, then nothing"],
      [
        "src/log/streams.conformance.ts",
        "is kept for two hours after its last message or attach, then stays `expired`",
      ],
      [
        "src/gateway/streams/stream-guarantees.test.ts",
        "R13: is kept for two hours, then is `expired` and never started again",
      ],
      [
        "src/gateway/streams/result-kinds.test.ts",
        "a client that %s and comes back at any time continues, gets the whole answer, or gets `expired` (G6, G12)",
      ],
    ],
  },
  {
    id: "G13",
    promise:
      "The client library starts a tool once at most. After a crash it reports a tool that may have run, and does not start it again",
    tests: [
      [
        "test/faults/tool-effects.test.ts",
        "a client that is killed at any step of keeping its record runs its tool once at most, and has its whole answer (G13)",
      ],
      ["src/client/stream/stream-application.test.ts", "must start a tool before it gives its result, and give one"],
      [
        "src/client/stream/stream.test.ts",
        "at any write of its record loses nothing, asks once and runs no tool twice (own cursor: %s)",
      ],
      [
        "test/faults/crash.test.ts",
        "turns survive a gateway that is killed at a write of its store, at a call to the IDE, and in the middle of answers",
      ],
    ],
  },
  {
    id: "G14",
    promise:
      "When the store fails, the gateway reports it at once, answers from memory, and uses the store again once it works",
    tests: [
      ["src/log/live.test.ts", "because it is %s in the middle of a turn costs its readers no event"],
      [
        "src/log/live.test.ts",
        "and works again stores new turns; what it did not take stays in memory until it expires",
      ],
      ["test/faults/disk-full.test.ts", "a full disk loses no answer, is reported, and is used again once it has room"],
      [
        "test/faults/log-taken-away.test.ts",
        "a log that is deleted in the middle of an answer costs nothing of it, is reported, and a request with a key is refused until the next start",
      ],
      [
        "test/faults/shared-store.test.ts",
        "gateways that share a Redis server share turns, take over those of a gateway that ended, and work without the server for a while",
      ],
      [
        "src/gateway/streams/stream-guarantees.test.ts",
        "R16: reports in its welcome that it is degraded, delivers its answer, and never starts a stored stream a second time",
      ],
      [
        "test/faults/redis-killed.test.ts",
        "a Redis server that is killed at a step of the log costs no event and no second prompt, and the log is whole in it afterwards",
      ],
    ],
  },
  {
    id: "G15",
    promise: "Memory and retries have limits",
    tests: [
      ["src/base/retry.test.ts", "never pauses longer than the cap nor tries more often than allowed"],
      ["src/turns/open-turns.test.ts", "gives late readers and slow readers the same events, from any cursor"],
      [
        "src/log/store-events.conformance.ts",
        "come in pages of at most 256 KiB as they are stored, whole and in order, however many are asked for",
      ],
      ["src/gateway/streams/stream-guarantees.test.ts", "R19: has a quota for each caller, and says when to retry"],
      [
        "test/faults/outage.test.ts",
        "a thousand streams whose gateway is down for a minute retry a few times each, take no more memory, and reconnect spread over the longest wait (G15)",
      ],
    ],
  },
  {
    id: "G16",
    promise: "Every turn ends",
    tests: [
      [
        "src/turns/open-turns-restart.test.ts",
        "with a thousand running turns leaves none behind: each continues once, and adds what its log lacked",
      ],
      [
        "src/turns/open-turns-restart.test.ts",
        "that finds a failing store changes nothing, and continues the turn once the store works",
      ],
      ["test/model/model.test.ts", "the algorithm with every fix has no violation in any state"],
      [
        "src/client/lossy.test.ts",
        "a stream over any lossy but fair connection ends, complete, and resends only what is not acknowledged (G16)",
      ],
    ],
  },
  {
    id: "G17",
    promise: "Every API shows what the log holds",
    tests: [
      [
        "test/faults/cut.test.ts",
        "a connection that is cut anywhere costs no event and no second prompt, in every dialect",
      ],
      [
        "src/gateway/dialects/surfaces.test.ts",
        "lets a client accumulate what it would get without streaming, for any legal log",
      ],
      [
        "test/faults/restart.test.ts",
        "a gateway killed in the middle of answers loses nothing and sends nothing twice, in the background too",
      ],
      [
        "test/faults/cut-tiers.test.ts",
        "a stream that is cut anywhere is delivered as its log holds it and starts once, over every tier",
      ],
      [
        "test/e2e/faces.test.ts",
        "every API of the gateway gives the same answer, at any time and from any cursor (G17)",
      ],
    ],
  },
  {
    id: "P1",
    promise: "A message reads as it was written, and keeps the fields of later versions",
    tests: [
      ["test/model/wire-vectors.test.ts", "the client's message: %s"],
      ["test/model/wire-vectors.test.ts", "the server's message: %s"],
      [
        "test/model/frames.test.ts",
        "messages come out of a Connect stream as they went in, however its bytes are cut, with fields of later versions (P1, P3)",
      ],
      ["test/model/messages.test.ts", "%s reads as it was written, and keeps fields of later versions (P1)"],
    ],
  },
  {
    id: "P2",
    promise: "Events read as they were written, however their bytes are cut",
    tests: [
      [
        "src/gateway/http/reply.test.ts",
        "any text comes out as it went in, however the bytes of its events are cut (P2)",
      ],
    ],
  },
  {
    id: "P3",
    promise: "A Connect stream reads the same, however it is cut",
    tests: [
      [
        "test/model/frames.test.ts",
        "messages come out of a Connect stream as they went in, however its bytes are cut, with fields of later versions (P1, P3)",
      ],
    ],
  },
  {
    id: "P4",
    promise: "Event ids rise, as text and as numbers",
    tests: [["src/log/event.test.ts", "ids sort as text the way their numbers sort, all of them after the start (P4)"]],
  },
  {
    id: "P5",
    promise: "Two readers at one cursor get the same events",
    tests: [
      [
        "src/log/store.conformance.ts",
        "random operations give what the model gives, for every cursor and every reader",
      ],
    ],
  },
  {
    id: "P6",
    promise: "A log that is read in two parts gives the same events as in one",
    tests: [
      [
        "src/log/store.conformance.ts",
        "random operations give what the model gives, for every cursor and every reader",
      ],
    ],
  },
  {
    id: "P7",
    promise: "Repeated messages change nothing",
    tests: [["src/log/streams.conformance.ts", "ends in the same state, however often its messages are repeated (P7)"]],
  },
  {
    id: "P8",
    promise: "A snapshot and the events after it make the same answer as all events",
    tests: [
      [
        "src/gateway/dialects/surfaces.test.ts",
        "gives an accumulator that starts anywhere the same response as one that saw everything",
      ],
      [
        "src/turns/reconcile.test.ts",
        "an answer that is read again from its start, cut anywhere, adds exactly what the log lacks (P8)",
      ],
    ],
  },
  {
    id: "P9",
    promise: "Sealed data opens unchanged, or not at all",
    tests: [
      ["src/log/sealing/sealing.test.ts", "opens to what was sealed, under the same key and binding only (P9)"],
      ["src/log/sealing/sealing.test.ts", "with any single byte changed, or cut anywhere, does not open (P9)"],
      ["src/client/records/sealed-record.test.ts", "opens to what was sealed (P9)"],
    ],
  },
  {
    id: "P10",
    promise: "What has expired stays expired",
    tests: [
      [
        "src/log/retention.test.ts",
        "what has expired stays expired for every request and every clock, until its tombstone is gone (P10)",
      ],
    ],
  },
  {
    id: "P11",
    promise: "G2 holds when a client changes the tier in the middle",
    tests: [
      [
        "src/client/stream/stream.test.ts",
        "a stream whose connections go over any tiers and break anywhere is delivered as its log holds it",
      ],
      [
        "src/gateway/streams/stream-delivery.test.ts",
        "arrives whole, however often it is cut and over any tiers (P11, G2)",
      ],
      ["test/e2e/idempotent.test.ts", "a stream with a call continues over any tier on which its client comes back"],
    ],
  },
  {
    id: "P12",
    promise: "Pauses are random and have a limit. They start again from the shortest one only after new events arrived",
    tests: [
      [
        "src/client/link/backoff.test.ts",
        "is bounded, never below what the gateway asks for, and ends with the budget",
      ],
      [
        "src/client/stream/stream-refused.test.ts",
        "gets its budget back when anything new arrives, and not from a welcome alone",
      ],
    ],
  },
  {
    id: "H1 – H4, H6, H7",
    promise: "The hazards of the algorithm",
    tests: [
      ["test/model/model.test.ts", "the algorithm with every fix has no violation in any state"],
      ["test/model/model.test.ts", "the page shows these very results"],
    ],
  },
  {
    id: "H5",
    promise: "The client does not skip a record that it cannot read",
    tests: [
      [
        "src/client/records/record-store.conformance.ts",
        "a change of any byte is noticed, and the record is neither used nor deleted",
      ],
    ],
  },
  {
    id: "H8",
    promise: "The client does not run a tool again because its result was lost",
    tests: [
      ["src/client/stream/stream-application.test.ts", "must start a tool before it gives its result, and give one"],
      [
        "src/client/stream/stream.test.ts",
        "at any write of its record loses nothing, asks once and runs no tool twice (own cursor: %s)",
      ],
      ["src/client/stream/decide.test.ts", "keeps its promises for any events in any order, and ends once it can"],
      [
        "test/faults/crash.test.ts",
        "turns survive a gateway that is killed at a write of its store, at a call to the IDE, and in the middle of answers",
      ],
    ],
  },
  {
    id: "H9",
    promise: "Clients do not all retry at the same moment",
    tests: [
      [
        "src/client/stream/stream-refused.test.ts",
        "is tried as often as the budget says, with waits that are drawn, and never after",
      ],
      [
        "test/faults/outage.test.ts",
        "a thousand streams whose gateway is down for a minute retry a few times each, take no more memory, and reconnect spread over the longest wait (G15)",
      ],
    ],
  },
  {
    id: "H10",
    promise: "A clock that jumps changes no promise",
    tests: [
      [
        "src/turns/open-turns-disconnect.test.ts",
        "is counted in time that passes, also when the wall clock jumps by %i hours",
      ],
    ],
  },
  {
    id: "H11",
    promise: "The gateway says that it is degraded before it accepts anything",
    tests: [
      [
        "src/client/stream/stream-application.test.ts",
        "learns that the gateway cannot resume, and that losing such a connection is final",
      ],
      ["src/log/live.test.ts", "because it is %s leaves a new turn without a key in memory, and says so once"],
    ],
  },
  {
    id: "H12",
    promise: "A client does not take the end of a connection for the end of the answer",
    tests: [
      ["src/client/stream/stream-application.test.ts", "never takes an unproved end for a whole answer"],
      ["src/gateway/dialects/surfaces.test.ts", "ends in an error, never as complete, wherever the log breaks"],
    ],
  },
];

/** What once went wrong after a failure. The test fails if it comes back. */
export const mended: readonly Proof[] = [
  {
    id: "D1",
    promise: "Clients repeat a request after a failure, and each repeat was a new prompt",
    tests: [
      [
        "test/faults/fault-matrix.test.ts",
        "$name costs one more prompt at most, none under a key, and the client reads why",
      ],
      ["test/clients/failures/failure.ts", "high demand in the middle"],
    ],
  },
  {
    id: "D2",
    promise:
      "Without an IDE, and after an internal error, clients repeated the request in silence for up to seven minutes",
    tests: [
      [
        "test/faults/ide-matrix.test.ts",
        "without what answers every client reads soon what is missing, and a gateway that finds it again sends once",
      ],
      [
        "test/faults/fault-matrix.test.ts",
        "a program without a name, after %s, reads the reason within seconds and costs one prompt",
      ],
      ["test/clients/failures/failure.ts", "no IDE"],
    ],
  },
  {
    id: "D3",
    promise: "Codex did not stop at a repeated quota refusal",
    tests: [
      [
        "test/faults/fault-matrix.test.ts",
        "$name costs one more prompt at most, none under a key, and the client reads why",
      ],
      ["test/clients/failures/failure.ts", "quota"],
    ],
  },
  {
    id: "D4",
    promise: "A quota refusal did not say when the quota resets",
    tests: [["test/faults/quota-reset.test.ts", "a quota refusal says when the quota resets, as /v1/limits does"]],
  },
  {
    id: "D5",
    promise: "A tool call that missed a fine rule of its schema failed the turn, also after a valid call was streamed",
    tests: [
      [
        "test/e2e/tools.test.ts",
        "passes on a call that misses a finer rule of its schema, and never fails a turn for it",
      ],
      ["test/e2e/tools.test.ts", "ends a turn with the call that was streamed, where another call of it stays broken"],
    ],
  },
  {
    id: "D6",
    promise: "A gateway that started on a full or read-only disk forgot the answers of its log",
    tests: [
      [
        "test/faults/disk-matrix.test.ts",
        "%s at the start costs one more prompt at most, in each API, and none under a key that the log still has",
      ],
      ["src/log/sealing/log-key.test.ts", "no hint of it suggests to move a key away"],
    ],
  },
  {
    id: "D7",
    promise: "A flipped bit in the WAL or an emptied file lost all turns without a message",
    tests: [
      [
        "test/faults/damaged-log.test.ts",
        "a damaged file is set aside and said, and a key that was used before costs one more prompt at most",
      ],
      [
        "test/faults/damaged-log.test.ts",
        "bits flipped anywhere in the WAL cost one more prompt at most, and never an answer that differs",
      ],
    ],
  },
  {
    id: "D8",
    promise: "`millrace keys` showed a key that the running gateway refused",
    tests: [
      [
        "test/faults/key-taken-away.test.ts",
        "after its folder was deleted, `millrace keys --value` shows a new key that the running gateway takes at once, and the old key ends",
      ],
    ],
  },
  {
    id: "D9",
    promise: "A crash of the IDE spent the idempotency key without a word, or was told as a cancel",
    tests: [
      [
        "test/faults/ide-matrix.test.ts",
        "a crash in the middle of an answer is reported in words, costs one more prompt at most, and says what to do under a key",
      ],
    ],
  },
  {
    id: "D10",
    promise: "Unfinished requests were kept for ever",
    tests: [
      [
        "test/faults/unfinished-requests.test.ts",
        "connections that keep a gateway waiting are closed, and a slow answer is not",
      ],
    ],
  },
  {
    id: "D11",
    promise: "An original client of the stream protocol could wait for ever, and some forms of its key were refused",
    tests: [
      [
        "test/faults/lost-store.test.ts",
        "an original client whose message was acknowledged by a lost store gets an error, and does not wait for ever",
      ],
      ["test/faults/lost-store.test.ts", "a stream's key is taken in every form of base64"],
    ],
  },
  {
    id: "D12",
    promise: "`/health` waited for a search of the IDE",
    tests: [["test/faults/health.test.ts", "health does not wait for a search of the IDE"]],
  },
  {
    id: "D13",
    promise:
      "The readers of a turn waited for ever after another gateway had taken the turn over, or after its store had failed in an unknown way",
    tests: [
      ["src/log/live.test.ts", "that another process took over is read to its end once $when, without an append"],
      [
        "src/log/live.test.ts",
        "whose store fails in an unknown way shows what it has, and then the error to everyone who waits",
      ],
    ],
  },
];
