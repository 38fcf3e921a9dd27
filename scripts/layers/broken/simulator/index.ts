export { deep as simulate } from "./deep.ts";
