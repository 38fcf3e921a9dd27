/** Why a working store may lose acknowledged writes. In words, for its owner. */
export const storeWeaknesses = {
  replica_behind:
    "A replica of the Redis server does not keep up. After a failover to it the last answers can be missing, and a repeated request is then sent to the IDE again.",
  replica_gone:
    "A replica that followed the Redis server follows it no more. After a failover to it the last answers can be missing, and a repeated request is then sent to the IDE again.",
  not_persistent:
    "The Redis server does not write each change to its disk (`appendonly` is off). When it ends, answers can be lost, and a repeated request is then sent to the IDE again.",
} as const;

export type StoreWeakness = keyof typeof storeWeaknesses;

/** The remedy for each, for the owner of the store. */
export const storeRemedies: Readonly<Record<StoreWeakness, string>> = {
  replica_behind: "Look at the replica and the network to it: `INFO replication` shows how far behind it is.",
  replica_gone: "Start the replica again.",
  not_persistent: "Set `appendonly yes` in the server's configuration.",
};
