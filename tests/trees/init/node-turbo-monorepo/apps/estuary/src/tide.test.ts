import { expect, test } from "vitest";
import { tide } from "./tide";
test("tide", () => expect(tide(13)).toBe(1));
