# shellcheck shell=sh
# Other scripts read this file.

ticker=

# Runs a command and prints what it does, and every 5 s how long it has taken: step 'copying' cp -R a b
step() {
  echo "$1"
  # Without the descriptors of the caller: its lock, and its output, whose end ssh waits for.
  (
    seconds=0
    while sleep 5 >/dev/null 2>&1 9>&-; do
      seconds=$((seconds + 5))
      echo "  $seconds s"
    done
  ) 9>&- &
  ticker=$!
  shift
  result=0
  "$@" || result=$?
  end_step
  return "$result"
}

# For a trap: a step may end the script.
end_step() {
  [ -z "$ticker" ] || kill "$ticker" 2>/dev/null || true
  ticker=
}
