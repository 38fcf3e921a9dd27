import { text as readAll } from "node:stream/consumers";
import { MillraceError } from "../base/errors.ts";
import { defineCommand } from "./command.ts";
import { exitCodes } from "./exit-codes.ts";
import { ask, callGateway, type GatewayClient } from "./gateway-client.ts";
import { flag, text } from "./options.ts";
import { withGateway } from "./reach-gateway.ts";
import { gatewayOptions } from "./serve.ts";

export const chatCommand = defineCommand({
  name: "chat",
  summary: "Ask one question and stream the answer",
  description:
    "Uses the running gateway, or one of its own for this question. Without a question on the command line it is read from stdin. Ctrl-C cancels the answer.",
  group: "Use",
  options: {
    model: text("the model, by any of its names", "<name>", {
      short: "m",
      env: "MILLRACE_MODEL",
      defaultText: "the account's default",
    }),
    system: text("a system prompt", "<text>", { short: "s" }),
    thinking: flag("show the model's thinking on stderr"),
    json: flag("print one JSON object at the end"),
    store: gatewayOptions.store,
    redisUrl: gatewayOptions.redisUrl,
    grace: { ...gatewayOptions.grace, initial: 0, defaultText: "0" },
    continuity: { ...gatewayOptions.continuity, initial: "off" as const },
    noImplicitJoin: gatewayOptions.noImplicitJoin,
    ide: gatewayOptions.ide,
    endpoint: gatewayOptions.endpoint,
    tokenFile: gatewayOptions.tokenFile,
    logLevel: { ...gatewayOptions.logLevel, initial: "silent" as const },
  },
  arguments: [{ name: "question", summary: "what to ask", required: false, variadic: true }],
  examples: [
    ['millrace chat "What is a millrace?"', "the account's default model"],
    ["git diff | millrace chat -m claude-opus-4.5 -s 'Review this change.'", "a question from stdin"],
  ],
  async run({ options, args }, context) {
    const { io, out, signal } = context;
    const question = args.length > 0 ? args.join(" ") : await questionFrom(io.stdin);
    return withGateway(options, context, async (gateway) => {
      const model = options.model ?? (await defaultModel(gateway, signal));
      let answer = "";
      let thinking = "";
      let reason = "";
      try {
        for await (const piece of ask(
          gateway,
          { text: question, model, ...(options.system === undefined ? {} : { system: options.system }) },
          signal,
        )) {
          if (piece.type === "end") reason = piece.reason;
          else if (piece.type === "thinking") {
            thinking += piece.delta;
            if (options.thinking && !options.json) io.stderr.write(piece.delta);
          } else {
            if (answer === "" && thinking !== "" && options.thinking && !options.json) io.stderr.write("\n\n");
            answer += piece.delta;
            if (!options.json) out.write(piece.delta);
          }
        }
      } catch (error) {
        if (answer !== "" && !options.json) out.line();
        if (!signal.aborted) throw error;
        out.note("Cancelled.");
        return exitCodes.interrupted;
      }
      if (options.json) out.json({ model, answer, thinking, finish_reason: reason });
      else if (!answer.endsWith("\n")) out.line();
      return exitCodes.ok;
    });
  },
});

async function questionFrom(stdin: Parameters<typeof readAll>[0] & { readonly isTTY?: boolean }): Promise<string> {
  if (stdin.isTTY === true)
    throw new MillraceError("invalid_request", "There is no question.", {
      hint: 'Type it: millrace chat "What is a millrace?"',
    });
  const question = (await readAll(stdin)).trim();
  if (question === "")
    throw new MillraceError("invalid_request", "The question on stdin is empty.", {
      hint: 'Type it: millrace chat "What is a millrace?"',
    });
  return question;
}

/** The model of the list that says it is the default, else the first. */
async function defaultModel(gateway: GatewayClient, signal: AbortSignal): Promise<string> {
  const response = await callGateway(gateway, "/v1/models", { signal });
  const { data } = (await response.json()) as {
    readonly data: readonly { readonly id: string; readonly default?: boolean }[]; // our own gateway's answer
  };
  const found = data.find((model) => model.default === true) ?? data[0];
  if (found !== undefined) return found.id;
  throw new MillraceError("unknown_model", "The account has no model that can be called.");
}
