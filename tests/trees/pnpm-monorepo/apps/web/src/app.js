"use strict";
exports.title = () => "Shop";
