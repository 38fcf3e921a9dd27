import type { BudgetPeriod, SharedUsage, UsageNote } from "./shared-usage.ts";

/** Shared usage in memory: what gateways of one test tell each other. Each call of the answer is one more gateway's connection. */
export function memoryUsage(): () => SharedUsage {
  const notes: UsageNote[] = [];
  const held = new Map<string, Set<string>>();
  const heldIn = ({ keyId, sinceMs }: BudgetPeriod) => {
    const name = `${keyId}:${sinceMs}`;
    const turns = held.get(name) ?? new Set<string>();
    held.set(name, turns);
    return turns;
  };
  return () => ({
    async add(more) {
      notes.push(...structuredClone(more));
    },
    async after(cursor, limit) {
      const from = Number(cursor);
      const found = notes.slice(from, from + limit);
      return { notes: structuredClone(found), cursor: String(from + found.length) };
    },
    async hold(period, turnId, most) {
      const turns = heldIn(period);
      if (turns.has(turnId)) return true;
      if (turns.size >= most) return false;
      turns.add(turnId);
      return true;
    },
    async withdraw(period, turnId) {
      heldIn(period).delete(turnId);
    },
    async held(period) {
      return heldIn(period).size;
    },
    async close() {},
  });
}
