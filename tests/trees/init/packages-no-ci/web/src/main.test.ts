import { expect, test } from "vitest";

test("true", () => expect(true).toBe(true));
