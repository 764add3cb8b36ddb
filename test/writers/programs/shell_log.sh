#!/bin/bash
# A job script: a folder for the run, a log by tee, an appended history, a copy of the settings, and the newest run's name.
set -euo pipefail
run=runs/$(date +%Y%m%d)
mkdir -p "$run"
exec 3>>"$run/job.log"
echo "started on $(hostname)" >&3
cp settings.txt "$run/"
env | sort >"$run/environment.txt"
echo "$run" >latest.txt
echo "$(date) $run" >>history.txt
python3 "$(dirname "$0")/one_step.py" 2>&1 | tee -a "$run/train.log"
