import { strict as assert } from "node:assert";
import { join } from "node:path";
import process from "node:process";
import { lookAtHosts } from "../../src/backends/acp/host/hosts.ts";
import { orAborted } from "../../src/base/async.ts";
import { millrace } from "../support/gateway-process.ts";
import type { Bench } from "./bench.ts";
import { check } from "./check.ts";

/**
 * Cuts the answers of a real agent in each orderly and violent way, and asks for them again with their keys: none may pass as whole, and
 * none is prompted twice. `rounds`: how often each way is tried.
 */
export async function checkHalves(bench: Bench, rounds: number): Promise<void> {
  const { model, place, asked, owner } = bench;
  const { home } = place;
  const post = (key: string, question: string) =>
    fetch(`${bench.gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${bench.gateway.key}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify({ model: asked, messages: [{ role: "user", content: question }], stream: true }),
      signal: AbortSignal.timeout(60_000),
    });
  /** Ends every host, and the agents with them, as a crash would. */
  const killHosts = async () => {
    for (const { hostPid } of await lookAtHosts(join(home, ".millrace/agents"))) process.kill(hostPid, "SIGKILL");
  };
  const ways: readonly (readonly [string, () => Promise<void>])[] = [
    ["`stop --agents`", async () => void (await millrace(["stop", "--agents"], { home }))],
    [
      "a stop, then the end of its host",
      async () => {
        await bench.gateway.stop();
        await killHosts();
      },
    ],
    [
      "kill -9 of its gateway and its host",
      async () => {
        await bench.gateway.kill();
        await killHosts();
      },
    ],
  ];
  for (const [at, [way, end]] of ways.entries())
    for (let round = 0; round < rounds; round++)
      await check(`${owner.name}: half an answer, cut by ${way}, never passes as whole (${round + 1})`, async () => {
        const key = `half-${at}-${round}`;
        const question = `Please hold and count to 900 for ${key}.`;
        const held = model.held();
        const cut = await post(key, question);
        assert.equal(cut.status, 200);
        await orAborted(held, AbortSignal.timeout(60_000));
        await end();
        await cut.body?.cancel().catch(() => {});
        model.release();
        await bench.restart();
        const again = await untilCut(await post(key, question));
        assert.match(again, /"error"/);
        assert.doesNotMatch(again, /"finish_reason":"stop"|\[DONE\]/);
        assert.equal(model.asked(key).length, 1);
      });
}

/** What a stream said; after its error event it is cut, not ended. */
async function untilCut({ body }: Response): Promise<string> {
  let text = "";
  try {
    for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) text += part;
  } catch (error) {
    assert.ok(error instanceof TypeError, String(error)); // undici's "terminated"
  }
  return text;
}
