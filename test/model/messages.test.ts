import {
  create,
  type DescField,
  type DescMessage,
  equals,
  fromBinary,
  type Message,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { file_aiserver_v1_chat as file } from "../../src/proto/aiserver/v1/chat_pb.ts";

/** Values of the scalars that the protocol has, their zeros and extremes among them. */
const scalars: Partial<Record<ScalarType, fc.Arbitrary<unknown>>> = {
  [ScalarType.STRING]: fc.string({ unit: "grapheme", maxLength: 12 }),
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.BYTES]: fc.uint8Array({ maxLength: 12 }),
  [ScalarType.DOUBLE]: fc.double({ noNaN: true }),
  [ScalarType.INT64]: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  [ScalarType.UINT64]: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  [ScalarType.UINT32]: fc.nat({ max: 0xffff_ffff }),
  [ScalarType.INT32]: fc.integer(),
};

function scalar(type: ScalarType): fc.Arbitrary<unknown> {
  const values = scalars[type];
  if (values === undefined) throw new Error(`scalar ${type} has no values here`);
  return values;
}

/** A field's value; messages inside messages end at some depth. */
function valueOf(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const one = (): fc.Arbitrary<unknown> => {
    if (field.fieldKind === "map") return fc.constant({});
    if (field.message !== undefined) return messageOf(field.message, depth - 1);
    if (field.enum !== undefined) return fc.constantFrom(...field.enum.values.map(({ number }) => number));
    return scalar(field.scalar ?? ScalarType.STRING);
  };
  if (field.fieldKind === "map") return fc.dictionary(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }));
  return field.fieldKind === "list" ? fc.array(one(), { maxLength: 2 }) : one();
}

/** Any message of this type. */
function messageOf(schema: DescMessage, depth = 4): fc.Arbitrary<Message> {
  const fields = schema.fields.filter(({ message }) => message === undefined || depth > 0);
  const entries = fc.subarray(fields, { maxLength: Math.min(6, fields.length) }).chain((chosen) => {
    const oneOfEach = chosen.filter((field, at) => chosen.findIndex((other) => isSameOneof(field, other)) === at);
    return fc.tuple(...oneOfEach.map((field) => valueOf(field, depth).map((value) => [field, value] as const)));
  });
  return entries.map((chosen) => {
    const init: Record<string, unknown> = {};
    for (const [field, value] of chosen) {
      if (field.oneof === undefined) init[field.localName] = value;
      else init[field.oneof.localName] = { case: field.localName, value };
    }
    return create(schema, init as Parameters<typeof create>[1]); // every name and value is its field's
  });
}

function isSameOneof(one: DescField, other: DescField): boolean {
  return one === other || (one.oneof !== undefined && one.oneof === other.oneof);
}

/** Fields of a later version: a number, some bytes, a text, each under a number that no message here has. */
const ofTheFuture = Buffer.from("c8be0201caff0303616263d1ff030102030405060708", "hex");

const messages = file.messages.flatMap((schema) => [schema, ...schema.nestedMessages]);

test.each(messages.map((schema) => [schema.name, schema] as const))(
  "%s reads as it was written, and keeps fields of later versions (P1)",
  (_name, schema) => {
    expect(schema.fields.some(({ number }) => number === 5_097 || number === 8_185 || number === 8_186)).toBe(false);
    fc.assert(
      fc.property(messageOf(schema), (message) => {
        const bytes = toBinary(schema, message);
        expect(equals(schema, fromBinary(schema, bytes), message)).toBe(true);
        const later = Buffer.concat([ofTheFuture, bytes]);
        const read = fromBinary(schema, later);
        for (const field of schema.fields)
          expect(reflect(schema, read).isSet(field)).toBe(reflect(schema, message).isSet(field));
        const again = Buffer.from(toBinary(schema, read));
        expect(again.includes(ofTheFuture)).toBe(true);
        expect(equals(schema, fromBinary(schema, again), read)).toBe(true);
      }),
      { numRuns: 40 },
    );
  },
);
