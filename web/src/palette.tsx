import { useEffect, useRef, useState } from "preact/hooks";
import { ranges } from "./address.ts";

interface Entry {
  readonly name: string;
  readonly run: () => void;
}

const to = (address: string) => () => {
  location.hash = address;
};

const entries: readonly Entry[] = [
  { name: "Overview", run: to("#/") },
  ...ranges.map(([since, name]) => ({ name: `Overview: ${name}`, run: to(`#/?since=${since}`) })),
  ...["model", "client", "project", "key", "day"].map((by) => ({ name: `Spent by ${by}`, run: to(`#/?by=${by}`) })),
  { name: "Failed turns", run: to("#/?status=failed") },
  { name: "Models", run: to("#/models") },
  { name: "Keys", run: to("#/keys") },
  { name: "Print the week", run: () => print() },
];

/** All that can be done, by name: Ctrl-K or Cmd-K opens it. What is none of it is searched for in the turns. */
export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState("");
  const [place, setPlace] = useState(0);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setText("");
      setPlace(0);
      if (dialog.current?.open === true) return dialog.current.close();
      setOpen(true);
      dialog.current?.showModal();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  useEffect(() => {
    if (isOpen) dialog.current?.querySelector("input")?.focus();
  }, [isOpen]);
  const wanted = text.trim().toLowerCase();
  const search = { name: `Search turns for “${text.trim()}”`, run: to(`#/?search=${encodeURIComponent(text.trim())}`) };
  const found = entries.filter(({ name }) => name.toLowerCase().includes(wanted));
  const shown = wanted === "" ? found : [...found, search];
  const here = Math.min(place, shown.length - 1);
  const use = (entry: Entry | undefined) => {
    dialog.current?.close();
    entry?.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") use(shown[here]);
    const next = { ArrowDown: here + 1, ArrowUp: here - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setPlace((next + shown.length) % shown.length);
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Commands" onClose={() => setOpen(false)}>
      {isOpen && (
        <>
          <input
            type="text"
            role="combobox"
            aria-label="Command"
            aria-expanded="true"
            aria-controls="commands"
            aria-activedescendant={`command-${here}`}
            placeholder="Go to, or search…"
            value={text}
            onInput={({ currentTarget }) => {
              setText(currentTarget.value);
              setPlace(0);
            }}
            onKeyDown={onKeyDown}
          />
          <div id="commands" role="listbox" aria-label="Commands">
            {shown.map((entry, at) => (
              <div
                key={entry.name}
                id={`command-${at}`}
                role="option"
                aria-selected={at === here}
                onPointerMove={() => setPlace(at)}
                onClick={() => use(entry)}
              >
                {entry.name}
              </div>
            ))}
          </div>
        </>
      )}
    </dialog>
  );
}
