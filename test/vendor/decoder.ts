import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { UserStatusSchema } from "../../src/proto/windsurf/exa/codeium_common_pb.ts";

/** How a field is written, and whether the vendor's program knows its number. */
export type WireKind = "varint" | "fixed64" | "fixed32" | "string" | "bytes" | "message" | "unknown";

export interface DecoderReport {
  /** Fields that the program and our schema know, each as `Message.field`. */
  readonly agreed: readonly string[];
  /** Fields of ours that the program does not know: newer than it. */
  readonly newer: readonly string[];
  /** What contradicts our schema. */
  readonly differences: readonly string[];
  /** Whether the program reads the row that the stand-in wrote. */
  readonly readsStandIn: boolean;
  /** Whether it refuses a row that says the name of the account is a message. */
  readonly refusesWrong: boolean;
}

const key = "windsurfAuthStatus";
/** `plan_status.plan_info.teams_tier` of an enterprise: the program says so and stops, if it can decode the whole message. */
const enterprise = within([13, 1], new BinaryWriter().tag(1, WireType.Varint).uint32(3).finish());
const decoded = "Detected that you are on an enterprise";
const notDecoded = "Unable to reach Devin servers";
/** A list takes this much more memory than one value that is written as often; KB. */
const listKb = 3_000;

/** The vendor's program as an oracle of one bit: it reads `state.vscdb` before any network, and says whether that decodes. */
class Decoder {
  readonly #program: string;
  readonly #home = mkdtempSync(join(tmpdir(), "millrace-decoder-"));
  readonly #database: DatabaseSync;
  readonly #unknown = new Map<number, number>();

