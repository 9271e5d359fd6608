"use strict";
const { total } = require("../../../packages/core/src/price.js");
exports.order = (items) => ({ total: total(items) });
