import { existsSync } from "node:fs";
import { join } from "node:path";
import { applyChanges, planChanges } from "../../../src/cli/clients/applied.ts";
import { continueDev } from "../../../src/cli/clients/editors.ts";
import { type Bench, prompts, type Ran } from "../bench.ts";
import type { ClientCase } from "./case.ts";

/** The command-line programs of agents that people mostly use inside an editor: the same agent, without its window. */

type Options = Parameters<Bench["run"]>[2];

/** Continue with what `millrace setup continue` writes. */
export function continueRun(prompt: string, args: readonly string[] = []) {
  return (bench: Bench, until?: Promise<unknown>): Promise<Ran> => {
    const own = join(bench.home, ".millrace");
    const changes = planChanges(
      own,
      continueDev.name,
      continueDev.edits?.(bench.target, bench.setupKey, bench.place) ?? [],
    );
    applyChanges(own, continueDev.name, changes);
    const folder = join(bench.home, ".continue");
    const env = { CONTINUE_TELEMETRY_ENABLED: "0" };
    return bench.run(bench.bin("cn"), ["--auto", "--config", join(folder, "config.yaml"), ...args, "-p", prompt], {
      env,
      ...(until === undefined ? {} : { until }),
    });
  };
}

/** Cline's agent takes a list of commands, so the stand-in model is told what to call. */
const clineCalls = [1, 2, 3].map((n) => `call run_commands {"commands":["echo millrace-${n}"]}`);
const clineLoop = `[[agent\n${clineCalls[0]}\n${clineCalls[1]}\n---\n${clineCalls[2]}\n---\nsay The tools said: {results}\n]] Look around.`;

/** Cline with the values that `millrace setup cline` prints. Nobody else is on this machine, so the key may be an argument. */
export function clineRun(prompt: (bench: Bench) => string) {
  return async (bench: Bench, until?: Promise<unknown>): Promise<Ran> => {
    const cline = (args: readonly string[], more: Options = {}) =>
      bench.run(bench.bin("cline"), args, { env: { CLINE_TELEMETRY_DISABLED: "1" }, ...more });
    const { url, model } = bench.target;
    if (!existsSync(join(bench.home, ".cline"))) {
      const told = await cline(["auth", "-p", "openai-compatible", "-k", bench.key, "-m", model, "-b", `${url}/v1`]);
      if (told.code !== 0) return told;
    }
    return cline([prompt(bench)], until === undefined ? {} : { until });
  };
}

/** Drives a scenario and interrupts it as soon as the model answers. */
function interrupted(drive: (bench: Bench, until: Promise<unknown>) => Promise<Ran>) {
  return (bench: Bench) => drive(bench, bench.answering());
}

export const editorCases: readonly ClientCase[] = [
  {
    name: "Continue",
    packageName: "@continuedev/cli",
    surface: "chat completions",
    drive: {
      plain: continueRun(prompts.plain),
      tools: continueRun(prompts.tools),
      json: "has no structured output",
      image: "takes pictures in its window only",
      cancel: interrupted(continueRun(prompts.cancel)),
      error: continueRun(prompts.error),
    },
    ask: (bench, prompt) => continueRun(prompt)(bench),
  },
  {
    name: "Cline",
    packageName: "cline",
    surface: "chat completions",
    drive: {
      plain: clineRun(() => prompts.plain),
      tools: clineRun(() => clineLoop),
      json: "has no structured output",
      image: clineRun((bench) => `${prompts.image} @${join(bench.work, "picture.png")}`),
      cancel: interrupted(clineRun(() => prompts.cancel)),
      error: clineRun(() => prompts.error),
    },
    ask: (bench, prompt) => clineRun(() => prompt)(bench),
  },
];
