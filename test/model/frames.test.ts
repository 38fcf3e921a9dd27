import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { encodeEnvelope, transformSplitEnvelope } from "@connectrpc/connect/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { StreamUnifiedChatResponseWithToolsIdempotentSchema as ResponseSchema } from "../../src/proto/aiserver/v1/chat_pb.ts";

const mostBytes = 1 << 20;
const message = fc.record({
  text: fc.string({ unit: "grapheme", maxLength: 30 }),
  eventId: fc.stringMatching(/^[a-c][1-9]\d{0,2}$/),
});

/** A message with a field that no version of ours knows. */
function encoded({ text, eventId }: { readonly text: string; readonly eventId: string }): Uint8Array {
  const value = { eventId, response: { case: "streamUnifiedChatResponse", value: { text } } } as const;
  const bytes = toBinary(ResponseSchema, create(ResponseSchema, { response: { case: "serverChunk", value } }));
  return Buffer.concat([bytes, Buffer.from("8a9d0603616263", "hex")]); // field 13,201, three bytes
}

test("messages come out of a Connect stream as they went in, however its bytes are cut, with fields of later versions (P1, P3)", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { minLength: 1, maxLength: 5 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      async (messages, cuts) => {
        const sent = messages.map(encoded);
        const bytes = Buffer.concat(sent.map((data) => encodeEnvelope(0, data)));
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        async function* pieces() {
          for (const [i, from] of places.slice(0, -1).entries()) yield bytes.subarray(from, places[i + 1]);
        }
        const received: Uint8Array[] = [];
        for await (const { data } of transformSplitEnvelope(mostBytes)(pieces())) received.push(data);
        expect(received.map((data) => Buffer.from(data))).toEqual(sent);
        for (const [i, data] of received.entries()) {
          const read = fromBinary(ResponseSchema, data);
          expect(Buffer.from(toBinary(ResponseSchema, read))).toEqual(sent[i]);
          expect(read.response).toMatchObject({ case: "serverChunk", value: { eventId: messages[i]?.eventId } });
        }
      },
    ),
  );
});
