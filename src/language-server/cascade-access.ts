import type { UserStatus } from "../proto/windsurf/exa/codeium_common_pb.ts";

/**
 * Whether the account's plan keeps it out of Cascade. It says so where it allows the CLI and not Cascade. A plan that allows neither
 * says nothing: published answers of accounts with Cascade name an organisation there and no ability.
 *
 * Source: docs/dev/wire/account.md, "Plan and credits".
 */
export function isCascadeDenied({ planStatus }: UserStatus): boolean {
  const info = planStatus?.planInfo?.devinInfo;
  return info !== undefined && info.canUseCli && !info.canUseCascade;
}
