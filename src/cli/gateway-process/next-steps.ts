import type { CommandContext } from "../command.ts";

/** Lines of the start-up output that show commands to type next. */
export async function nextSteps({ io, settings }: Pick<CommandContext, "io" | "settings">): Promise<readonly string[]> {
  const [{ installedClients }, { typedCommand }] = await Promise.all([
    import("../clients/installed.ts"),
    import("../clients/millrace-command.ts"),
  ]);
  const millrace = typedCommand(io);
  const open = installedClients({ ...io, ownFolder: settings.folder }).filter(({ isSetUp }) => !isSetUp);
  return [
    `  ask               ${millrace} chat "Hello"`,
    `  look              ${millrace} dashboard`,
    ...open.map(({ client }, at) => `  ${(at === 0 ? "set up" : "").padEnd(18)}${millrace} setup ${client.name}`),
    ...(open.length === 0 ? [`  any client        ${millrace} setup generic`] : []),
  ];
}
