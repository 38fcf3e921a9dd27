import { z } from "zod";

const codes = [
  "canceled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
] as const;

/** One fault of the calls of one RPC, independent of the turn. Exactly one effect beside `rpc`, `skip` and `times`. */
export const rpcFaultSchema = z
  .strictObject({
    /** The RPC's name, or `*` for all. */
    rpc: z.string().min(1),
    /** Let this many calls pass first. */
    skip: z.number().int().min(0).optional(),
    /** Then fail this many; without it, all. */
    times: z.number().int().positive().optional(),
    /** Answer with an error, before the handler runs, without trailers of its own (gRPC: trailers-only). */
    error: z.strictObject({ code: z.enum(codes), message: z.string() }).optional(),
    /** The same after the handler ran: its effect is there, its answer is lost. */
    errorAfter: z.strictObject({ code: z.enum(codes), message: z.string() }).optional(),
    /** Answer as if the path did not exist. */
    missing: z.literal(true).optional(),
    /** Wait before the handler runs. */
    delayMs: z.number().min(0).optional(),
    /** Never answer. */
    hang: z.literal(true).optional(),
    /** Destroy the connection after this many bytes of the answer's body. */
    dropAfterBytes: z.number().int().min(0).optional(),
    /** Answer as if the CSRF token were wrong. */
    csrf: z.literal(true).optional(),
    /** Answer a plain HTTP error, as a proxy would. */
    httpStatus: z.number().int().min(400).max(599).optional(),
    /** Answer in the form of the protocol, with a payload that no schema decodes. */
    garbled: z.literal(true).optional(),
  })
  .refine((fault) => effects.filter((effect) => fault[effect] !== undefined).length === 1, {
    message: "give exactly one of error, errorAfter, missing, delayMs, hang, dropAfterBytes, csrf, httpStatus, garbled",
  });

const effects = [
  "error",
  "errorAfter",
  "missing",
  "delayMs",
  "hang",
  "dropAfterBytes",
  "csrf",
  "httpStatus",
  "garbled",
] as const;

export type RpcFault = z.infer<typeof rpcFaultSchema>;

/** The faults in force, and how often each has been met. */
export class RpcFaults {
  #rules: { readonly fault: RpcFault; met: number }[] = [];

  replace(faults: readonly RpcFault[]): void {
    this.#rules = faults.map((fault) => ({ fault, met: 0 }));
  }

  /** Counts a call and gives every fault that hits it; a fault used up stays quiet. */
  hit(rpc: string): readonly RpcFault[] {
    const hits: RpcFault[] = [];
    for (const rule of this.#rules) {
      if (rule.fault.rpc !== "*" && rule.fault.rpc !== rpc) continue;
      rule.met++;
      const turn = rule.met - (rule.fault.skip ?? 0);
      if (turn >= 1 && turn <= (rule.fault.times ?? Infinity)) hits.push(rule.fault);
    }
    return hits;
  }
}
