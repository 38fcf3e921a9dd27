/** A promise that is broken on purpose. */
export interface Mutant {
  readonly name: string;
  readonly file: string;
  /** Stands once in the file. */
  readonly from: string;
  readonly to: string;
  /** Files of tests of which one at least must fail. */
  readonly tests: readonly string[];
}

const log = ["src/log/memory/memory-log.test.ts", "src/log/sqlite/sqlite-log.test.ts"];
const streams = [
  "src/gateway/idempotent/idempotent.test.ts",
  "src/gateway/idempotent/stream/stream-guarantees.test.ts",
];
const orders = "src/gateway/idempotent/interleavings.test.ts";
const takeOver = "src/gateway/idempotent/attach/take-over.test.ts";
const turns = ["src/turns/open-turns.test.ts", "src/turns/attach/attachment.test.ts"];
const client = ["src/client/stream/stream.test.ts", "src/client/stream/decide.test.ts"];
const sealing = ["src/log/sealing/sealing.test.ts"];

/** Each change must make a test fail. */
export const mutants: readonly Mutant[] = [
  {
    name: "G8: an older attach may send (memory)",
    file: "src/log/memory/memory-streams.ts",
    from: 'if (entry.row.epoch !== epoch) return "fenced";',
    to: "",
    tests: [orders],
  },
  {
    name: "G8: an older attach may send (SQLite)",
    file: "src/log/sqlite/sqlite-streams.ts",
    from: 'if (row["epoch"] !== epoch) return "fenced";',
    to: "",
    tests: [orders],
  },
  {
    name: "G8: an older attach may abort",
    file: "src/log/memory/memory-medium.ts",
    from: "if (holder !== undefined && this.#streams.isTakenFrom(holder)) return false;",
    to: "",
    tests: [orders],
  },
  {
    name: "G8: an attach does not learn that it was superseded",
    file: "src/gateway/idempotent/attach/serve-attach.ts",
    from: "if (attachment.superseded.aborted) throw superseded();",
    to: "",
    tests: [orders],
  },
  {
    name: "G8: a late abort ends the turn of a newer attach",
    file: "src/gateway/idempotent/attach/take-over.ts",
    from: "if (!place.isOvertaken) await there",
    to: "await there",
    tests: [takeOver],
  },
  {
    name: "G7: an abort is lost with the client that leaves at once",
    file: "src/gateway/idempotent/attach/take-over.ts",
    from: "if (!(await incoming.hasAny())) return false;",
    to: "if (!signal.aborted || place !== undefined) return false;",
    tests: [takeOver, orders],
  },
  {
    name: "G7: what had come is dropped when its client leaves",
    file: "src/gateway/idempotent/attach/serve-attach.ts",
    from: "if (signal.aborted && !observes) await workOff(attach, bell, stopping);",
    to: "",
    tests: ["src/gateway/idempotent/attach/run-attach.test.ts"],
  },
  {
    name: "G7: who joins a turn shortens its grace time",
    file: "src/log/memory/memory-medium.ts",
    from: "Math.max(entry.row.longerGraceMs, longerGraceMs)",
    to: "longerGraceMs",
    tests: log,
  },
  {
    name: "G8: a session's earlier turn is ended before the message is accepted",
    file: "src/turns/attach/attaching.ts",
    from: "    const admitted = await this.#store.admit(stream, message, { turn: prepared.turn, owner });",
    to: `    const earlier = { ...prepared.turn, turnId: "", createdAtMs: Infinity };
    await starting.supersedeOthers(earlier as unknown as Parameters<typeof starting.supersedeOthers>[0]);
    const admitted = await this.#store.admit(stream, message, { turn: prepared.turn, owner });`,
    tests: [orders, ...turns],
  },
  {
    name: "G1: the log of a turn has two writers",
    file: "src/log/memory/memory-medium.ts",
    from: 'if (entry.row.epoch !== epoch) return "fenced";',
    to: "",
    tests: log,
  },
  {
    name: "G3: a message is acknowledged before it is stored",
    file: "src/gateway/idempotent/stream/stream-session.ts",
    from: "    const sent = await attachment.send({ seqno: number, payload }, start, signal);",
    to: `    this.#acks.push(number);
    this.#news();
    const sent = await attachment.send({ seqno: number, payload }, start, signal);`,
    tests: [orders, ...streams],
  },
  {
    name: "G3: an acknowledged message is not flushed",
    file: "src/log/sqlite/sqlite-medium.ts",
    from: "const admission = await this.#write(true, () => {",
    to: "const admission = await this.#write(false, () => {",
    tests: ["test/faults/power-loss.test.ts"],
  },
  {
    name: "G4: a message's turn is not stored with it",
    file: "src/log/sqlite/sqlite-medium.ts",
    from: "this.#refuseLost(digest);\n      this.#insertTurn(turn);\n      return admitted;",
    to: "this.#refuseLost(digest);\n      setImmediate(() => this.#insertTurn(turn));\n      return admitted;",
    tests: log,
  },
  {
    name: "G5: another payload under a used number is taken for the same",
    file: "src/log/sqlite/sqlite-streams.ts",
    from: 'held["digest"] === digest ? "repeated" : "conflict"',
    to: '"repeated"',
    tests: log,
  },
  {
    name: "G6: a log goes on after its end",
    file: "src/log/memory/memory-medium.ts",
    from: 'if (entry.row.outcome !== undefined) return "ended";',
    to: "",
    tests: log,
  },
  {
    name: "G6: the digest of the end is not compared",
    file: "src/client/stream/reading.ts",
    from: "(event.countBefore !== received.count || event.chainBefore !== received.chain)",
    to: "event.countBefore !== received.count",
    tests: client,
  },
  {
    name: "G7: a cancel is not stored",
    file: "src/turns/supervise/supervisor.ts",
    from: "if (!(await this.#options.store.requestCancel(turnId, by, stream))) return false;",
    to: "",
    tests: turns,
  },
  {
    name: "G7: a cancelled turn does not stop its model",
    file: "src/turns/run/runner.ts",
    from: '    this.#stopUpstream.abort("cancel" satisfies StopReason);\n    await within(bestEffort',
    to: "    await within(bestEffort",
    tests: turns,
  },
  {
    // what is left behind is archived later all the same, so only a test of the backend itself can tell
    name: "G7: a trajectory is not archived at the end of its turn",
    file: "src/backends/cascade/run.ts",
    from: "  await bestEffort(current.server.archive(cascadeId, cleaning));",
    to: "",
    tests: ["src/backends/backend.test.ts"],
  },
  {
    name: "G7: the model is not told to stop",
    file: "src/backends/cascade/run.ts",
    from: 'if (prompted && ended !== "finished") await bestEffort(current.server.cancel(cascadeId, cleaning));',
    to: "",
    tests: ["test/e2e/abort.test.ts"],
  },
  {
    name: "G7: a disconnect is a cancel",
    file: "src/turns/read/turn-readers.ts",
    from: "if (leftMs > 0) {",
    to: "if (leftMs > Infinity) {",
    tests: turns,
  },
  {
    name: "G1: the prompt is sent before the cascade is stored",
    file: "src/backends/cascade/run.ts",
    from: "      yield [startedEvent(prompt, begun, current)];\n      signal.throwIfAborted();\n",
    to: "      await sendPrompt(current, cascadeId, prompt, signal);\n      yield [startedEvent(prompt, begun, current)];\n",
    tests: ["src/backends"],
  },
  {
    name: "G9: a box has the same nonce every time",
    file: "src/log/sealing/box.ts",
    from: "nonce: Uint8Array = randomBytes(nonceBytes)",
    to: "nonce: Uint8Array = randomBytes(nonceBytes).fill(0)",
    tests: sealing,
  },
  {
    name: "G9: records have the same nonce every time",
    file: "src/log/sealing/box.ts",
    from: "this.#drawn = randomBytes(nonceBytes * noncesDrawn);",
    to: "this.#drawn = randomBytes(nonceBytes * noncesDrawn).fill(0);",
    tests: sealing,
  },
  {
    name: "G9: a wrong key is told apart from an unknown stream",
    file: "src/log/open-streams.ts",
    from: 'JSON.stringify([caller, name, clientKey?.reveal() ?? ""])',
    to: "JSON.stringify([caller, name])",
    tests: streams,
  },
  {
    name: "G10: the chain of a sealed log is not checked",
    file: "src/log/sealing/sealed-codec.ts",
    from: "if (row.mac.length !== mac.length || !timingSafeEqual(mac, row.mac)) throw damagedLog();",
    to: "void timingSafeEqual;",
    tests: [...sealing, "src/log/sqlite/tampering.test.ts"],
  },
  {
    name: "G10: a record is bound to no place",
    file: "src/log/sealing/sealed-codec.ts",
    from: "return `record ${turnId} ${seq} ${epoch} ${kind} ${atMs}`;",
    to: "return `record ${[turnId, seq, epoch, kind, atMs].length}`;",
    tests: [...sealing, "src/log/sqlite/tampering.test.ts"],
  },
  {
    name: "G10: an attach's digest is not compared",
    file: "src/gateway/idempotent/stream/stored-stream.ts",
    from: "if (chainHead === undefined || !isSame(ask.chain, chainHead)) throw diverged();",
    to: "if (chainHead === undefined) throw diverged();\n  void isSame;",
    tests: streams,
  },
  {
    name: "G11: any ticket is good",
    file: "src/log/memory/memory-streams.ts",
    from: "const isSpent = given !== entry.row.ticket && given !== entry.row.ticketBefore;",
    to: "const isSpent = false;",
    tests: [...log, ...streams],
  },
  {
    name: "G12: an expired stream is begun again",
    file: "src/log/memory/memory-streams.ts",
    from: "if (entry === undefined) {\n      if (intent",
    to: "if (entry === undefined || entry.row.erasedAtMs !== undefined) {\n      if (intent",
    tests: [...log, ...streams],
  },
  {
    name: "G13: a tool's start is not stored",
    file: "src/client/stream/decide.ts",
    from: '{ state: { ...state, record }, effects: [{ type: "store" }] };\n}\n\nfunction given',
    to: '{ state: { ...state, record }, effects: [{ type: "note" }] };\n}\n\nfunction given',
    tests: client,
  },
  {
    name: "H1: the cursor passes an open call",
    file: "src/client/stream/reading.ts",
    from: "isAfter(open.eventId, record.applied.eventId) ? record.applied : open.before;",
    to: "true ? record.applied : open.before;",
    tests: client,
  },
  {
    name: "H2: a message is sent before it is stored",
    file: "src/client/stream/decide.ts",
    from: 'effects: [{ type: "store" }, ...send]',
    to: 'effects: [...send, { type: "store" }]',
    tests: client,
  },
  {
    name: "H9: a mere welcome gives the budget back",
    file: "src/client/stream/decide.ts",
    from: 'state: { ...state, phase: "attached", degraded: input.degraded, record: next },',
    to: 'state: { ...state, phase: "attached", degraded: input.degraded, record: next, fruitless: 0 },',
    tests: client,
  },
  {
    name: "G2: a reader is not woken by an append",
    file: "src/log/sqlite/sqlite-medium.ts",
    from: '    if (outcome === "appended") this.#waiters.wake(turnId);',
    to: "    this.#looking ??= Promise.resolve();",
    tests: log,
  },
  {
    name: "G2: a resumed stream begins with the event at its cursor",
    file: "src/gateway/idempotent/stream/live-chunks.ts",
    from: "for (const chunk of encoder.push(event)) if (chunk.eventId > cursor) yield chunk;",
    to: "for (const chunk of encoder.push(event)) if (chunk.eventId >= cursor) yield chunk;",
    tests: streams,
  },
  {
    name: "G5: another request under a used key is joined",
    file: "src/turns/start/join.ts",
    from: "if (held.fingerprint === asked.fingerprint) return;",
    to: "if (held.fingerprint !== undefined || asked !== undefined) return;",
    tests: turns,
  },
  {
    name: "G1: an answer that was delivered whole is given again",
    file: "src/turns/start/join.ts",
    from: "const wanting = !record.delivered && !beingRead;",
    to: "const wanting = !beingRead;",
    tests: turns,
  },
  {
    name: "G1: a reader that left half-way counts as one that has it all",
    file: "src/turns/read/reading.ts",
    from: "    } finally {\n      leave();\n      reading.abort(notNeeded);",
    to: "    } finally {\n      await this.#store.noteDelivered(turnId);\n      leave();\n      reading.abort(notNeeded);",
    tests: turns,
  },
  {
    name: "G1: an adopted turn sends its prompt again",
    file: "src/turns/supervise/adopt.ts",
    from: 'if (started === undefined) return queue.gate(record, exchangeOf(planning, record, asked), "left");',
    to: 'if (record !== undefined) return queue.gate(record, exchangeOf(planning, record, asked), "left");',
    tests: turns,
  },
  {
    name: "a request that failed becomes a prompt each time",
    file: "src/turns/start/refuse-repeat.ts",
    from: 'if (repeat.type === "tell") throw',
    to: 'if (repeat.type !== "tell" && repeat.type !== "prompt") throw',
    tests: ["src/turns/start/failed-series.test.ts"],
  },
  {
    name: "a failure after which no prompt may follow looks like one that may pass",
    file: "src/turns/start/repeats.ts",
    from: "prompts: earlier.prompts + 1 }",
    to: "prompts: earlier.prompts * 0 }",
    tests: ["src/turns/start/failed-series.test.ts"],
  },
  {
    name: "Qwen Code gets the error on which it asks again a minute later",
    file: "src/gateway/dialects/by-client.ts",
    from: "client.streamErrorIsFinal === true || isFinalFor(client, error)",
    to: "client.streamErrorIsFinal !== true && isFinalFor(client, error)",
    tests: ["src/gateway/dialects/by-client.test.ts"],
  },
  {
    name: "health waits for a search of the IDE",
    file: "src/cli/gateway-process/health-details.ts",
    from: "(await within(looking, freshMs, clock)) ?? known",
    to: "(await looking) ?? (await within(looking, freshMs, clock)) ?? known",
    tests: ["src/cli/gateway-process/health-details.test.ts"],
  },
  {
    name: "G10: a gateway that went back is believed",
    file: "src/client/stream/decide.ts",
    from: "if (input.epoch !== undefined && input.epoch <= record.epoch)",
    to: "if (input.epoch === -1)",
    tests: client,
  },
  {
    name: "G10: a client that went back sends under used numbers",
    file: "src/client/stream/decide.ts",
    from: "if (input.highestSeqno !== undefined && input.highestSeqno >= (record.sentBelow ?? record.nextSeqno))",
    to: "if (input.highestSeqno === -1)",
    tests: client,
  },
  {
    name: "G12: retention has no cap",
    file: "src/log/retention.ts",
    from: "return Math.min(Math.max(endedAtMs, attachedAtMs) + windowMs, endedAtMs + capMs);",
    to: "return Math.max(endedAtMs, attachedAtMs) + windowMs + 0 * capMs;",
    tests: ["src/log/retention.test.ts", ...log],
  },
  {
    name: "G14: degraded is not said",
    file: "src/gateway/idempotent/attach/serve-attach.ts",
    from: "isDegradedMode: attachment.degraded,",
    to: "isDegradedMode: false,",
    tests: streams,
  },
  {
    name: "G15: a page of events is not bounded in bytes",
    file: "src/log/page-limit.ts",
    from: "if (events.length > 0 && bytes > limit.bytes)",
    to: "if (events.length > 0 && bytes > Infinity)",
    tests: log,
  },
  {
    name: "H9: clients come back all at the same time",
    file: "src/client/link/backoff.ts",
    from: "+ random() * ceiling",
    to: "+ ceiling",
    tests: ["src/client/link/backoff.test.ts", ...client],
  },
  {
    name: "R18: a gap in the numbers is passed over",
    file: "src/gateway/idempotent/stream/stream-session.ts",
    from: "if (!this.#options.waitsForGaps || this.#early.size >= mostWaiting) throw gap(seqno, this.#expected);",
    to: "",
    tests: streams,
  },
  {
    name: "a sign of life although the model's server is silent",
    file: "src/gateway/idempotent/attach/serve-attach.ts",
    from: "return isAnswering(turns.lastAliveAtMs(turnId), clock, waits);",
    to: "return isAnswering(clock.now(), clock, waits);",
    tests: streams,
  },
];
