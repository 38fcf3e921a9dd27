import type { Simulator, SimulatorOptions } from "../../simulator/index.ts";
import { opening } from "../../src/backends/acp/session/prompt-blocks.ts";
import { temporaryHome } from "../support/home.ts";
import { gateway, openai, simulator } from "../support/world.ts";

export const model = "swe-2:high";
/** The language server of an older build lists this one too. */
export const olderModel = "gemini-3-flash";
export const ask = (content: string, asked = model) => ({
  model: asked,
  messages: [{ role: "user" as const, content }],
});

/** A machine with the stand-in for Devin, and a gateway on it. */
export async function machine(options: SimulatorOptions, args: readonly string[] = []) {
  const home = temporaryHome();
  const ide = await simulator({ ...options, home });
  const served = await gateway({ home, args });
  return { home, ide, served, client: openai(served) };
}

/** The texts of the prompts that its agents took, behind the block of ours that each begins with. */
export const prompted = (ide: Simulator) => ide.prompts().map(({ text }) => text.slice(`${opening}\n\n`.length));
