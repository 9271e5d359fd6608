# Verifies the change with a Slurm job array, from within the repository: bash FILE. The work tree must be on a file system that
# all nodes share, and must not change meanwhile. It ends as `vplan merge` ends; plan, records and what the jobs said are kept below
# .vplan/.
set -euo pipefail

submit() {
  cd "$(git rev-parse --show-toplevel)"
  local program work words count shards verdict waits self code=''
  self=$1
  program=$(type -P vplan) || { echo "vplan is not on the PATH" >&2; exit 5; }
  program=$(realpath "$program")
  mkdir -p .vplan
  [ -e .vplan/.gitignore ] || echo '*' > .vplan/.gitignore
  work=$(mktemp -d .vplan/slurm-XXXXXX)
  "$program" plan<<plan>> -o "$work/plan.json"
  words=$("$program" plan<<contract>> --plan "$work/plan.json" <<division>> --past .vplan -o "$work/division.json" --format json)
  # The words are 1/N to N/N.
  count=${words##*/}
  count=${count%%\"*}
  shards=$(sbatch "${options[@]}" --parsable --job-name=vplan-shard --array="1-$count" --chdir="$PWD" \
    --output="$work/shard-%a.txt" --error="$work/shard-%a.txt" "$self" shard "$program" "$work" "$count")
  shards=${shards%%;*}
  [[ $shards =~ ^[0-9]+$ ]] || { echo "sbatch submitted no array" >&2; exit 5; }
  echo "array $shards: $count shards, in $work" >&2
  trap 'cancel 130' INT
  trap 'cancel 143' TERM
  sbatch "${options[@]}" --parsable --wait --job-name=vplan-verdict --dependency="afterany:$shards" --chdir="$PWD" \
    --output="$work/verdict.txt" --error="$work/verdict.txt" "$self" verdict "$program" "$work" > "$work/verdict.id" &
  waits=$!
  # `sbatch --wait` asks ever more seldom whether the job is over, and the file that the job writes last says when to ask.
  while kill -0 "$waits" 2>/dev/null; do
    if [ -e "$work/verdict.exit" ] && code=$(end_of "$work/verdict.id"); then break; fi
    sleep 0.5
  done
  if [ -n "$code" ]; then
    kill "$waits" 2>/dev/null || true
  else
    code=0
    wait "$waits" || code=$?
  fi
  [ ! -e "$work/verdict.txt" ] || cat "$work/verdict.txt"
  if [ "$code" = 0 ] && [ "$(cat "$work/verdict.exit" 2>/dev/null)" != 0 ]; then
    echo "no job has merged the shards" >&2
    code=44
  fi
  exit "$code"
}

end_of() { # end_of FILE: prints the exit code of the job with the id in the file, if it came to its end
  local id said code
  id=$(cat "$1")
  said=$(scontrol --oneliner show job "${id%%;*}" 2>/dev/null) || return 1
  [[ $said =~ \ JobState=([A-Z_]+)\ .*\ ExitCode=([0-9]+):0\  ]] || return 1
  said=${BASH_REMATCH[1]} code=${BASH_REMATCH[2]}
  [[ $said.$code =~ ^(COMPLETED\.0|FAILED\.[1-9][0-9]*)$ ]] || return 1
  echo "$code"
}

cancel() { # cancel CODE: ends the jobs, and this script with the code
  trap '' INT TERM
  scancel "$shards" || true
  verdict=$(cat "$work/verdict.id" 2>/dev/null || true)
  verdict=${verdict%%;*}
  [ -z "$verdict" ] || scancel "$verdict" || true
  exit "$1"
}

shard() { # shard PROGRAM WORK COUNT
  exec "$1" run<<contract>> --plan "$2/plan.json" --division "$2/division.json" --shard "$SLURM_ARRAY_TASK_ID/$3" \
    --records "$2/$SLURM_ARRAY_TASK_ID"
}

verdict() { # verdict PROGRAM WORK
  local code=0
  "$1" merge "$2" --expect "$2/plan.json" --division "$2/division.json" --junit "$2/vplan.xml"<<verdict>> || code=$?
  echo "$code" > "$2/verdict.exit"
  exit "$code"
}

# Words for sbatch.
options=(<<args>>)

case ${1:-submit} in
  submit) submit "$(realpath "$0")" ;;
  shard) shard "${@:2}" ;;
  verdict) verdict "${@:2}" ;;
  *) echo "usage: bash $0" >&2; exit 2 ;;
esac
