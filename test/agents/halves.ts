import { strict as assert } from "node:assert";
import { orAborted } from "../../src/base/async.ts";
import { type GatewayProcess, millrace, startGatewayProcess } from "../support/gateway-process.ts";
import type { ModelServer } from "./model-server.ts";

/** What the checks need: the home of the gateways, the model behind the agent, and the name of a model that the agent offers. */
interface HalvesWorld {
  readonly home: string;
  readonly model: ModelServer;
  readonly asked: string;
  /** Runs one check and reports it. */
  readonly check: (sentence: string, run: () => Promise<void>) => Promise<boolean>;
  /** Ends every agent's host, and the agents with them, as a crash would. */
  readonly killHosts: () => Promise<void>;
}

/**
 * Cuts the answers of a real agent in each orderly and violent way, and asks for them again with their keys: none may pass as whole, and
 * none is prompted twice. Takes a gateway of that home and gives back the one that runs at its end.
 */
export async function checkHalves(
  { home, model, asked, check, killHosts }: HalvesWorld,
  gateway: GatewayProcess,
): Promise<GatewayProcess> {
  let served = gateway;
  const post = (key: string, question: string) =>
    fetch(`${served.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${served.key}`, "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify({ model: asked, messages: [{ role: "user", content: question }], stream: true }),
      signal: AbortSignal.timeout(60_000),
    });
  const ways: readonly (readonly [string, () => Promise<void>])[] = [
    ["`stop --agents`", async () => void (await millrace(["stop", "--agents"], { home }))],
    [
      "a stop, then the end of its host",
      async () => {
        await served.stop();
        await killHosts();
      },
    ],
    [
      "kill -9 of its gateway and its host",
      async () => {
        await served.kill();
        await killHosts();
      },
    ],
  ];
  for (const [at, [way, end]] of ways.entries())
    for (let round = 0; round < 3; round++)
      await check(`opencode: half an answer, cut by ${way}, never passes as whole (${round + 1})`, async () => {
        const key = `half-${at}-${round}`;
        const question = `Please hold and count to 900 for ${key}.`;
        const held = model.held();
        const cut = await post(key, question);
        assert.equal(cut.status, 200);
        await orAborted(held, AbortSignal.timeout(60_000));
        await end();
        await cut.body?.cancel().catch(() => {});
        model.release();
        served = await startGatewayProcess({ home });
        const again = await (await post(key, question)).text();
        assert.match(again, /"error"/);
        assert.doesNotMatch(again, /"finish_reason":"stop"|\[DONE\]/);
        assert.equal(model.asked(key).length, 1);
      });
  return served;
}
