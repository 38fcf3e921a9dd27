import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** A file of the built dashboard, held in memory. */
export interface DashboardFile {
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer>;
  /** The hashes of what it holds between `<script>` or `<style>` tags, as its content security policy names them. */
  readonly inline: { readonly script: readonly string[]; readonly style: readonly string[] };
  /** Its name has a digest of its content: it never changes. */
  readonly isNamedByContent: boolean;
}

/** Files by path; the page itself is `/`. */
export type DashboardFiles = ReadonlyMap<string, DashboardFile>;

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Reads the built dashboard (some 100 KB); undefined where it has not been built. */
export function readDashboard(folder: string): DashboardFiles | undefined {
  const files = new Map<string, DashboardFile>();
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
      const type = types[entry.name.split(".").at(-1) ?? ""];
      if (!entry.isFile() || type === undefined) continue;
      const file = join(entry.parentPath, entry.name);
      const path = `/${relative(folder, file).split(sep).join("/")}`;
      const body = new Uint8Array(readFileSync(file));
      const inline = { script: hashesOf(body, type, "script"), style: hashesOf(body, type, "style") };
      const isNamedByContent = path.startsWith("/assets/");
      files.set(path === "/index.html" ? "/" : path, { type, body, inline, isNamedByContent });
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined; // Node's own code for it
    throw error;
  }
  return files.has("/") ? files : undefined;
}

/** Hashes of the page's contents between these tags. Source: CSP 3, "hash-source". */
function hashesOf(body: Uint8Array, type: string, tag: "script" | "style"): readonly string[] {
  if (type !== types["html"]) return [];
  const found = new TextDecoder().decode(body).matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, "gs"));
  return Array.from(found, ([, text = ""]) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`);
}
