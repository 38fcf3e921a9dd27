import process from "node:process";
import { systemClock } from "../../base/clock.ts";
import type { ModelUid } from "../../base/ids.ts";
import type { Doors } from "../../base/node/door.ts";
import { eventsOf } from "../backend.ts";
import { type AcpAgentSpec, openAcpAgent } from "./agent.ts";
import { spawnChild, spawnRelayedChild } from "./host/spawn-child.ts";

/*
 * A gateway that asks an agent, prints the conversation's id and each text, and then stays until it is killed. Its second argument is
 * `relay`, to start the agent below one, or the folder for hosts, followed by the kind of their doors, and by `unsent` where no prompt is sent.
 */

const spec = JSON.parse(process.argv[2] ?? "") as AcpAgentSpec; // the test gives it
const [way = "", doors, sends] = process.argv.slice(3);
const agent = openAcpAgent(spec, {
  clock: systemClock,
  ...(doors === undefined
    ? { startChild: way === "relay" ? spawnRelayedChild : spawnChild }
    : { hosts: { folder: way }, doors: JSON.parse(doors) as Doors }), // as the test spells it
});
const prompt = {
  modelUid: `${spec.name}/default` as ModelUid, // as a catalogue would give it
  modelNumber: undefined,
  instructions: "",
  text: "Hello?",
  messages: [],
  images: [],
  maxOutputTokens: undefined,
  continues: undefined,
  form: "text" as const,
};
const options = { keep: false, onAlive: () => {} };
const batches = agent.backend.run(prompt, options, new AbortController().signal);
for await (const event of eventsOf(batches)) {
  if (event.type === "started") {
    process.stdout.write(`${event.cascadeId}\n`);
    if (sends === "unsent") await new Promise(() => setInterval(() => {}, 60_000)); // the prompt follows when the next batch is asked for
  }
  if (event.type === "text") process.stdout.write(`${event.delta}\n`);
}
await new Promise(() => setInterval(() => {}, 60_000));
