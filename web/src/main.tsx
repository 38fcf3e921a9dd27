import { render } from "preact";
import { App } from "./app.tsx";
import { applyTheme, themeNow } from "./theme.ts";

applyTheme(themeNow());
const root = document.querySelector("#app");
if (root !== null) {
  root.replaceChildren(); // the frame of the first paint: Preact would keep what it does not draw itself
  render(<App />, root);
}
