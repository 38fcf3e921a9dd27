import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Bench } from "../bench.ts";
import { expect, type Journey } from "./journey.ts";

const all = ["streamText", "generateText", "stream", "generate", "object", "useChat"];
const some = ["streamText", "generate", "useChat"];
const runs = [
  { major: "", packageName: "ai", acp: false, forms: all, providers: ["responses", "chat"] },
  { major: "", packageName: "ai", acp: true, forms: some, providers: ["responses"] },
  { major: " 6", packageName: "ai-6", acp: false, forms: some, providers: ["messages"] },
  { major: " 5", packageName: "ai-5", acp: false, forms: some, providers: ["chat"] },
];
const call = (n: number) => `call bash ${JSON.stringify({ command: `echo millrace-${n}` })}`;
/**
 * Two rounds with a call, and the answer: a text, and where a form is asked for, an object of it. Each surface has words of its own: the
 * same request again, soon after a gateway died, gets the answer that nobody may have read.
 */
const loop = (surface: string) => {
  const said = "The tools said: {results}";
  const last = surface.startsWith("object") ? 'say {"said":"The tools said millrace-1 millrace-2"}' : `say ${said}`;
  return `[[sim: reset]] [[agent\n${call(1)}\n---\n${call(2)}\n---\n${last}\n]] Look around with ${surface}.`;
};
const pieces = Array.from({ length: 200 }, (_, at) => `piece-${at}`).join(" ");
const long = (surface: string) =>
  `[[sim: reset hold-after=900 hidden-text=${Buffer.from(pieces).toString("base64")}]] Say it with ${surface}.`;

/** Another gateway in place of the one that is killed. */
async function killGateway(bench: Bench): Promise<void> {
  await bench.gateway.kill();
  await bench.startGateway();
}

/** The tool's call begins with a request here: the gateway dies, and its next one is there before the call ends. */
async function killWhileToolsRun(bench: Bench, surface: string): Promise<void> {
  const held: ServerResponse[] = [];
  let kills = 0;
  const hold = createServer((_request, response) => {
    held.push(response);
    kills++;
    void killGateway(bench).then(() => response.end());
  });
  hold.listen(0, "127.0.0.1");
  await once(hold, "listening");
  try {
    const { port } = hold.address() as AddressInfo; // it listens on a port
    const before = (await bench.reached()).prompts.length;
    const ran = await bench.driver("ai-sdk-loop", "plain", surface, loop(surface), {
      env: { HOLD: `http://127.0.0.1:${port}/` },
    });
    const prompts = (await bench.reached()).prompts.slice(before).map(({ text }) => text.length);
    const seen = { surface, ...ran, pieces: [], prompts };
    expect(/The tools said.*millrace-1.*millrace-2/s.test(ran.stdout), "no whole answer", seen);
    expect(ran.stderr.match(/^ran /gm)?.length === 2 && kills === 2, "not each call once", seen);
    expect(prompts.length === (bench.acp ? 1 : 3), "not one prompt a round", seen);
  } finally {
    for (const response of held) response.end();
    hold.close();
  }
}

/**
 * The gateway dies while the text comes, and the chat's user asks again by its button. The SDK's server ends its own stream in order
 * then (versions 5, 6 and 7), so the page shows a part as if it were whole.
 */
async function killWhileItWrites(bench: Bench, surface: string): Promise<void> {
  const before = (await bench.reached()).prompts.length;
  const seen = bench.recorder.requests.length;
  const saying = bench.driver("ai-sdk-loop", "plain", surface, long(surface), { env: { AGAIN: "1" } });
  await bench.recorder.until(
    (requests) => requests.slice(seen).some(({ passed }) => passed > 1_500),
    AbortSignal.timeout(60_000),
  );
  await killGateway(bench);
  await bench.ide.release();
  const ran = await saying;
  const prompts = (await bench.reached()).prompts.length - before;
  const told = { surface, ...ran, pieces: [], prompts };
  expect(ran.stdout.trim() === pieces, "not the whole answer", told);
  expect(prompts === 1, "more than one prompt", told);
}

export const aiSdkJourneys: readonly Journey[] = runs.map(({ major, packageName, acp, forms, providers }) => ({
  client: `Vercel AI SDK${major}`,
  packageName,
  sentence: `a gateway that is killed between the rounds of a tool loop, or in a chat's answer, costs no prompt and no call (${acp ? "ACP" : "Cascade"})`,
  bench: { acp, patienceMs: 120_000, grace: "60s" },
  async run(bench) {
    for (const provider of providers) {
      for (const form of forms) await killWhileToolsRun(bench, `${form} ${provider}${major}`);
      await killWhileItWrites(bench, `useChat ${provider}${major}`);
    }
  },
}));
