import { z } from "zod";
import { MillraceError } from "../src/base/errors.ts";
import { planOptionsSchema } from "./account/plan-options.ts";
import { agentOptionsSchema } from "./acp/agent-options.ts";
import { rpcFaultSchema } from "./faults/rpc-fault.ts";
import { turnPlanSchema } from "./faults/turn-plan.ts";
import { profileNames, profiles } from "./profile.ts";
import { decoyKinds } from "./wire/listener.ts";

const cascadeLives = ["on", "retired", "removed"] as const;
export type CascadeLife = (typeof cascadeLives)[number];

/** Everything about a stand-in IDE that can be set, from a config file or code. Unknown keys are errors. */
export const simulatorOptionsSchema = z.strictObject({
  profile: z.enum(profileNames).default("windsurf-2"),
  /** The home folder of the IDE's user; a temporary one, removed by `stop`, when absent. */
  home: z.string().min(1).optional(),
  platform: z.enum(["linux", "darwin", "win32"]).optional(),
  arch: z.enum(["x64", "arm64"]).optional(),
  /** Nothing marks it as a stand-in, so that Millrace takes it for a real IDE. */
  unmarked: z.boolean().default(false),
  /** Overrides the profile's build. */
  ideVersion: z.string().optional(),
  /** The account's key, in any known form; a random one when absent. */
  apiKey: z.string().optional(),
  /** No account is signed in: no key in the state database, no account in the server. */
  signedOut: z.boolean().default(false),
  /** How many models the account lists; those beyond the table's are made by rule. */
  models: z.number().int().min(1).max(2_000).optional(),
  /** The open folder; one language server per window. */
  workspace: z.string().default("/home/user/project"),
  /** Demand the metadata fields that the editor fills, not only the key. */
  strictMetadata: z.boolean().default(false),
  /** Whether Cascade answers, refuses with a 403, or is no RPC. Devin's profiles default to `retired`. */
  cascade: z.enum(cascadeLives).optional(),
  /** Devin: the data folder of Windsurf is still there, with an old key in it. */
  upgraded: z.boolean().default(false),
  /** More ports of the server's process that speak another protocol; a client that asks ports in order tries them first. */
  decoys: z.array(z.enum(decoyKinds)).default([]),
  /** Off: the server speaks only Connect over HTTP/1.1. */
  http2: z.boolean().default(true),
  /** RPCs to leave out, on top of those the profile lacks. */
  missing: z.array(z.string()).default([]),
  /** Permutes the field numbers of every message, by this seed; 0 leaves them. The extension's bundle contains the permuted numbers. */
  schemaSeed: z.number().int().min(0).max(0xffff_ffff).default(0),
  /** The plan of turns whose prompt has no directives. */
  turn: turnPlanSchema.default({}),
  /** The account's plan. */
  plan: planOptionsSchema.prefault({}),
  faults: z.array(rpcFaultSchema).default([]),
  /** The `devin` program: how it is installed and behaves. Profiles without one ignore this. */
  agent: agentOptionsSchema.prefault({}),
});

/** The caller's options. */
export type SimulatorOptions = z.input<typeof simulatorOptionsSchema>;
/** The same with every default filled in. */
export type SimulatorConfig = z.output<typeof simulatorOptionsSchema>;

/** Checks options from outside. @throws MillraceError `invalid_request` that names the key at fault. */
export function parseSimulatorOptions(value: unknown): SimulatorConfig {
  const parsed = simulatorOptionsSchema.safeParse(value);
  if (parsed.success) return withDefaultsOfProfile(parsed.data);
  throw new MillraceError("invalid_request", `The simulator's options are wrong: ${z.prettifyError(parsed.error)}`, {
    hint: "docs/dev/simulator.md says where each option is described.",
  });
}

/** Only Antigravity reports fractions and pools, and only Windsurf credits and percent. Devin has no Cascade. */
function withDefaultsOfProfile(config: SimulatorConfig): SimulatorConfig {
  const { family, devin, isOld } = profiles[config.profile];
  const cascade = config.cascade ?? (devin === undefined ? "on" : "retired");
  const shapes = family === "antigravity" ? ["fractions", "pools"] : ["credits", "percent"];
  const shape =
    config.plan.shape ?? (family === "antigravity" ? "fractions" : devin === undefined ? "credits" : "percent");
  const allows = config.plan.allows ?? (isOld ? undefined : ("cascade" as const));
  if (shapes.includes(shape)) return { ...config, cascade, plan: { ...config.plan, shape, allows } };
  throw new MillraceError("invalid_request", `${config.profile} does not report a plan in ${shape}.`, {
    hint: `Take --plan ${shapes.join(" or ")}, or another --profile.`,
  });
}
