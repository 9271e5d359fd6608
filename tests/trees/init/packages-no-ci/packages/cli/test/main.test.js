import test from "node:test";
import assert from "node:assert";

test("a month", () => assert.equal("March".slice(0, 3), "Mar"));
