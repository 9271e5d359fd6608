import { expect, test } from "vitest";
import { waves } from "./waves";
test("waves", () => expect(waves(1)).toBe(2));
