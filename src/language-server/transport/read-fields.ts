import type { DescMessage } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { ImageDataSchema } from "../../proto/windsurf/exa/codeium_common_pb.ts";

/** Fields of fewer bytes are joined and decoded in no time. */
const largeField = 65_536;

/**
 * A message in pieces as they came, in one piece from that byte on, without the large fields that nobody reads: those that its type does
 * not have, and images. Each poll brings a prompt's images back until its answer begins, and 20 MB of them took 0.3 s. Throws for what is
 * no such message.
 */
export function joinedForReading(chunks: readonly Uint8Array[], from: number, type: DescMessage): Uint8Array {
  const source = new Source(chunks);
  source.take(from);
  return Buffer.concat(read(source, source.end, type));
}

function read(source: Source, end: number, type: DescMessage): Uint8Array[] {
  const parts: Uint8Array[] = [];
  while (source.at < end) {
    const [tag, start] = source.varint();
    const wire: WireType = tag % 8;
    if (wire === WireType.Varint) parts.push(start, source.varint()[1]);
    else if (wire === WireType.Bit64) parts.push(start, ...source.take(8));
    else if (wire === WireType.Bit32) parts.push(start, ...source.take(4));
    else if (wire !== WireType.LengthDelimited) throw new TypeError(`no field has the wire type ${wire}`);
    else {
      const [length, size] = source.varint();
      const field = type.fields.find(({ number }) => number === Math.floor(tag / 8));
      if (length >= largeField && (field === undefined || field.message?.typeName === ImageDataSchema.typeName)) {
        source.take(length);
      } else if (length >= largeField && field?.message !== undefined && field.fieldKind !== "map") {
        const inner = read(source, source.at + length, field.message);
        const left = inner.reduce((sum, part) => sum + part.length, 0);
        parts.push(start, new BinaryWriter().uint32(left).finish(), ...inner);
      } else parts.push(start, size, ...source.take(length));
    }
  }
  return parts;
}

/** Bytes that are read once, from the first to the last. */
class Source {
  readonly #chunks: readonly Uint8Array[];
  readonly end: number;
  at = 0;
  #chunk = 0;
  #from = 0;

  constructor(chunks: readonly Uint8Array[]) {
    this.#chunks = chunks;
    this.end = chunks.reduce((sum, { length }) => sum + length, 0);
  }

  /** So many bytes, not copied. */
  take(length: number): Uint8Array[] {
    const taken: Uint8Array[] = [];
    for (let left = length; left > 0; ) {
      const chunk = this.#chunks[this.#chunk];
      if (chunk === undefined) throw new TypeError("the message is not whole");
      const part = chunk.subarray(this.#from, this.#from + left);
      taken.push(part);
      left -= part.length;
      this.at += part.length;
      this.#from += part.length;
      if (this.#from < chunk.length) continue;
      this.#chunk++;
      this.#from = 0;
    }
    return taken;
  }

  varint(): readonly [value: number, bytes: Uint8Array] {
    const bytes: number[] = [];
    let value = 0;
    for (;;) {
      const byte = this.take(1)[0]?.[0] ?? 0;
      value += (byte % 128) * 128 ** bytes.length;
      bytes.push(byte);
      if (byte < 128) return [value, Uint8Array.from(bytes)];
    }
  }
}