  constructor(program: string) {
    this.#program = program;
    const path = join(this.#home, ".config", "Windsurf", "User", "globalStorage", "state.vscdb");
    mkdirSync(dirname(path), { recursive: true });
    this.#database = new DatabaseSync(path);
    this.#database.exec("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
    this.#database.exec("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)");
  }

  decodes(status: Uint8Array, row: object = { apiKey: "k" }): boolean {
    const { stdout } = this.#run(status, row, this.#program);
    if (stdout.includes(decoded)) return true;
    if (stdout.includes(notDecoded)) return false;
    throw new Error(`The vendor's program says something else: ${stdout}`);
  }

  /** The program's largest memory in KB while it decodes this. */
  peakKb(status: Uint8Array): number {
    const { stdout, stderr } = this.#run(status, { apiKey: "k" }, "/usr/bin/time", "-f", "peak %M", this.#program);
    const peak = /peak (\d+)/.exec(stderr)?.[1];
    if (!stdout.includes(decoded) || peak === undefined) throw new Error(`This was not decoded: ${stdout}${stderr}`);
    return Number(peak);
  }

  /** The same for this many bytes of a field that the program does not know; measured once for each size. */
  peakOfUnknownKb(bytes: number): number {
    const known = this.#unknown.get(bytes);
    if (known !== undefined) return known;
    const peak = this.peakKb(
      new BinaryWriter().tag(3_000, WireType.LengthDelimited).bytes(new Uint8Array(bytes)).finish(),
    );
    this.#unknown.set(bytes, peak);
    return peak;
  }

  close(): void {
    this.#database.close();
    rmSync(this.#home, { recursive: true, force: true });
  }

  #run(status: Uint8Array, row: object, ...command: readonly [string, ...string[]]) {
    const userStatus = Buffer.concat([status, enterprise]).toString("base64");
    const value = JSON.stringify({ ...row, userStatusProtoBinaryBase64: userStatus });
    this.#database.prepare("INSERT INTO ItemTable (key, value) VALUES (?, ?)").run(key, value);
    const [program, ...args] = command;
    const env = { HOME: this.#home, PATH: "/nonexistent", NO_COLOR: "1" };
    const { stdout, stderr } = spawnSync(program, [...args, "https://github.com/acme/demo/pull/1"], {
      cwd: this.#home,
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 30_000,
    });
    const said = stderr ?? "";
    return { stdout: `${stdout ?? ""}${said}`, stderr: said };
  }
}

type Path = readonly number[];

function within(path: Path, bytes: Uint8Array): Uint8Array {
  return path.reduceRight(
    (inner, number) => new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(inner).finish(),
    bytes,
  );
}

const raw = (number: number, type: WireType, bytes: readonly number[]) =>
  new BinaryWriter().tag(number, type).raw(Uint8Array.from(bytes)).finish();
const text = (number: number, bytes: readonly number[]) =>
  raw(number, WireType.LengthDelimited, [bytes.length, ...bytes]);
/** An empty group: an unknown field is skipped, a known one refuses it. */
const group = (number: number) =>
  Buffer.concat([raw(number, WireType.StartGroup, []), raw(number, WireType.EndGroup, [])]);

/** What the program takes for a field of this number. */
function kindOf(decoder: Decoder, path: Path, number: number): { readonly kind: WireKind; readonly packed: boolean } {
  const takes = (bytes: Uint8Array) => decoder.decodes(within(path, bytes));
  if (takes(group(number))) return { kind: "unknown", packed: false };
  const packed = takes(text(number, []));
  if (takes(raw(number, WireType.Varint, [1]))) return { kind: "varint", packed };
  if (takes(raw(number, WireType.Bit64, Array<number>(8).fill(0)))) return { kind: "fixed64", packed };
  if (takes(raw(number, WireType.Bit32, Array<number>(4).fill(0)))) return { kind: "fixed32", packed };
  if (!takes(text(number, [0x07]))) return { kind: "message", packed: false };
  return { kind: takes(text(number, [0xff])) ? "bytes" : "string", packed: false };
}

function ourKind(field: DescField): { readonly kind: WireKind; readonly packed: boolean } {
  if (field.fieldKind === "map" || field.message !== undefined) return { kind: "message", packed: false };
  const kind = field.enum !== undefined ? "varint" : (scalarKinds.get(field.scalar ?? ScalarType.INT32) ?? "varint");
  return { kind, packed: field.fieldKind === "list" && kind !== "string" && kind !== "bytes" };
}

const scalarKinds: ReadonlyMap<ScalarType, WireKind> = new Map<ScalarType, WireKind>([
  [ScalarType.STRING, "string"],
  [ScalarType.BYTES, "bytes"],
  [ScalarType.DOUBLE, "fixed64"],
  [ScalarType.FIXED64, "fixed64"],
  [ScalarType.SFIXED64, "fixed64"],
  [ScalarType.FLOAT, "fixed32"],
  [ScalarType.FIXED32, "fixed32"],
  [ScalarType.SFIXED32, "fixed32"],
]);

/** One value, a list or a map, by the memory that many values take. */
function cardinality(decoder: Decoder, path: Path, { number }: DescField, kind: WireKind): "singular" | "list" | "map" {
  const unit = text(number, []);
  const many = (bytes: Uint8Array, times: number) => Buffer.concat(Array<Uint8Array>(times).fill(bytes));
  const grows = (kind === "message" ? [40_000, 500_000] : [500_000]).some((times) => {
    const idle = decoder.peakOfUnknownKb(unit.length * times);
    return decoder.peakKb(within(path, many(unit, times))) - idle > listKb;
  });
  if (grows) return "list";
  if (kind !== "message") return "singular";
  for (const keyOf of [
    (i: number) => text(1, [...Buffer.from(String(i).padStart(7, "0"))]),
    (i: number) =>
      new BinaryWriter()
        .tag(1, WireType.Varint)
        .uint32(1_000_000 + i)
        .finish(),
  ]) {
    const entry = (i: number) => within([number], keyOf(i));
    if (!decoder.decodes(within(path, entry(1)))) continue;
    const unlike = Buffer.concat(Array.from({ length: 100_000 }, (_, i) => entry(i)));
    if (decoder.peakKb(within(path, unlike)) - decoder.peakKb(within(path, many(entry(1), 100_000))) > listKb)
      return "map";
  }
  return "singular";
}

function compare(decoder: Decoder): Pick<DecoderReport, "agreed" | "newer" | "differences"> {
  const agreed: string[] = [];
  const newer: string[] = [];
  const differences: string[] = [];
  const seen = new Set<string>();

  function visit(message: DescMessage, path: Path): void {
    if (seen.has(message.typeName) || message.typeName.startsWith("google.")) return;
    seen.add(message.typeName);
    for (const field of message.fields) {
      const name = `${message.name}.${field.name}`;
      const theirs = kindOf(decoder, path, field.number);
      const ours = ourKind(field);
      if (theirs.kind === "unknown") newer.push(name);
      else if (theirs.kind !== ours.kind || theirs.packed !== ours.packed)
        differences.push(
          `${name} is ${theirs.packed ? "packed " : ""}${theirs.kind}, not ${ours.packed ? "packed " : ""}${ours.kind}`,
        );
      else if (theirs.kind === "string" || theirs.kind === "message") {
        const want = field.fieldKind === "list" || field.fieldKind === "map" ? field.fieldKind : "singular";
        const got = cardinality(decoder, path, field, theirs.kind);
        if (got === want) agreed.push(name);
        else differences.push(`${name} is a ${got}, not a ${want}`);
      } else agreed.push(name);
      if (theirs.kind !== "message") continue;
      if (field.fieldKind === "map" && field.message !== undefined) visit(field.message, [...path, field.number, 2]);
      else if (field.message !== undefined) visit(field.message, [...path, field.number]);
    }
  }

  visit(UserStatusSchema, []);
  return { agreed, newer, differences };
}

/** The row that the stand-in wrote: the text of it, if it is text, and the status in it. */
function rowOf(path: string): { readonly row: object; readonly status: Uint8Array } | undefined {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const found = database.prepare("SELECT value, typeof(value) AS type FROM ItemTable WHERE key = ?").get(key);
    if (found?.["type"] !== "text") return undefined;
    const row = JSON.parse(String(found["value"])) as { readonly userStatusProtoBinaryBase64: string };
    return { row, status: Buffer.from(row.userStatusProtoBinaryBase64, "base64") };
  } finally {
    database.close();
  }
}

const [program = "", standIn = ""] = process.argv.slice(2);
const decoder = new Decoder(program);
try {
  const row = rowOf(standIn);
  const report: DecoderReport = {
    ...compare(decoder),
    readsStandIn: row !== undefined && decoder.decodes(row.status, row.row),
    refusesWrong: !decoder.decodes(raw(3, WireType.Varint, [1])),
  };
  process.stdout.write(JSON.stringify(report));
} finally {
  decoder.close();
}
