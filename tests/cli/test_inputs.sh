# Values from npy, csv and JSON files: every layout that is read, and every way a file can be wrong.
[ "$HAVE_LLVM" = 1 ] || return 0
echo 'expr.func @f(%x: tensor<2x3xfloat64>, %v: tensor<3xint32>) -> (%y, %w) { return mul(%x, 1), mul(%v, 1) }' >f.scaly
echo 'expr.func @g(%x: tensor<2x3xfloat64>) -> (%y) { return mul(%x, 1) }' >g.scaly
echo 'expr.func @h(%v: tensor<3xint32>) -> (%w) { return mul(%v, 1) }' >h.scaly
table='y: float64 2x3
  1  2  3
  4  5  6'

# npy FILE DICTIONARY BYTES...: a version 1 file; BYTES in printf's escapes.
npy() {
  printf "$(printf '\\x93NUMPY\\x01\\x00\\x%02x\\x00' "$((${#2} + 1))")" >"$1"
  printf '%s\n' "$2" >>"$1"
  printf "$3" >>"$1"
}
c_order="{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }"
npy u1.npy "$c_order" '\x01\x02\x03\x04\x05\x06'
npy fortran.npy "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }" '\x01\x04\x02\x05\x03\x06'
npy big.npy "{'shape': (2, 3), 'descr': '>u2', 'fortran_order': False}" '\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06'
npy f4.npy "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}" \
  '\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40\0\0\xc0\x40'
npy f8.npy "{'descr': '>f8', 'fortran_order': False, 'shape': (2, 3)}" \
  '\x3f\xf0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0\x40\x08\0\0\0\0\0\0\x40\x10\0\0\0\0\0\0\x40\x14\0\0\0\0\0\0\x40\x18\0\0\0\0\0\0'
for file in u1 fortran big f4 f8; do
  good run g.scaly --arg "x=@$file.npy"
  out_is "$table"
done
npy i8.npy "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }" \
  '\x01\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\0\0\0\0'
good run h.scaly --arg v=@i8.npy
out_is 'w: int32 3
           1          -1  2147483647'
npy bool.npy "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }" '\x01\x00\x01'
good run h.scaly --arg v=@bool.npy

bad 1 'u1.npy has shape \(2, 3\), the input v has shape \(3,\)' run h.scaly --arg v=@u1.npy
npy flat.npy "{'descr': '|u1', 'fortran_order': False, 'shape': (6,), }" '\x01\x02\x03\x04\x05\x06'
bad 1 'flat.npy has shape \(6,\), the input x has shape \(2, 3\)' run g.scaly --arg x=@flat.npy
npy wide.npy "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }" '\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
bad 1 'wide.npy: element 0 is out of the range of int32' run h.scaly --arg v=@wide.npy
npy half.npy "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }" '\0\0\0\x3f\0\0\0\0\0\0\0\0'
bad 1 'half.npy: element 0 is not a whole number' run h.scaly --arg v=@half.npy
npy short.npy "$c_order" '\x01\x02\x03'
bad 1 'holds 3 bytes of elements where its header announces 6' run g.scaly --arg x=@short.npy
npy long.npy "$c_order" '\x01\x02\x03\x04\x05\x06\x07'
bad 1 'holds 7 bytes of elements' run g.scaly --arg x=@long.npy
npy f2.npy "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }" '\0\0\0\0\0\0\0\0\0\0\0\0'
bad 1 'its element type is none of' run g.scaly --arg x=@f2.npy
npy object.npy "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2, 3), }" ''
bad 1 'structured arrays are not read' run g.scaly --arg x=@object.npy
npy huge.npy "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 3), }" ''
bad 1 'beyond the limit' run g.scaly --arg x=@huge.npy
npy deep.npy "{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }" ''
bad 1 'more than 8 dimensions' run g.scaly --arg x=@deep.npy
npy odd.npy "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (2, 3), }" ''
bad 1 'neither True nor False' run g.scaly --arg x=@odd.npy
npy less.npy "{'descr': '<f8', 'shape': (2, 3), }" ''
bad 1 'lacks one of' run g.scaly --arg x=@less.npy
npy more.npy "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'x': 1}" ''
bad 1 'something other than' run g.scaly --arg x=@more.npy
: >empty.npy
bad 1 'does not start like a .npy file' run g.scaly --arg x=@empty.npy
printf '\x93NUMPY\x09\x00\x01\x00x' >version.npy
bad 1 'format version' run g.scaly --arg x=@version.npy
size=$(wc -c <u1.npy)
for ((n = 0; n < size; n++)); do
  head -c "$n" u1.npy >cut.npy
  bad 1 'cut.npy cannot be read' run g.scaly --arg x=@cut.npy
done
bad 1 'nowhere.npy: No such file' run g.scaly --arg x=@nowhere.npy
mkdir folder.npy
bad 1 'folder.npy: Is a directory' run g.scaly --arg x=@folder.npy

# csv
printf '1,2,3\r\n 4 ,5,6\r\n\r\n' >x.csv
good run g.scaly --arg x=@x.csv
out_is "$table"
printf '1\n2\n3\n' >column.csv
good run h.scaly --arg v=@column.csv
printf '\xef\xbb\xbf1,2,3' >row.csv
good run h.scaly --arg v=@row.csv
printf '1,2,3\n4,five,6\n' >word.csv
bad 1 '^word.csv:2:3: error: "five" is not a number$' run g.scaly --arg x=@word.csv
err_has '^  4,five,6$'
err_has '^    \^$'
printf '1,2,3\n4,,6\n' >gap.csv
bad 1 '^gap.csv:2:3: error: "" is empty' run g.scaly --arg x=@gap.csv
printf 'a,b,c\n1,2,3\n4,5,6\n' >head.csv
bad 1 '^head.csv:1:1: error: "a" is not a number' run g.scaly --arg x=@head.csv
printf '1,2\n3,4\n5,6\n' >turned.csv
bad 1 '^turned.csv:1:1: error: 2 values in this row where 3 are expected' run g.scaly --arg x=@turned.csv
printf '1,2,3\n' >few.csv
bad 1 'few.csv holds 1 rows of 3 values, the input x has shape 2x3' run g.scaly --arg x=@few.csv
printf '1,2,3\n4,5,6\n7,8,9\n' >many.csv
bad 1 '^many.csv:3:1: error: "7" is one value too many: the input x of shape 2x3 has 6' run g.scaly --arg x=@many.csv
printf '1,2\n3\n' >ragged.csv
bad 1 '^ragged.csv:2:1: error: 1 values in this row where 2 are expected' run h.scaly --arg v=@ragged.csv
printf '1,2,3.5\n' >fraction.csv
bad 1 '^fraction.csv:1:5: error: "3.5" is not a whole number' run h.scaly --arg v=@fraction.csv
head -c 5000 /dev/zero >zero.csv
bad 1 '^zero.csv:1:1: error: ' run g.scaly --arg x=@zero.csv
: >empty.csv
bad 1 'empty.csv holds 0 rows' run g.scaly --arg x=@empty.csv

# JSON
for text in '[[1,2,3],[4,5,6]]' '[1,2,3,4,5,6]' '{"shape": [2,3], "data": [1,2,3,4,5,6]}' '{"data": [1,2,3,4,5,6]}'; do
  echo "$text" >x.json
  good run g.scaly --arg x=@x.json
  out_is "$table"
done
json() { # TEXT CODE REGEX
  printf '%s' "$1" >x.json
  bad 1 "$2" run g.scaly --arg x=@x.json
}
json '[[1,2,3],[4,5,6]' '^x.json:1:17: error: the JSON text ends too soon'
json '[[1,2,3],
 [4,5;6]]' '^x.json:2:6: error: malformed JSON'
err_has '^       \^$'
json '' 'error: the JSON text ends too soon'
json '[[1,2,3],[4,5,6]] x' '^x.json:1:19: error: malformed JSON'
json '[[1,2],[3,4],[5,6]]' 'an array of 3 where dimension 0 of the input x \(shape 2x3\) has 2'
json '[[1,2,3],4]' 'dimension 1 of the input x \(shape 2x3\) is not an array'
json '[1,2,3]' '3 values where the input x of shape 2x3 has 6'
json '[1,2,3,4,5,6,7]' 'value 6 is one too many'
json '[1,2,3,4,5,"six"]' 'value 5 is not a number'
json '[1,2,3,4,5,null]' 'value 5 is not a number'
json '{"shape": [3,2], "data": [1,2,3,4,5,6]}' 'its "shape" is not the shape of the input x, 2x3'
json '{"values": [1]}' 'an object needs an array "data"'
json '1' 'dimension 0 of the input x \(shape 2x3\) is not an array'
printf '%*s' 5000 '' | tr ' ' '[' >deep.json
bad 1 'deep.json:1:[0-9]+: error: malformed JSON' run g.scaly --arg x=@deep.json
echo '["inf", "-inf", "nan", 1, -0.0, 1e-320]' >special.json
good run g.scaly --arg x=@special.json --format json
out_has '"data": \["inf", "-inf", "nan", 1, -0, 1e-320\]'
echo '[9007199254740994, 0, 0]' >int.json
bad 1 'too large to be an exact integer' run h.scaly --arg v=@int.json
# What run writes for an output is what it reads for an input.
good run g.scaly --seed 3 --format json
sed 's/.*"y": \({[^}]*}\).*/\1/' out >again.json
cp out first
good run g.scaly --arg x=@again.json --format json
cmp -s out first || fail "an output read back as an input is not the same"
# A mark of UTF-8 in front, as spreadsheets write it.
printf '\357\273\2771,2,3\n4,5,6\n' >marked.csv
good run g.scaly --arg x=@marked.csv
