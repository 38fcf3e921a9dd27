import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../../../src/base/json.ts";
import type { Recorded } from "../recorder.ts";
import { shapeOf } from "../shape.ts";
import type { SessionReport } from "./drive.ts";

/**
 * Writes the forms of a session's requests down, for its client and version: each field name, item kind and block type once, and no texts.
 * `src/gateway/recorded-sessions.test.ts` compares them with what the dialects know.
 */
export function recordSession(folder: string, { client, requests }: SessionReport, version: string): void {
  const seen = new Set<string>();
  const kept = requests.filter(isBody).flatMap((request) => {
    const { path, body } = shapeOf(request) as { readonly path: string; readonly body: unknown };
    const short = withoutTools(body);
    const before = seen.size;
    for (const sign of signsIn(short)) seen.add(sign);
    return seen.size === before ? [] : [{ path: path.replace(/\?.*/, ""), body: short }];
  });
  if (kept.length === 0) return;
  mkdirSync(folder, { recursive: true });
  const file = `${client.name} ${client.surface}`.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const recording = { client: client.name, version, requests: kept };
  writeFileSync(join(folder, `${file}.json`), `${JSON.stringify(recording, null, 1)}\n`);
}

function isBody({ method, body }: Recorded): boolean {
  return method === "POST" && body !== "";
}

/** A tool's own schema says nothing of the API. */
function withoutTools(body: unknown): unknown {
  if (!isObject(body) || !Array.isArray(body["tools"])) return body;
  const tools = new Map<string, unknown>();
  for (const tool of body["tools"]) {
    const short = JSON.parse(JSON.stringify(tool), (key, value: unknown) =>
      ["parameters", "input_schema"].includes(key) ? { type: "object" } : value,
    ) as unknown;
    tools.set(signsIn(short).join(), short);
  }
  return { ...body, tools: [...tools.values()] };
}

/** Each place in a value with the type of what stands there, and the names of kinds (`type`, `role`). */
function signsIn(value: unknown, place = ""): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => signsIn(item, `${place}[${kindOf(item)}]`));
  if (!isObject(value)) return [`${place}: ${value === null ? "null" : typeof value}`];
  return Object.entries(value).flatMap(([key, member]) => signsIn(member, `${place}.${key}`));
}

function kindOf(item: unknown): string {
  if (!isObject(item)) return "";
  return [item["type"], item["role"]].filter((kind) => typeof kind === "string").join(" ");
}
