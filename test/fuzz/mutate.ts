import type { Target } from "./target.ts";
import { textOf, utf8 } from "./target.ts";

const longest = 1 << 16;
const numbers = [0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x22, 0x5b, 0x7b];
const values: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => -1,
  () => 1e308,
  () => "",
  () => "\u0000\ud800 \u202e",
  () => "x".repeat(5_000),
  () => [],
  () => ({}),
  () => nested(150),
  () => Array.from({ length: 500 }, () => 0),
  () => JSON.parse('{"__proto__":{"polluted":1},"constructor":1,"toString":null}') as unknown,
];

function nested(levels: number): unknown {
  let value: unknown = 0;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
}

/** An input a few changes away from one that is known; `other` lends pieces. */
export function mutate(target: Target, input: Uint8Array, other: Uint8Array, random: () => number): Uint8Array {
  if (target.form === "json" && random() < 0.7) {
    const changed = changeValue(input, other, random);
    if (changed !== undefined) return changed;
  }
  let bytes: Buffer = Buffer.from(input);
  for (let left = 1 + Math.floor(random() * 4); left > 0; left--)
    bytes = change(bytes, other, target.words ?? [], random);
  return bytes.subarray(0, longest);
}

function change(bytes: Buffer, other: Uint8Array, words: readonly string[], random: () => number): Buffer {
  const at = Math.floor(random() * (bytes.length + 1));
  const length = 1 + Math.floor(random() ** 3 * Math.max(1, bytes.length / 2));
  const insert = (piece: Uint8Array, instead = 0) =>
    Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at + instead)]);
  switch (Math.floor(random() * 7)) {
    case 0:
      return insert(Buffer.of(Math.floor(random() * 256)), 1);
    case 1:
      return insert(Buffer.of(numbers[Math.floor(random() * numbers.length)] ?? 0), random() < 0.5 ? 1 : 0);
    case 2:
      return insert(Buffer.alloc(0), length);
    case 3:
      return insert(bytes.subarray(at, at + length)); // once more
    case 4: {
      const from = Math.floor(random() * other.length);
      return insert(other.subarray(from, from + length), random() < 0.5 ? length : 0);
    }
    case 5:
      return insert(utf8(words[Math.floor(random() * words.length)] ?? "\ufffd"));
    default:
      return insert(Buffer.alloc(Math.min(length * 64, 4_096), bytes[at] ?? 0x28)); // one byte, many times
  }
}

/** Replaces one value inside JSON, by a strange one or by one from elsewhere; nothing where the input is no JSON object. */
function changeValue(input: Uint8Array, other: Uint8Array, random: () => number): Uint8Array | undefined {
  try {
    const root = JSON.parse(textOf(input)) as unknown;
    const places = placesIn(root);
    const place = places[Math.floor(random() * places.length)];
    if (place === undefined) return undefined;
    const lent = random() < 0.3 ? placesIn(JSON.parse(textOf(other))) : [];
    const from = lent[Math.floor(random() * lent.length)];
    const value = from === undefined ? values[Math.floor(random() * values.length)]?.() : from.holder[from.key];
    if (random() < 0.1) delete place.holder[place.key];
    else place.holder[place.key] = value;
    return utf8(JSON.stringify(root)).subarray(0, longest);
  } catch {
    return undefined;
  }
}

interface Place {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

function placesIn(value: unknown, levels = 20): readonly Place[] {
  if (typeof value !== "object" || value === null || levels === 0) return [];
  const holder = value as Record<string, unknown>; // an array is one as well
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key], levels - 1)]);
}
