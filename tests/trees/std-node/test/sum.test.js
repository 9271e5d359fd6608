"use strict";
const assert = require("node:assert");
const { sum } = require("../src/sum.js");
assert.strictEqual(process.env.CI, "1", "nobody watches");
assert.strictEqual(sum(2, 2), 4);
