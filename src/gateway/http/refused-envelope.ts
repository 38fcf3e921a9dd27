import { z } from "zod";

/* The JSON of refused requests and blocked models in `GET /health`: for the routes, the page and `millrace status`. */

const instant = z.iso.datetime();

/** Requests for an answer that became no turn, by client and error; and the models that a limit blocks. A part of `GET /health`. */
export const refusedSchema = z.object({
  requests: z.number(),
  by: z.array(
    z.object({
      client: z.string(),
      code: z.string(),
      requests: z.number(),
      /** Of the newest one. */
      message: z.string(),
      hint: z.string(),
      model: z.string().nullable(),
      first_at: instant,
      last_at: instant,
      /** When such a request is welcome again, as far as is known. */
      until: instant.nullable(),
    }),
  ),
});

export const blockedSchema = z.array(
  z.object({ model: z.string(), model_name: z.string(), code: z.string(), since: instant, until: instant }),
);

export type RefusedEnvelope = z.infer<typeof refusedSchema>;
export type BlockedEnvelope = z.infer<typeof blockedSchema>;
