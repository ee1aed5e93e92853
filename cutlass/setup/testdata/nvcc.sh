#!/bin/sh
# A compiler that copies: an object is its source's text, a library an ELF
# header and its objects. FAKE is the test's folder; FAKE_HANG and FAKE_FAIL
# name a text at which it hangs half-way or fails.
if [ "$1" = --version ]; then
  echo "nvcc: NVIDIA (R) Cuda compiler driver"
  echo "Cuda compilation tools, release ${FAKE_RELEASE:-13.0}, V${FAKE_RELEASE:-13.0}.88"
  exit 0
fi
out= src= objects=
for a in "$@"; do
  case "$last" in
  -o) out=$a ;;
  -c) src=$a ;;
  *) case "$a" in *.o) objects="$objects $a" ;; esac ;;
  esac
  last=$a
done
name=$(basename "${src:-$out}" .cu)
echo "$name $*" >>"$FAKE/calls"
mkdir "$FAKE/running/$$"
ls "$FAKE/running" | wc -l >>"$FAKE/parallel"
[ -z "$FAKE_SLEEP" ] || sleep "$FAKE_SLEEP"
rmdir "$FAKE/running/$$"
if [ "$name" = "$FAKE_HANG" ]; then
  printf half >"$out"
  : >"$FAKE/hanging"
  exec sleep 60
fi
if [ "$name" = "$FAKE_FAIL" ]; then
  i=0
  while [ $i -lt 100 ]; do i=$((i + 1)); echo "note $i"; done
  echo "$src(7): error: identifier \"wrong\" is undefined" >&2
  exit 2
fi
if [ -n "$src" ]; then
  cat "$src" >"$out"
else
  { printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\'$FAKE_MACHINE'\0'; cat $objects; } >"$out"
fi
