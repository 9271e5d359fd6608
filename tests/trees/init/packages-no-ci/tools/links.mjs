import { existsSync } from "node:fs";

if (!existsSync("node_modules")) console.warn("npm ci first");
