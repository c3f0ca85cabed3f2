# The command line itself: help on every level, usage errors, exit codes.
echo 'expr.func @f(%x: tensor<3xfloat64>) -> (%y) { return sum(mul(%x, %x)) }' >f.scaly

good --help
out_has '^Usage: scaly COMMAND'
good --version
out_has '^scaly [0-9]+\.[0-9]+\.[0-9]+$'
for command in run export compare show verify toolchain; do
  good "$command" --help
  out_has "^Usage: scaly $command"
  out_has '^      --help '
done

scaly
gives 2
err_has '^Usage: scaly COMMAND'
bad 2 'no command "walk"' walk
bad 2 'scaly run: FILE\[:FUNCTION\] is missing' run
bad 2 'unknown option --speed' run f.scaly --speed
bad 2 'unknown option -z' run f.scaly -z
bad 2 '--seed needs a value' run f.scaly --seed
bad 2 '--seed takes a whole number' run f.scaly --seed many
bad 2 '--seed takes a whole number' run f.scaly --seed -1
bad 2 '--seed takes a whole number' run f.scaly --seed 99999999999999999999
bad 2 '--format is one of table, json, npy, not "xml"' run f.scaly --format xml
bad 2 'one argument too many: g.scaly' run f.scaly g.scaly
bad 2 '--arg takes NAME=VALUES' run f.scaly --arg x
bad 2 'is given twice' run f.scaly --arg x=1,2,3 --arg x=1,2,3
bad 2 '--stage is one of expr' show f.scaly --stage soup
bad 2 '--bisect takes a whole number' show f.scaly --bisect x
bad 2 '--lanes is one of' export f.scaly --lanes 3
bad 2 '--optimize is one of' compare f.scaly -O 9
bad 2 'one argument too many' toolchain f.scaly
bad 1 'No such file' run nowhere.scaly --seed 1
bad 1 'Is a directory' run . --seed 1

# Standard output that takes nothing is an error, never silence.
commands=("show f.scaly" "verify f.scaly" "--help" "toolchain")
[ "$HAVE_LLVM" = 1 ] && commands+=("run f.scaly --seed 1")
for command in "${commands[@]}"; do
  last="scaly $command >/dev/full"
  # shellcheck disable=SC2086
  "$SCALY" $command >/dev/full 2>err
  code=$?
  gives 3
  err_has 'standard output: No space left on device'
done
last="scaly show f.scaly | closed"
{ "$SCALY" show f.scaly 2>err; echo $? >status; } | true
case $(cat status) in
  0) ;; # written before the reader closed
  3) code=3; err_has 'standard output: Broken pipe' ;;
  *) fail "exit code $(cat status)" ;;
esac

# Color is for terminals, and the command never writes escape sequences to a file.
bad 1 '^scaly: error: ' run nowhere.scaly
[ "$HAVE_LLVM" = 1 ] || bad 3 'libscaly-llvm' run f.scaly --seed 1 --tier best

# Vector math: which library, and how far a routine may be off.
for command in show run compare export; do
  bad 2 'vector-libm is one of auto, none, glibc, sleef' $command f.scaly --vector-libm mkl
  bad 2 'vector-accuracy takes a positive number' $command f.scaly --vector-accuracy 0
  bad 2 'vector-accuracy takes a positive number' $command f.scaly --vector-accuracy 1ulp
done
echo 'expr.func @g(%x: tensor<9xfloat64>) -> (%y) { return sin(%x) }' >g.scaly
good show g.scaly --vector-libm glibc --vector-accuracy 2
out_has 'vector_glibc=235, vector_accuracy=2'
good show f.scaly --vector-libm glibc # calls no function
if grep -q vector_ out; then fail "vector math where nothing calls it"; fi
good show g.scaly --vector-libm none
if grep -q vector_ out; then fail "vector math where none was asked for"; fi
good toolchain
out_has '^glibc +vector math'
# What auto means depends on where the code will run.
good export --help
out_has '\(default\): none, as a module'
good show --help
out_has '\(default\): of those installed, the fastest'
