import { text as readAll } from "node:stream/consumers";
import { MillraceError } from "../../base/errors.ts";
import { defineCommand } from "../command.ts";
import { callGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
import { withGateway } from "../gateway-process/reach-gateway.ts";
import { flag, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { showAnswer } from "./chat-answer.ts";
import { chatStreamOptions, openChatRecords, pickLeftover, readNote, startChat } from "./chat-streams.ts";
import { ownGatewayOptions } from "./serve.ts";

export const chatCommand = defineCommand({
  ...outlines.chat,
  description:
    "Uses the running gateway, or one of its own for this question. Without a question on the command line it is read from stdin. Ctrl-C cancels the answer. An answer survives the gateway, the connection and this command: it goes on when the gateway is back, and with --resume in another run.",
  options: {
    model: text("the model, by any of its names", "<name>", {
      short: "m",
      env: "MILLRACE_MODEL",
      defaultText: "the account's default",
    }),
    system: text("a system prompt", "<text>", { short: "s" }),
    thinking: flag("show the model's thinking on stderr"),
    json: flag("print one JSON object at the end"),
    resume: flag("go on with an answer that was cut off; the argument is its id where there are several"),
    noRecord: flag("keep no record on disk: what is cut off cannot be resumed", { env: "MILLRACE_NO_RECORD" }),
    ...ownGatewayOptions,
    continuity: { ...ownGatewayOptions.continuity, initial: "off" as const },
    logLevel: { ...ownGatewayOptions.logLevel, initial: "silent" as const },
  },
  examples: [
    ['millrace chat "What is a millrace?"', "the account's default model"],
    ["git diff | millrace chat -m claude-opus-4.5 -s 'Review this change.'", "a question from stdin"],
    ["millrace chat --resume", "go on with the answer that was cut off last"],
  ],
  async run({ options, args }, context) {
    const { io, out } = context;
    const words = args.join(" ");
    const question = options.resume || words !== "" ? words : await questionFrom(io.stdin);
    return withGateway(options, context, async (gateway) => {
      const streams = chatStreamOptions(
        gateway,
        await openChatRecords(!options.noRecord, context),
        options.grace,
        context,
      );
      const leave = new AbortController();
      const stream = options.resume
        ? await pickLeftover(question, streams, context, leave.signal)
        : await startChat(
            question,
            await modelFor(gateway, options.model, context.signal),
            options.system,
            streams,
            leave.signal,
          );
      if (stream === undefined) return exitCodes.ok;
      const shown = await showAnswer(stream, leave, options, context);
      if (shown === "cancelled") {
        out.note("Cancelled.");
        return exitCodes.interrupted;
      }
      const { model } = readNote(stream.label);
      const { answer, thinking, reason } = shown;
      if (options.json) out.json({ model, answer, thinking, finish_reason: reason });
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

/** The one that was asked for; else the model of the list that says it is the default, else the first. */
async function modelFor(gateway: GatewayClient, asked: string | undefined, signal: AbortSignal): Promise<string> {
  if (asked !== undefined) return asked;
  const response = await callGateway(gateway, "/v1/models", { signal });
  const { data } = (await response.json()) as {
    readonly data: readonly { readonly id: string; readonly default?: boolean }[]; // our own gateway's answer
  };
  const found = data.find((model) => model.default === true) ?? data[0];
  if (found !== undefined) return found.id;
  throw new MillraceError("unknown_model", "The account has no model that can be called.");
}
