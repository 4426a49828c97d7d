// Loaded into the API under test: tells its parent how long the event loop was held at most, as processor time of this
// thread, so that what other processes do on the machine does not count.
const spent = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};
let last = spent();
let most = 0;
setInterval(() => {
  const now = spent();
  most = Math.max(most, now - last);
  last = now;
}, 1).unref();
process.on('message', () => {
  process.send({ mostMs: most });
  most = 0;
});
process.channel.unref();
