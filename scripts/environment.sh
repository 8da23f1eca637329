# To be sourced. make_environment FOLDER REQUIREMENTS...: a virtual environment with what these files list, made with
# ENVIRONMENT_PYTHON (default: that of .venv). Does nothing, quickly, when they are what they were.
make_environment() {
  local folder=$1 want arguments=() file
  shift
  want=$(cat "$@" | sha256sum)
  [ -x "$folder/bin/python" ] && [ "$(cat "$folder/setup-stamp" 2>/dev/null)" = "$want" ] && return
  printf '\033[1m==>\033[0m %s\n' "Making $folder (a large download the first time)"
  [ -x "$folder/bin/python" ] || "${ENVIRONMENT_PYTHON:-.venv/bin/python}" -m venv "$folder"
  for file in "$@"; do arguments+=(-r "$file"); done
  "$folder/bin/python" -m pip install --disable-pip-version-check "${arguments[@]}" || return
  printf '%s' "$want" > "$folder/setup-stamp"
}

# python_tag PYTHON: cp311, cp313t.
python_tag() {
  "$1" -c 'import sys, sysconfig
print("cp%d%d%s" % (*sys.version_info[:2], "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""))'
}
