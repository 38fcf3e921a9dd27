import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rawClient, say, tierNames } from "../../src/gateway/streams/raw-client.fake.ts";
import { heapOf } from "../support/heap.ts";
import { temporaryHome } from "../support/home.ts";
import { gateway, model, simulator } from "../support/world.ts";

const canaries = ["canary-of-the-prompt-6b1e", "canary-of-the-answer-6b1e", "canary-of-the-tool-6b1e"];

/** Windows knows no such signal. */
test.skipIf(process.platform === "win32")(
  "once a sealed stream has ended and its client has left, the gateway's memory holds neither its texts nor its key (G9)",
  async () => {
    const home = temporaryHome();
    const dumps = join(home, "dumps");
    mkdirSync(dumps);
    await simulator({ home, turn: { rate: 200 } });
    const env = { NODE_OPTIONS: `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${dumps}` };
    const served = await gateway({ home, args: ["--continuity", "off"], env });
    const [prompt = "", answer = "", result = ""] = canaries;
    const encryptionKey = Buffer.from("canary-of-the-key-6b1e-0123456789").subarray(0, 32).toString("base64url");
    const said = `It is ${answer}, and more that takes a while to be said.`;
    const script = ["[[agent", "say Let me look.", "call bash", "---", `say ${said}`, "]]"].join("\n");
    let during = "";
    for (const tier of tierNames) {
      const attach = rawClient(served).attach(tier, {
        "x-idempotency-key": `stream-over-${tier}`,
        "x-idempotent-encryption-key": encryptionKey,
      });
      attach.send(say.request(`${prompt} ${script}`, 0, { model, tools: ["bash"] }));
      const callOf = () => attach.chunks.find(({ response }) => response.case === "clientSideToolV2Call");
      await attach.until(() => callOf() !== undefined);
      const called = callOf()?.response.value as { readonly toolCallId: string } | undefined; // as `callOf` looked for
      during ||= await heapOf(served.pid, dumps);
      attach.send(say.result(called?.toolCallId ?? "", result, 1)).endInput();
      expect(await attach.ended).toBeUndefined();
      expect(attach.text).toContain(answer);
    }
    const found = (heap: string) => [...canaries, encryptionKey].filter((canary) => heap.includes(canary));
    let after = await heapOf(served.pid, dumps);
    // What is still being put away when the client hears of its end is gone a moment later; what is kept is there each time.
    for (let looks = 1; looks < 5 && found(after).length > 0; looks++) after = await heapOf(served.pid, dumps);
    expect(found(during)).toEqual([prompt, answer, encryptionKey]); // the search finds what is there
    expect(found(after)).toEqual([]);
  },
);
