import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { parseCursor } from "../../../src/gateway/answers/wire-cursor.ts";
import { parseMessagesRequest } from "../../../src/gateway/dialects/anthropic-messages/request.ts";
import { parseChat } from "../../../src/gateway/dialects/idempotent/request.ts";
import { parseChatRequest } from "../../../src/gateway/dialects/openai-chat/request.ts";
import { parseResponsesRequest } from "../../../src/gateway/dialects/openai-responses/request.ts";
import { Bodies } from "../../../src/gateway/http/body.ts";
import { say } from "../../../src/gateway/streams/raw-client.fake.ts";
import { unreadable } from "../../../src/gateway/streams/rpc/refuse-call.ts";
import { StreamUnifiedChatRequestWithToolsIdempotentSchema as ClientMessageSchema } from "../../../src/proto/aiserver/v1/chat_pb.ts";
import { type Target, textOf, utf8 } from "../target.ts";

const recorded = join(import.meta.dirname, "../../corpus/requests");
const largest = 1 << 20;

/** Bodies of real clients that were sent to this path. */
function bodiesOf(path: string): readonly Uint8Array[] {
  return readdirSync(recorded).flatMap((file) => {
    const requests = JSON.parse(readFileSync(join(recorded, file), "utf8")) as readonly {
      path: string;
      body?: unknown;
    }[];
    return requests
      .filter((each) => each.path.startsWith(path) && each.body !== undefined)
      .map(({ body }) => utf8(JSON.stringify(body)));
  });
}

function bodies(path: string, parse: (json: unknown) => unknown): Target {
  return {
    name: `body of ${path}`,
    form: "json",
    seeds: () => bodiesOf(path),
    async run(input) {
      await new Bodies(largest).read(Readable.from([Buffer.from(input)]), parse);
    },
  };
}

/** As the RPC server reads it. */
function messageOf(input: Uint8Array) {
  try {
    return fromBinary(ClientMessageSchema, input);
  } catch (cause) {
    throw unreadable(cause);
  }
}

export const requestTargets: readonly Target[] = [
  bodies("/v1/chat/completions", parseChatRequest),
  bodies("/v1/responses", (json) => parseResponsesRequest(json, [])),
  bodies("/v1/messages", parseMessagesRequest),
  {
    name: "message of the stream protocol",
    form: "bytes",
    seeds: () =>
      [say.request("hello", 0, { model: "m", tools: ["bash"] }), say.result("call", "result", 1)].map((message) =>
        toBinary(ClientMessageSchema, create(ClientMessageSchema, message)),
      ),
    run(input) {
      const { request } = messageOf(input);
      if (request.case === "clientChunk" && request.value.request.case === "streamUnifiedChatRequest")
        parseChat(request.value.request.value);
    },
  },
  {
    name: "Last-Event-ID",
    form: "text",
    seeds: () => ["trn_01m82kt08iexv3hyx7yk98ywqd:a1.a1:0", "x:0:1"].map(utf8),
    run: (input) => parseCursor(textOf(input)),
  },
];
