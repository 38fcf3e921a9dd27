import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";

const gatewayFileSchema = z.object({
  url: z.url(),
  pid: z.number().int().positive(),
  /** Random, made at each start: a gateway that answers with another one is not the one that wrote the file. */
  instance: z.string(),
  version: z.string(),
  startedAtMs: z.number(),
});

/** Where a running gateway is, as it wrote it down for other commands of the same user. */
export type GatewayAddress = z.output<typeof gatewayFileSchema>;

/** Writes the file atomically (0600) and answers a function that removes it again, if it is still this gateway's. */
export function writeGatewayFile(file: string, address: GatewayAddress): () => void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, `${JSON.stringify(address, null, 2)}\n`, { mode: 0o600, flag: "wx" });
  renameSync(draft, file);
  return () => {
    if (readGatewayFile(file)?.instance === address.instance) rmSync(file, { force: true });
  };
}

/** What the file says; undefined without one, or if it is not one that Millrace wrote. */
export function readGatewayFile(file: string): GatewayAddress | undefined {
  try {
    const parsed = gatewayFileSchema.safeParse(JSON.parse(readFileSync(file, "utf8")));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined; // no file, or half of one from a machine that lost power: the same as none
  }
}
