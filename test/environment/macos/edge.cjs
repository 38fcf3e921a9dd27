// Loaded before a program of Node: what it sees of its system is as on a Mac. Its children start as it did, by the `node` beside this file.
const os = require("node:os");
const { syncBuiltinESMExports } = require("node:module");

Object.defineProperty(process, "platform", { value: "darwin" });
process.execPath = `${__dirname}/node`;
os.platform = () => "darwin";
os.type = () => "Darwin";
os.release = () => "25.1.0";
syncBuiltinESMExports();
