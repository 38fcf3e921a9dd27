import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { planOptionsSchema } from "./account/plan-options.ts";
import { agentFaultSchema, agentOptionsSchema } from "./acp/agent-options.ts";
import { errorNames } from "./faults/error-texts.ts";
import { rpcFaultSchema } from "./faults/rpc-fault.ts";
import { turnPlanSchema } from "./faults/turn-plan.ts";
import { agentNames } from "./model/agent-script.ts";
import { simulatorOptionsSchema } from "./options.ts";
import { profileNames } from "./profile.ts";

const page = readFileSync(new URL("../docs/dev/simulator.md", import.meta.url), "utf8");
const kebab = (key: string) => key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const effects = Object.keys(rpcFaultSchema.shape).filter((key) => !["rpc", "skip", "times"].includes(key));

describe("docs/dev/simulator.md", () => {
  it.each([
    ["option", Object.keys(simulatorOptionsSchema.shape)],
    ["directive", Object.keys(turnPlanSchema.shape).map(kebab)],
    ["error", errorNames],
    ["agent", agentNames.filter((name) => !name.startsWith("always-") || name === "always-truncated")],
    ["profile", profileNames],
    ["plan option", Object.keys(planOptionsSchema.shape)],
    ["fault", effects],
    ["agent option", Object.keys(agentOptionsSchema.shape)],
    ["agent fault", Object.keys(agentFaultSchema.shape)],
  ])("names every %s", (_, names) => {
    const missing = names.filter((name) => !new RegExp(`\`[^\`]*\\b${name}\\b[^\`]*\``).test(page));
    expect(missing).toEqual([]);
  });
});
