import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/** What the dashboard may weigh, and the client library: all files packed with gzip, and what the page loads at first as it is, because a gateway sends that. */
const most = 120_000;

export interface DashboardSize {
  /** Bytes of all files, each packed with gzip. */
  readonly packed: number;
  /** Bytes of the page and of what it names itself. */
  readonly first: number;
}

export function dashboardSize(folder: string): DashboardSize {
  const page = readFileSync(join(folder, "index.html"), "utf8");
  const files = filesIn(folder);
  const first = files.filter(({ name }) => name === "index.html" || page.includes(`/${name.replaceAll("\\", "/")}"`));
  return { packed: packed(files), first: first.reduce((sum, { bytes }) => sum + bytes.length, 0) };
}

type File = ReturnType<typeof filesIn>[number];
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.\w+$/.test(name))
    .map((name) => ({ name, bytes: readFileSync(join(folder, name)) }));
const packed = (files: readonly File[]) => files.reduce((sum, { bytes }) => sum + gzipSync(bytes).length, 0);

/** @throws Error for a client library that is too large for a page: what it may weigh with gzip. */
export function checkClientSize(folder: string): void {
  const size = packed(filesIn(folder));
  console.log(`client library: ${size} bytes with gzip (${most} at most)`);
  if (size > most) throw new Error("The client library is too large. Leave parts of it out.");
}

/** @throws Error for a dashboard that is too large. */
export function checkDashboardSize(folder: string): void {
  const { packed: all, first } = dashboardSize(folder);
  console.log(`dashboard: ${first} bytes at first, ${all} bytes in all with gzip (${most} at most, each)`);
  if (all > most || first > most)
    throw new Error("The dashboard is too large. Load parts of it later, or leave them out.");
}
