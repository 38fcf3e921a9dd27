import { writeSync } from "node:fs";
import { systemClock } from "../../src/base/clock.ts";
import type { CascadeId, ModelUid } from "../../src/base/ids.ts";
import { Secret } from "../../src/base/secret.ts";
import { openFileLog } from "../../src/log/memory-log.fake.ts";
import type { LogWriter } from "../../src/log/store.ts";
import { newTurn } from "../../src/log/turn.fake.ts";
import { generator } from "../support/long-suite.ts";
import { deltaOf, logKey, streamNamed } from "./log-pattern.ts";

/**
 * A process that writes a real log, to be recorded: several turns and streams of messages at once, in an order that follows
 * from a seed. Says on its output what it has been told is durable, right when it is. Arguments: the file, the seed, how many steps.
 */
const [path = "", seed = "1", steps = "100"] = process.argv.slice(2);
const random = generator(Number(seed));
const say = (...words: readonly (string | number)[]) => writeSync(1, `${words.join(" ")}\n`);
const store = await openFileLog({ path, clock: systemClock, gatewayKey: new Secret(logKey) });

let left = Number(steps);
let streams = 0;

/** One turn after another, each with its own number of deltas, a cancel or an end. */
async function lane(): Promise<void> {
  while (left > 0) {
    const { writer, turnId } = random() < 0.3 ? await overStream() : await plain();
    const append = async (...bodies: Parameters<LogWriter["append"]>[0]) => {
      left--;
      await writer.append(bodies, systemClock.now());
    };
    await append({
      type: "started",
      modelUid: "m" as ModelUid,
      backend: "cascade",
      cascadeId: turnId as string as CascadeId,
    });
    say("started", turnId);
    const count = Math.floor(random() * 12);
    let text = "";
    for (let i = 0; i < count; i++) {
      text += deltaOf(turnId, i);
      await append({ type: "text", delta: deltaOf(turnId, i) });
      if (random() > 0.03) continue;
      left--;
      await store.requestCancel(turnId, "client");
      say("cancelled", turnId);
    }
    if (random() < 0.2) continue; // left open
    await append({ type: "finished", reason: { unified: "stop", raw: undefined }, text });
    say("ended", turnId, count);
  }
}

async function plain() {
  left--;
  const { record, writer } = await store.create(newTurn(), "recorded", { flush: false });
  if (writer === undefined) throw new Error("the turn was there");
  // as turns are: told of once `started` is stored, or before that where a grace time was noted
  if (random() < 0.5) {
    await store.noteReader(record.turnId, systemClock.now(), record.graceMs);
    say("created", record.turnId);
  }
  return { turnId: record.turnId, writer };
}

/** A turn that a numbered message starts, and one more message of its stream. */
async function overStream() {
  const name = streamNamed(streams++);
  const stream = await store.attachStream(name, "create");
  say("attached", name.name);
  left -= 3;
  const first = { seqno: 0, payload: Buffer.from(`${name.name} 0`) };
  const admitted = await store.admit(stream, first, { turn: newTurn(), owner: "recorded" });
  if (admitted.outcome !== "admitted" || admitted.turn === undefined) throw new Error("it was not admitted");
  const { record, writer } = admitted.turn;
  say("admitted", name.name, 0, record.turnId);
  await store.admit(stream, { seqno: 1, payload: Buffer.from(`${name.name} 1`) });
  say("admitted", name.name, 1);
  return { turnId: record.turnId, writer };
}

await Promise.all([lane(), lane(), lane()]);
await store.close();
