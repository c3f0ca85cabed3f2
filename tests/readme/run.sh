# Does what README.md says: run.sh SOURCE WORK, in the empty folder WORK with the tree's own folders linked into it.
#
# A code block that opens with a comment naming a file ("/* tour.c", "// f.scaly") is that file. In a block of kind "console", a line
# "$ COMMAND" is run and must print the lines that follow, where "..." stands for anything within a line and a line of "..."
# alone for any number of lines. In a block of kind "console approx" every number stands for any number, and the fastest may be any.
set -u
source=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
for folder in build include tests tools; do ln -s "$source/$folder" $folder; done

failures=0 commands=0
# Numbers and the blanks that align them, made alike.
blur() {
  sed -E 's/[0-9]+([.,][0-9]+)*([eE][-+]?[0-9]+)?/N/g; s/ +/ /g; s/^fastest: .*/fastest: W/'
}
check() { # COMMAND EXPECTED
  commands=$((commands + 1))
  local got pattern
  got=$(bash -c "$1" 2>&1 </dev/null)
  if [ "$kind" = "console approx" ]; then
    got=$(blur <<<"$got")
    set -- "$1" "$(blur <<<"$2")"
  fi
  pattern=$(sed -e 's/[][\.*^$+?(){}|]/\\&/g' -e 's/^\\\.\\\.\\\.$/@any@/' -e 's/\\\.\\\.\\\./[^\n]*/g' <<<"$2")
  pattern=${pattern//@any@/.*}
  if ! [[ $got =~ ^$pattern$ ]]; then
    printf 'FAIL: %s\nprinted:\n%s\nREADME.md says:\n%s\n' "$1" "$got" "$2"
    failures=$((failures + 1))
  fi
}

kind= file= command= expected=
finish_command() {
  [ -n "$command" ] && check "$command" "${expected%$'\n'}"
  command= expected=
}
while IFS= read -r line; do
  case $line in
    '```') # the end of a block
      finish_command
      kind= file=
      ;;
    '```'*)
      kind=${line#'```'} file=first
      ;;
    *)
      [ -n "$kind" ] || continue
      if [[ $kind = console* ]]; then
        if [ "${line#'$ '}" != "$line" ]; then
          finish_command
          command=${line#'$ '}
        else
          expected+=$line$'\n'
        fi
      else
        if [ "$file" = first ]; then
          file=
          [[ $line =~ ^(/\*|//|\#)\ ([a-z_]+\.[a-z]+) ]] && file=${BASH_REMATCH[2]}
          [ -n "$file" ] && : >"$file"
        fi
        [ -n "$file" ] && printf '%s\n' "$line" >>"$file"
      fi
      ;;
  esac
done <"$source/README.md"
[ "$commands" -gt 0 ] || { echo "FAIL: README.md shows no commands"; exit 1; }
[ "$failures" -eq 0 ] || { echo "$failures of $commands commands do not do what README.md says"; exit 1; }
