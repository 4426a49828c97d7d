// Loaded into a service under test. Sends the longest turn of the event loop to the parent process, as processor time of
// this thread, so that the load of other processes is not counted.
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
