import { test } from "@playwright/test";
test("opens", async ({ page }) => { await page.goto("/"); });
