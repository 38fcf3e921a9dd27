import theme from "vitepress/theme";
// oxlint-disable-next-line import/no-unassigned-import -- VitePress takes a style sheet by an import
import "./pages.css";

export default theme;
