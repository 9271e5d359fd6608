const test = require("node:test");
const assert = require("node:assert");
test("totals", () => assert.equal(require("../src/price.js").total([1, 2]), 3));
