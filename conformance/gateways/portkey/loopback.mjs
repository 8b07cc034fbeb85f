// Preloaded by `node --import`: this gateway has no option for the host and would listen everywhere.

import { Server } from "node:net";

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, { port, host: "127.0.0.1" }, ...rest.filter((one) => typeof one === "function"));
};
