import { isMillraceError } from "../../base/errors.ts";
import type { CommandContext } from "../command.ts";
import { ask, spell } from "../gateway-process/gateway-client.ts";
import { withGateway } from "../gateway-process/reach-gateway.ts";
import type { GatewayCommandOptions } from "../serve/gateway-options.ts";
import type { Finding } from "./finding.ts";

/** Asks one short question end to end. The only thing the doctor does that costs: done when asked for, once. */
export async function sendQuestion(
  options: GatewayCommandOptions & { readonly model: string },
  context: CommandContext,
): Promise<Finding> {
  const { io, signal } = context;
  const startedAt = io.clock.monotonic();
  try {
    return await withGateway(options, context, async (gateway) => {
      let answer = "";
      for await (const piece of ask(
        gateway,
        { text: "Answer with the one word: ready", model: options.model },
        signal,
      )) {
        if (piece.type === "text") answer += piece.delta;
      }
      const took = spell(io.clock.monotonic() - startedAt);
      if (answer === "")
        return {
          area: "answer",
          level: "error",
          what: `${options.model} gave an empty answer after ${took}`,
          todo: "Try another model with --model.",
        };
      return { area: "answer", level: "ok", what: `${options.model} answered in ${took}` };
    });
  } catch (error) {
    if (signal.aborted || !isMillraceError(error)) throw error;
    return { area: "answer", level: "error", what: `A question was not answered: ${error.message}`, todo: error.hint };
  }
}
