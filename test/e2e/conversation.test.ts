import { expect, test } from "vitest";
import { temporaryHome } from "../support/home.ts";
import { hasTerminals, onTerminal } from "../support/terminal.ts";
import { patience, simulator } from "../support/world.ts";

test.runIf(hasTerminals)(
  "a conversation on a terminal takes a paste as one question, another model, Ctrl-C as a stop, and Ctrl-D as its end",
  async () => {
    const home = temporaryHome();
    const ide = await simulator({ home });
    const terminal = onTerminal(["chat"], { home });
    await terminal.shows(/\/help for commands/);
    terminal.type("\u001b[200~count to 3\rand no further\r\u001b[201~");
    await terminal.shows(/1, 2, 3/);
    await terminal.shows(/millrace tail /);
    terminal.type("/model no-such-model");
    await terminal.shows(/\/model lists the names/);
    terminal.type("/model opus");
    await terminal.shows(/opus[-.:\w]* answers from now on/);
    terminal.type("[[sim: size=800 hold-after=300 thinking=0]] write");
    await ide.until(
      ({ messages }) => messages.length === 2 && messages[0]?.text.includes("and no further") === true,
      patience(),
    );
    await terminal.shows(/write[^>]*\S{5}/);
    terminal.type("\u0003");
    await terminal.shows(/Stopped\./);
    terminal.type("\u0004");
    expect(await terminal.ended).toBe(0);
    expect((await ide.report()).messages).toHaveLength(2);
  },
);
