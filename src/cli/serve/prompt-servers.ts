import { awaitedReason, type ServerSource } from "../../backends/current-server.ts";
import { isWithoutIde, MillraceError } from "../../base/errors.ts";
import { ideName } from "../../base/ide-name.ts";
import type { AgentProgram, DiscoveryResult, Ide, IdeFinder } from "../../ide/ide.ts";
import { upstreamReason } from "../../language-server/errors/errors.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import { agentInUse, type IdeInUse, type IdeMemory, ideInUse, mayFollow, type ProgramsInUse } from "./ide-in-use.ts";
import { choosePrompted, foundByItself, lookedAt, nameWithKind, promptable } from "./servers.ts";

/** The servers for prompts, and which IDE they belong to; which of the vendor's agent programs is asked. */
export interface PromptServers extends ServerSource {
  ideOf(server: LanguageServer): Ide | undefined;
  /** Why prompts to a server or to an agent wait while the program in use is away; undefined where none does. */
  awaited(result: DiscoveryResult): MillraceError | undefined;
  /** The agent program for prompts; undefined where nothing says which. Throws while the program in use is awaited. */
  findAgent(
    signal: AbortSignal,
  ): Promise<{ readonly result: DiscoveryResult; readonly program: AgentProgram | undefined }>;
  /** A prompt goes to this agent program. */
  noteAgent(program: AgentProgram): void;
}

/**
 * The server for prompts: the first IDE of the discovery that may be prompted and is signed in. If the found one cannot be used any
 * more, the search is repeated once. A row of docs/dev/turn-machine.md. The IDE that got a prompt is the IDE in use: the next prompts go there too,
 * also after its restart and the gateway's. While it is away or signed out they wait; they go to another one only where that has the same
 * account, or where the user names it. The same holds for the vendor's agent programs; where only one of the two kinds was asked, the
 * other kind may take over for its own product.
 */
