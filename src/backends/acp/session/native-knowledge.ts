import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseJson, writeJson } from "../../../base/json.ts";
import { replaceFile } from "../../../base/node/replace-file.ts";

/**
 * How a client's tools reach an agent. `auto`: as its own, unless this version did not take them before; `native`: every new conversation
 * tries that again; `prose`: never. An agent that does not ask for them gets prose in any case.
 */
export const toolWays = ["auto", "native", "prose"] as const;
export type ToolWay = (typeof toolWays)[number];

/**
 * Which versions of an agent take the tools of a session, as it was seen here. In a file, because to find out costs a session and a
 * wait. What was never seen is tried.
 */
export class NativeKnowledge {
  readonly #file: string;
  readonly #way: ToolWay;
  /** Versions that did not ask for the tools in time: a slow start looks the same, so the next gateway tries again. */
  readonly #unlisted = new Set<string>();
  /** Versions that did not list tools again that had changed. */
  readonly #unchanged = new Set<string>();
  #seen: ReadonlyMap<string, boolean> | undefined;

  constructor(folder: string, way: ToolWay) {
    this.#file = join(folder, "native-tools.json");
    this.#way = way;
  }

  /** Whether to offer tools to this version. */
  mayOffer(version: string): boolean {
    if (this.#way !== "auto") return this.#way === "native";
    return this.#known().get(version) !== false && !this.#unlisted.has(version);
  }

  /** Whether to change the tools of a session of this version. */
  mayChange(version: string): boolean {
    return !this.#unchanged.has(version);
  }

  /** It did not list tools again that had changed. */
  noteUnchanged(version: string): void {
    this.#unchanged.add(version);
  }

  /** It did not ask for the tools of a session. */
  noteUnlisted(version: string): void {
    this.#unlisted.add(version);
  }

  /** Whether this version takes tools, for later gateways too. */
  async note(version: string, takesTools: boolean): Promise<void> {
    if (this.#known().get(version) === takesTools) return;
    this.#seen = new Map([...this.#known(), [version, takesTools]]);
    await replaceFile(this.#file, `${writeJson(Object.fromEntries(this.#seen))}\n`, { mode: 0o600 });
  }

  #known(): ReadonlyMap<string, boolean> {
    this.#seen ??= new Map(Object.entries(readObject(this.#file)).map(([version, takes]) => [version, takes === true]));
    return this.#seen;
  }
}

function readObject(file: string): object {
  try {
    const value: unknown = parseJson(readFileSync(file, "utf8"));
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {}; // none yet, or one that a later release wrote
  }
}
