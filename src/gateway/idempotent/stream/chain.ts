import { createHash } from "node:crypto";
import type { Digest } from "../../dialects/idempotent/encode.ts";

/** SHA-256 over the digest before and the chunk's bytes. Source: docs/stream-protocol.md, "Events". */
export const chainDigest: Digest = (before, chunk) => createHash("sha256").update(before).update(chunk).digest();
