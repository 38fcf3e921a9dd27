import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import type { ModelUid } from "../../base/ids.ts";
import { ScriptedHarness } from "../acp/scripted-harness.fake.ts";
import { eventsOf } from "../backend.ts";
import { promptFor } from "../prompt.fake.ts";
import { openBackends } from "./route.ts";

const never = new AbortController().signal;
const missing = () => Promise.reject(new Error("there is no other agent, and no server"));

test.each(["claude-opus-4-7-medium", "opencode/free", "opencode/opencode/free"])(
  "the model %s of a configured agent is asked under that name, also where it begins with the agent's",
  async (id) => {
    const harness = await ScriptedHarness.open({ text: "Hello.", models: [id] }, { name: "opencode" });
    onTestFinished(() => harness.close());
    const agents = { vendor: missing, named: missing, configured: () => harness.agent() };
    const backends = openBackends({ clock: systemClock, find: missing, forget: () => {}, agents });
    const prompt = promptFor(`opencode/${id}` as ModelUid);
    const backend = await backends.choose(prompt, never);
    for await (const _ of eventsOf(backend.run(prompt, { keep: false, onAlive: () => {} }, never))) continue;
    const asked = (await harness.journal()).flatMap((line) => (line.what === "accepted" ? [line.model] : []));
    expect(asked).toEqual([id]);
  },
);
