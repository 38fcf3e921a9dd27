import { codeFromString } from "@connectrpc/connect/protocol-connect";
import { z } from "zod";
import { calledName, faultSchema } from "./call-faults.ts";

const error = z.strictObject({
  /** As Connect names it: `unavailable`. */
  code: z.string().refine((code) => codeFromString(code) !== undefined, "no code of Connect"),
  message: z.string(),
});

/** One fault of the calls of one RPC, independent of the turn. */
export const rpcFaultSchema = faultSchema(
  { rpc: calledName },
  {
    /** Answer with an error, before the handler runs, without trailers of its own (gRPC: trailers-only). */
    error: error.optional(),
    /** The same after the handler ran: its effect is there, its answer is lost. */
    errorAfter: error.optional(),
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
    /** Answer in the form of the protocol, with a payload that no schema decodes. */
    garbled: z.literal(true).optional(),
  },
);

export type RpcFault = z.infer<typeof rpcFaultSchema>;
