-- Script for wrk: sends GET for a path of a file, chosen at random, and prints the result as one line of JSON.
--   wrk -s requests.lua URL -- FILE SEED
local paths = {}
local next_seed = 0

function setup(thread)
  next_seed = next_seed + 1
  thread:set("number", next_seed)
end

function init(args)
  for line in io.lines(args[1]) do
    paths[#paths + 1] = line
  end
  math.randomseed(tonumber(args[2]) * 1000 + number)
end

function request()
  return wrk.format("GET", paths[math.random(#paths)])
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '{"requests":%d,"micros":%d,"failed":%d,"p50":%d,"p99":%d}\n',
    summary.requests, summary.duration, failed, latency:percentile(50), latency:percentile(99)))
end
