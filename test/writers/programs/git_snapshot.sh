#!/bin/bash
# Commits the settings of each experiment to a repository, and writes a log that is named after the commit.
set -euo pipefail
git -c init.defaultBranch=main init -q .
date +%s%N >settings.txt
git add settings.txt
git -c user.name=trainer -c user.email=trainer@localhost commit -q -m "Run an experiment"
python3 "$(dirname "$0")/one_step.py" >"$(git rev-parse --short HEAD).log"