export function promptServers(
  finder: Pick<IdeFinder, "find" | "connect" | "invalidate">,
  memory?: IdeMemory,
): PromptServers {
  const ideOf = new WeakMap<LanguageServer, Ide>();
  let found: Ide | undefined;
  let used: ProgramsInUse = memory?.read() ?? {};
  let lastId: string | undefined;

  const note = (more: ProgramsInUse) => {
    used = { ...used, ...more };
    memory?.write(used);
  };

  /** The IDE in use as it runs now, or another one of its account. */
  const successor = (candidates: readonly Ide[], { place, account }: IdeInUse) =>
    candidates.find(({ id }) => id === lastId) ??
    candidates.find((ide) => ideInUse(ide).place === place) ??
    candidates.find((ide) => account !== "" && ideInUse(ide).account === account);

  const nextAgent = (result: DiscoveryResult) => {
    const { agent } = used;
    return agent && result.agents.find((program) => mayFollow(agent, program));
  };

  /** Whether the agent in use is installed. An update takes its program away for a moment. */
  const isInstalled = ({ agents }: DiscoveryResult) => agents.some(({ variant }) => variant === used.agent?.variant);

  /** The program in use is away, or signed out; `other` would be asked in its place. */
  const away = (result: DiscoveryResult, isAgents: boolean, other: Ide | AgentProgram | undefined) => {
    const { ide, agent } = used;
    const isThere = isAgents
      ? isInstalled(result)
      : ide !== undefined && successor(promptable(result), ide) !== undefined;
    const product = (isAgents ? agent?.product : ide?.product) ?? "";
    const subject = isAgents ? `${product}, whose agent` : `${ide && nameWithKind(ide)}, which`;
    const state = isThere ? "is signed out" : isAgents ? "cannot be started" : "does not run";
    const [there, use] = other === undefined ? ["", ""] : ofOther(other);
    return new MillraceError(
      isThere ? "not_signed_in" : "ide_not_running",
      `${subject} prompts went to, ${state} now.${there}`,
      {
        hint: `${isThere ? `Sign in to ${product}` : `Start ${product}`} again.${use}`,
        details: { ...lookedAt(result), reason: awaitedReason },
      },
    );
  };

  const awaitedIde = (result: DiscoveryResult): MillraceError | undefined => {
    const { ide, agent } = used;
    const signedIn = promptable(result).filter((one) => one.signedIn);
    const [other] = signedIn;
    if (other === undefined) return undefined;
    if (ide !== undefined) return successor(signedIn, ide) === undefined ? away(result, false, other) : undefined;
    if (agent === undefined || nextAgent(result) !== undefined) return undefined;
    return signedIn.some(({ variant }) => variant === agent.variant) ? undefined : away(result, true, other);
  };

  const awaitedAgent = (result: DiscoveryResult): MillraceError | undefined => {
    const { ide, agent } = used;
    const signedIn = result.agents.filter((program) => program.signedIn !== "no");
    const [other] = signedIn;
    if (nextAgent(result) !== undefined) return undefined;
    if (agent !== undefined && (other !== undefined || !isInstalled(result))) return away(result, true, other);
    if (other === undefined || ide === undefined || signedIn.some(({ variant }) => variant === ide.variant))
      return undefined;
    const runs = promptable(result).filter((one) => one.signedIn);
    return successor(runs, ide) === undefined ? away(result, false, other) : undefined;
  };

  const choose = (result: DiscoveryResult): Ide => {
    const signedIn = promptable(result).filter((ide) => ide.signedIn);
    const missing = awaitedIde(result) ?? (signedIn.length === 0 ? awaitedAgent(result) : undefined);
    if (missing !== undefined) throw missing;
    const { ide, agent } = used;
    const next = ide === undefined ? signedIn.find(({ id }) => id === found?.id) : successor(signedIn, ide);
    return next ?? signedIn.find(({ variant }) => variant === agent?.variant) ?? choosePrompted(result);
  };

  /** A result without the IDE in use may be old: it is looked for again. */
  const look = async (signal: AbortSignal): Promise<Ide> => {
    const result = await finder.find(signal);
    if (awaitedIde(result) === undefined) return choose(result);
    finder.invalidate();
    return choose(await finder.find(signal));
  };

  return {
    async find(signal) {
      let ide = await look(signal);
      let server: LanguageServer;
      try {
        server = await finder.connect(ide, signal);
      } catch (error) {
        if (!isWithoutIde(error)) throw error;
        ide = await look(signal); // it is elsewhere by now, or gone; nothing was sent
        server = await finder.connect(ide, signal);
      }
      ideOf.set(server, ide);
      found = ide;
      return server;
    },
    forget(server, error) {
      const ide = ideOf.get(server);
      if (ide !== undefined) finder.invalidate(ide, upstreamReason(error) === "not_the_server" ? "stranger" : "failed");
    },
    buildOf: (server) => ideOf.get(server)?.build,
    /** Asked for each prompt: its IDE is the one in use from then on. */
    ideOf(server) {
      const ide = ideOf.get(server);
      if (ide !== undefined && ide.id !== lastId) {
        lastId = ide.id;
        note({ ide: ideInUse(ide) });
      }
      return foundByItself(ide);
    },
    awaited: (result) => awaitedIde(result) ?? awaitedAgent(result),
    async findAgent(signal) {
      let result = await finder.find(signal);
      if (awaitedAgent(result) !== undefined) {
        finder.invalidate();
        result = await finder.find(signal);
      }
      const missing = awaitedAgent(result);
      if (missing !== undefined) throw missing;
      const ofIde = ({ variant, signedIn }: AgentProgram) => signedIn !== "no" && variant === used.ide?.variant;
      return { result, program: nextAgent(result) ?? result.agents.find(ofIde) };
    },
    noteAgent(program) {
      const agent = agentInUse(program);
      if (JSON.stringify(agent) !== JSON.stringify(used.agent)) note({ agent });
    },
  };
}

/** That another program could be asked, and how. */
function ofOther(other: Ide | AgentProgram): readonly [string, string] {
  const kind = "path" in other ? "agent" : "IDE";
  return [
    ` There is another ${kind}, ${nameWithKind(other)}, but with another account.`,
    ` To use the other one: \`millrace restart --ide ${ideName(other.variant)}\`.`,
  ];
}
