import { render } from "preact";
import { App } from "./app.tsx";
import { applyTheme, themeNow } from "./theme.ts";

applyTheme(themeNow());
const root = document.querySelector("#app");
if (root !== null) render(<App />, root);
