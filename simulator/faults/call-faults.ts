import { z } from "zod";

/** The name of the faulty call, or `*` for all. */
export const calledName = z.string().min(1);

const counted = {
  /** Let this many calls pass first. */
  skip: z.number().int().min(0).optional(),
  /** Then fail this many; without it, all. */
  times: z.number().int().positive().optional(),
};

/** One thing that goes wrong with the calls of one name. It has exactly one of the effects. */
export function faultSchema<Name extends z.ZodRawShape, Effects extends z.ZodRawShape>(name: Name, effects: Effects) {
  const keys = Object.keys(effects);
  const has = (fault: object, key: string) => (fault as Readonly<Record<string, unknown>>)[key] !== undefined;
  return z
    .strictObject({ ...name, ...counted, ...effects })
    .refine((fault) => keys.filter((key) => has(fault, key)).length === 1, {
      message: `give exactly one of ${keys.join(", ")}`,
    });
}

interface CountedFault {
  readonly skip?: number | undefined;
  readonly times?: number | undefined;
}

/** The faults in force, and how often each has been met. */
export class CallFaults<Fault extends CountedFault> {
  readonly #nameOf: (fault: Fault) => string;
  #rules: { readonly fault: Fault; met: number }[] = [];

  constructor(nameOf: (fault: Fault) => string) {
    this.#nameOf = nameOf;
  }

  replace(faults: readonly Fault[]): void {
    this.#rules = faults.map((fault) => ({ fault, met: 0 }));
  }

  /** Counts a call and gives every fault that hits it; a fault used up stays quiet. */
  hit(call: string): readonly Fault[] {
    const hits: Fault[] = [];
    for (const rule of this.#rules) {
      const name = this.#nameOf(rule.fault);
      if (name !== "*" && name !== call) continue;
      rule.met++;
      const turn = rule.met - (rule.fault.skip ?? 0);
      if (turn >= 1 && turn <= (rule.fault.times ?? Infinity)) hits.push(rule.fault);
    }
    return hits;
  }
}
