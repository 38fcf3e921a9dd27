import { clone, type DescEnum, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { type ReflectList, type ReflectMap, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import type { Interceptor } from "@connectrpc/connect";

/** The numbers of an enum's values, here and in a build. */
export interface EnumNumbers {
  readonly isIdentity: boolean;
  readonly moved: readonly { readonly name: string; readonly ours: number; readonly theirs: number }[];
  toTheirs(number: number): number;
  toOurs(number: number): number;
}

/** Where values go whose number means something else on the other side. */
const strangers = 1_000_000_000;

/** Matches two versions of an enum by the names of their values. */
export function enumNumbers(ours: DescEnum, theirs: ReadonlyMap<string, number>): EnumNumbers {
  const theirValues = new Set(theirs.values());
  const ourNumbers = new Map(ours.values.map((value) => [value.name, value.number]));
  const out = new Map<number, number>();
  const moved: { name: string; ours: number; theirs: number }[] = [];
  for (const { name, number } of ours.values) {
    const other = theirs.get(name);
    if (other === undefined) {
      if (theirValues.has(number)) out.set(number, strangers + number); // there it is another value
    } else {
      out.set(number, other);
      if (other !== number) moved.push({ name, ours: number, theirs: other });
    }
  }
  const back = new Map<number, number>();
  for (const [name, number] of theirs) {
    const own = ourNumbers.get(name);
    if (own !== undefined) back.set(number, own);
    else if (ours.value[number] !== undefined) back.set(number, strangers + number); // here it is another value
  }
  return {
    isIdentity: [...out, ...back].every(([from, to]) => from === to),
    moved,
    toTheirs: (number) => out.get(number) ?? number,
    toOurs: (number) => back.get(number) ?? number,
  };
}

/** Translates the values of moved enums in every message of every call: ours to the build's and back. */
export function translateEnums(numbers: ReadonlyMap<string, EnumNumbers>): Interceptor {
  const toTheirs = (type: DescEnum, number: number) => numbers.get(type.typeName)?.toTheirs(number) ?? number;
  const toOurs = (type: DescEnum, number: number) => numbers.get(type.typeName)?.toOurs(number) ?? number;
  return (next) => async (request) => {
    if (!request.stream) {
      const response = await next({ ...request, message: translated(request.method.input, request.message, toTheirs) });
      return response.stream
        ? response
        : { ...response, message: translated(response.method.output, response.message, toOurs) };
    }
    const response = await next({ ...request, message: each(request.method.input, request.message, toTheirs) });
    return response.stream
      ? { ...response, message: each(response.method.output, response.message, toOurs) }
      : response;
  };
}

type Translate = (type: DescEnum, number: number) => number;

async function* each(
  desc: DescMessage,
  messages: AsyncIterable<Message>,
  translate: Translate,
): AsyncGenerator<Message> {
  for await (const message of messages) yield translated(desc, message, translate);
}

/** A copy, because the caller keeps its message. */
function translated(desc: DescMessage, message: Message, translate: Translate): Message {
  const copy = clone(desc, message);
  translateInPlace(desc, copy, translate);
  return copy;
}

function translateInPlace(desc: DescMessage, message: Message, translate: Translate): void {
  if (desc.typeName.startsWith("google.protobuf.")) return;
  const reflected = reflect(desc, message, false);
  for (const field of desc.fields) {
    if (!reflected.isSet(field)) continue;
    switch (field.fieldKind) {
      case "enum":
        reflected.set(field, translate(field.enum, reflected.get(field)));
        break;
      case "message":
        translateInPlace(field.message, reflected.get(field).message, translate);
        break;
      case "list":
        translateList(field, reflected.get(field), translate);
        break;
      case "map":
        translateMap(field, reflected.get(field), translate);
        break;
      case "scalar":
        break;
      default:
        field satisfies never;
    }
  }
}

function translateList(field: DescField & { fieldKind: "list" }, list: ReflectList, translate: Translate): void {
  [...list].forEach((item, i) => {
    if (field.listKind === "enum") list.set(i, translate(field.enum, Number(item)));
    else if (field.listKind === "message") translateInPlace(field.message, (item as ReflectMessage).message, translate);
  });
}

function translateMap(field: DescField & { fieldKind: "map" }, map: ReflectMap, translate: Translate): void {
  for (const [key, value] of map.entries()) {
    if (field.mapKind === "enum") map.set(key, translate(field.enum, Number(value)));
    else if (field.mapKind === "message") translateInPlace(field.message, (value as ReflectMessage).message, translate);
  }
}
